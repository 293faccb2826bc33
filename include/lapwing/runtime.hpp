// Room: runtime
#pragma once

#include <lapwing/team.hpp>

#include <memory>

namespace lapwing {

namespace detail::runtime {
/// Keeps MPI in use while this object exists: initialises MPI if nobody has; in that case the last of these objects
/// finalizes it. If an exception destroys that object, MPI_Finalize is left to the exit of the program, because it
/// waits for the other ranks, and whoever catches the exception should be able to report it first. A communicator other
/// than MPI's predefined ones implies that MPI is in use already, by MPI_Init or by a session of the program's own; MPI
/// is then not initialised.
class MpiUse {
public:
    MpiUse(MPI_Comm communicator, const Settings& settings);
    MpiUse(const MpiUse&) = delete;
    MpiUse& operator=(const MpiUse&) = delete;
    ~MpiUse();

private:
    int exceptions_at_start_;
};

class RecordedRun;
} // namespace detail::runtime

/// The start of every Lapwing program: a team over the ranks of a communicator. It initialises MPI if the host program
/// has not done so, with the highest thread level that the settings can use.
///
/// Several runtimes may exist at the same time, also on overlapping communicators; close them in the same order on all
/// ranks.
///
/// ```cpp
/// lapwing::Runtime runtime;                    // MPI_COMM_WORLD
/// lapwing::Window window{runtime, 1024};
/// ```
class Runtime : private detail::runtime::MpiUse, public Team {
public:
    /// Collective over `communicator`, an intracommunicator; MPI_COMM_WORLD may be passed before MPI is initialised. A
    /// communicator from a session (MPI 4.0: MPI_Comm_create_from_group, and communicators made from such) needs no
    /// MPI_Init; close its runtime before that session is finalized. Throws SettingError, MpiError, MismatchError, and
    /// UsageError for a communicator that cannot be used: MPI_COMM_NULL, an intercommunicator, any communicator after
    /// MPI_Finalize, and, without MPI_Init, any communicator if MPI has no sessions. If one rank throws here, the
    /// others wait, as in MPI. Rank 0 prints a warning on stderr if the file of its LAPWING_STATS cannot be written, or
    /// the one of its LAPWING_PROFILE does not exist.
    explicit Runtime(MPI_Comm communicator = MPI_COMM_WORLD, const Settings& settings = Settings{});
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;
    ~Runtime();

    /// Collective. As Team::close(); then rank 0 writes the statistics of all ranks if its LAPWING_STATS asks for them,
    /// and before that what LAPWING_TRACE has recorded.
    /// Throws FileError if the file cannot be written; the runtime is closed nevertheless.
    void close();

private:
    std::unique_ptr<detail::runtime::RecordedRun> recorded_;
};

} // namespace lapwing
