#pragma once

#include "src/support/backoff.hpp"

#include <mpi.h>

#include <string>
#include <vector>

#include <sched.h>

namespace lapwing::detail::mpi {

/// For each processor, by the system's number, the core that it is part of; -1 for numbers that no processor has. The
/// directory is Linux's, /sys/devices/system/cpu.
[[nodiscard]] std::vector<int> cores_of_processors(const std::string& directory);

/// The processors of this machine that the ranks on it, and their progress threads, share.
///
/// A launcher may bind each rank to a core of its own (Open MPI's does for two ranks, by default), and the threads that
/// the rank starts are bound with it. The progress thread is freed from that: it may run on every processor that its
/// rank is bound to or that no rank is. The launcher's own processors are those of the job, and what it did not give to
/// ranks is free.
class Processors {
public:
    /// Collective over the ranks of a team on one machine.
    explicit Processors(MPI_Comm machine);

    /// Cores that the ranks of this machine and their progress threads may use.
    [[nodiscard]] int cores() const noexcept { return cores_; }
    /// Ranks on this machine: those of the whole job, where the launcher says, since they need processors too.
    [[nodiscard]] int ranks() const noexcept { return ranks_; }
    [[nodiscard]] support::ProcessorShare share() const noexcept {
        if (ranks_ > cores_) return support::ProcessorShare::crowded;
        return 2 * ranks_ > cores_ ? support::ProcessorShare::shared : support::ProcessorShare::ample;
    }
    /// Where the progress thread of this rank may run; empty if that is not known.
    [[nodiscard]] const cpu_set_t& for_progress() const noexcept { return for_progress_; }

private:
    int cores_ = 1;
    int ranks_ = 1;
    cpu_set_t for_progress_{};
};

} // namespace lapwing::detail::mpi
