// Room: runtime
#pragma once

#include <lapwing/team.hpp>

namespace lapwing {

namespace detail::runtime {
/// MPI for as long as this object exists: initialises MPI if nobody has, and finalizes it with the last of these
/// objects if it was one of them that initialised it. One that an exception ends leaves that to the exit of the
/// program: MPI_Finalize waits for the other ranks, and whoever catches the exception is to be heard before. For a
/// communicator that is none of MPI's predefined ones MPI is there already, by MPI_Init or by a session of the
/// program's: it is not initialised.
class MpiUse {
public:
    MpiUse(MPI_Comm communicator, const Settings& settings);
    MpiUse(const MpiUse&) = delete;
    MpiUse& operator=(const MpiUse&) = delete;
    ~MpiUse();

private:
    int exceptions_at_start_;
};
} // namespace detail::runtime

/// The start of every Lapwing program: a team over the ranks of a communicator, with MPI initialised if the host
/// program has not done so (with the highest thread level that the settings can use), and a report of what it found.
///
/// Several runtimes may exist at a time, on overlapping communicators too; close them in the same order on all ranks.
///
/// ```cpp
/// lapwing::Runtime runtime;                    // MPI_COMM_WORLD
/// lapwing::Window window{runtime, 1024};
/// ```
class Runtime : private detail::runtime::MpiUse, public Team {
public:
    /// Collective over `communicator`, an intracommunicator; MPI_COMM_WORLD may be passed before MPI is initialised.
    /// One that comes from a session (MPI 4.0: MPI_Comm_create_from_group, and what is made of such) needs no MPI_Init;
    /// its runtime is closed before that session is finalized. Throws SettingError, MpiError, MismatchError, and
    /// UsageError for a communicator that cannot be used: MPI_COMM_NULL, an intercommunicator, any after MPI_Finalize,
    /// and without MPI_Init any where MPI has no sessions. A rank that throws here leaves the others waiting, as with
    /// MPI. Rank 0 says on stderr when the file of its LAPWING_STATS cannot be written, or its LAPWING_PROFILE does not
    /// exist.
    explicit Runtime(MPI_Comm communicator = MPI_COMM_WORLD, const Settings& settings = Settings{});
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;
    ~Runtime();

    /// Collective. As Team::close(), then rank 0 writes the statistics of all ranks if its LAPWING_STATS asks for them:
    /// it throws FileError when the file cannot be written, and the runtime is closed all the same.
    void close();
};

} // namespace lapwing
