#pragma once

#include <lapwing/cache_options.hpp>

#include <mpi.h>

#include <cstdint>
#include <limits>

namespace lapwing::detail::window {

class WindowState;

/// One of the host program's own synchronisation calls on a window of its own, from before the MPI call to after it. If
/// the window is adopted with CacheMode::transparent, dirty bytes are written back and contents dropped here, where
/// MPI's rules need it (MPI 3.1, sections 11.5 and 11.7); for other windows nothing happens.
///
/// Lapwing learns of these calls from the library lapwing::transparent, which replaces them by MPI's profiling
/// interface.
class HostCall {
public:
    enum class Kind : std::uint8_t {
        fence,       ///< ends an epoch for all ranks, and begins one
        lock,        ///< begins an epoch
        unlock,      ///< ends one
        flush,       ///< completes this rank's operations at their targets
        flush_local, ///< completes them here: reads of before are over, writes may go on. MPI_Win_sync as well
        start,       ///< begins an epoch with a group of targets
        complete,    ///< ends it
    };
    /// No rank, and none of MPI's constants: MPI_PROC_NULL is -1 in MPICH.
    static constexpr int all_targets = std::numeric_limits<int>::min();

    HostCall(MPI_Win window, Kind kind, int target = all_targets) noexcept;
    /// `code`: what the MPI call has returned. Returns what the host's call returns.
    [[nodiscard]] int finish(int code) noexcept;

    /// Whether the library that makes these calls is part of the program.
    [[nodiscard]] static bool seen() noexcept;
    static void set_seen() noexcept;
    /// From adoption until it is closed. When the program frees `host` before, WindowState::on_host_free() is called:
    /// by an attribute of `host`, or already by before_free().
    static void add(MPI_Win host, WindowState& window, CacheMode mode);
    static void remove(const WindowState& window) noexcept;
    /// The program is about to free `host`, on all ranks.
    static void before_free(MPI_Win host) noexcept;
    /// The first window that has adopted `host` and is open; null if there is none.
    [[nodiscard]] static const WindowState* adopter(MPI_Win host) noexcept;
    /// A window that has adopted `host` already and cannot be used beside one with that mode: both may see the same
    /// memory, but no cache sees what goes through the other. Null if there is none.
    [[nodiscard]] static const WindowState* obstacle(MPI_Win host, CacheMode mode) noexcept;

private:
    MPI_Win host_;
    WindowState* window_; ///< null: none of ours, or nothing that concerns it
    Kind kind_;
    int target_;
    bool failed_ = false;
};

} // namespace lapwing::detail::window
