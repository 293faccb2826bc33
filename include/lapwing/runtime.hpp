// Room: runtime
#pragma once

#include <lapwing/team.hpp>

namespace lapwing {

namespace runtime {
/// MPI for as long as this object exists: initialises MPI if nobody has, and finalizes it with the last session if it was
/// a session that initialised it. A session that an exception ends leaves that to the exit of the program: MPI_Finalize waits
/// for the other ranks, and whoever catches the exception is to be heard before.
class MpiSession {
public:
    explicit MpiSession(const Settings& settings);
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;
    ~MpiSession();

private:
    int exceptions_at_start_;
};
} // namespace runtime

/// The start of every Lapwing program: a team over the ranks of a communicator, with MPI initialised if the host program
/// has not done so (with the highest thread level that the settings can use), and a report of what it found.
///
/// Several runtimes may exist at a time, on overlapping communicators too; close them in the same order on all ranks.
///
/// ```cpp
/// lapwing::Runtime runtime;                    // MPI_COMM_WORLD
/// lapwing::Window window{runtime, 1024};
/// ```
class Runtime : private runtime::MpiSession, public Team {
public:
    /// Collective over `communicator`, an intracommunicator; MPI_COMM_WORLD may be passed before MPI is initialised.
    /// Throws SettingError, MpiError, MismatchError. A rank that throws here leaves the others waiting, as with MPI. Rank 0 says
    /// on stderr when the file of its LAPWING_STATS cannot be written, or its LAPWING_PROFILE does not exist.
    explicit Runtime(MPI_Comm communicator = MPI_COMM_WORLD, const Settings& settings = Settings{});
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;
    ~Runtime();

    /// Collective. As Team::close(), then rank 0 writes the statistics of all ranks if its LAPWING_STATS asks for them: it
    /// throws FileError when the file cannot be written, and the runtime is closed all the same.
    void close();
};

} // namespace lapwing
