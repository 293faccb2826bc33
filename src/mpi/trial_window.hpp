#pragma once

#include "src/mpi/node_memory.hpp"
#include "src/mpi/probe.hpp"

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <string>

namespace lapwing::detail::mpi {

/// A window for the trial, in an epoch, on all ranks or on none: made as WindowMemory makes Lapwing's own, or as a
/// program might make one that is adopted.
class TrialWindow {
public:
    /// Collective over the communicator of the request, which must outlive this.
    explicit TrialWindow(const ProbeRequest& request);
    TrialWindow(const TrialWindow&) = delete;
    TrialWindow& operator=(const TrialWindow&) = delete;

    /// Collective. Gives back what was made, unless a window of some ranks alone keeps it. Empty: nothing.
    [[nodiscard]] std::string end();

    /// Windows of this process that stay since the last call, since not all ranks have made them.
    [[nodiscard]] static int take_unfreed() noexcept { return unfreed_.exchange(0); }

    /// Alike on all ranks.
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
    [[nodiscard]] MPI_Win window() const noexcept { return window_; }
    [[nodiscard]] std::byte* memory() const noexcept { return memory_; }
    [[nodiscard]] WindowKind kind() const noexcept { return kind_; }

private:
    /// Collective. False: on some rank it could not be made.
    bool make();
    bool make(MPI_Info info);
    bool share_memory();
    [[nodiscard]] std::string lack_of_memory() const;
    bool map_memory();
    void begin_epoch();
    /// Collective. Notes the first rank's problem, if there is one.
    bool agrees(const std::string& problem);

    static inline std::atomic<int> unfreed_{0};

    const ProbeRequest& request_;
    WindowKind kind_;
    MPI_Win window_ = MPI_WIN_NULL;
    NodeMemory shared_; ///< of which the memory is a part
    std::byte* memory_ = nullptr;
    bool has_shared_ = false; ///< on all ranks of all nodes
    bool mapped_ = false;
    bool made_ = false; ///< on all ranks
    bool locked_ = false;
    std::string problem_;
};

} // namespace lapwing::detail::mpi
