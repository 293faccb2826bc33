#include "window/host_calls.hpp"

#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mpi_kind.hpp"
#include "src/support/mutex.hpp"
#include "window/window_state.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <vector>

namespace lapwing::detail::window {
namespace {

std::atomic<bool> calls_are_seen{false};

struct Adopted {
    MPI_Win host;
    WindowState* window;
    CacheMode mode;
};
support::Mutex windows_mutex{support::LockRank::leaf};
/// Never destroyed, like the next: MPI may end after the program's static objects.
std::vector<Adopted>& windows() noexcept {
    static auto& adopted = *new std::vector<Adopted>;
    return adopted;
}
/// Windows whose end MPI will report.
std::vector<MPI_Win>& watched() noexcept {
    static auto& handles = *new std::vector<MPI_Win>;
    return handles;
}
std::atomic<std::size_t> transparent_count{0}; ///< so that programs without such windows take no lock

/// With the mutex held.
void count_transparent() noexcept {
    transparent_count.store(
        static_cast<std::size_t>(std::ranges::count(windows(), CacheMode::transparent, &Adopted::mode)),
        std::memory_order_relaxed);
}

[[nodiscard]] WindowState* find(MPI_Win host) noexcept {
    // Relaxed: a call on an adopted window comes after its adoption.
    if (transparent_count.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard guard{windows_mutex};
    const auto found = std::ranges::find_if(
        windows(), [&](const Adopted& entry) { return entry.host == host && entry.mode == CacheMode::transparent; });
    return found == windows().end() ? nullptr : found->window;
}

void tell_adopters(MPI_Win host, bool gone) noexcept {
    std::vector<WindowState*> adopters;
    {
        const std::lock_guard guard{windows_mutex};
        for (const Adopted& entry : windows())
            if (entry.host == host) adopters.push_back(entry.window);
    }
    for (WindowState* const window : adopters) window->on_host_free(gone); // in the same order on all ranks
}

/// MPI deletes the attributes of a window in MPI_Win_free (MPI 3.1, section 6.7.3).
int on_free(MPI_Win host, int, void*, void*) {
    // Open MPI: all ranks are in the call, and MPI's part of the window is gone. MPICH deletes attributes first.
    constexpr bool gone = support::mpi_kind == support::MpiKind::open_mpi;
    tell_adopters(host, gone);
    const std::lock_guard guard{windows_mutex};
    std::erase(watched(), host);
    return MPI_SUCCESS;
}

/// Has MPI call on_free(). The attribute stays when the window is closed: it then has nothing to report. Each has a key
/// of its own: a common one would go with the last session of a program without MPI_Init.
void watch(MPI_Win host) {
    {
        const std::lock_guard guard{windows_mutex};
        if (std::ranges::find(watched(), host) != watched().end()) return;
    }
    int key = MPI_KEYVAL_INVALID;
    support::check_mpi(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_free, &key, nullptr), "MPI_Win_create_keyval");
    const int code = MPI_Win_set_attr(host, key, nullptr);
    MPI_Win_free_keyval(&key); // the attribute keeps it
    support::check_mpi(code, "MPI_Win_set_attr");
    const std::lock_guard guard{
        windows_mutex}; // not while MPI, which has locks of its own when it calls on_free(), is called
    watched().push_back(host);
}

[[nodiscard]] bool releases(HostCall::Kind kind) {
    using enum HostCall::Kind;
    return kind == fence || kind == unlock || kind == flush || kind == complete;
}

} // namespace

bool HostCall::seen() noexcept { return calls_are_seen.load(std::memory_order_relaxed); }
void HostCall::set_seen() noexcept { calls_are_seen.store(true, std::memory_order_relaxed); }

void HostCall::add(MPI_Win host, WindowState& window, CacheMode mode) {
    watch(host);
    const std::lock_guard guard{windows_mutex};
    windows().push_back({host, &window, mode});
    count_transparent();
}

void HostCall::remove(const WindowState& window) noexcept {
    const std::lock_guard guard{windows_mutex};
    std::erase_if(windows(), [&](const Adopted& entry) { return entry.window == &window; });
    count_transparent();
}

void HostCall::before_free(MPI_Win host) noexcept { tell_adopters(host, false); }

const WindowState* HostCall::adopter(MPI_Win host) noexcept {
    const std::lock_guard guard{windows_mutex};
    const auto found = std::ranges::find(windows(), host, &Adopted::host);
    return found == windows().end() ? nullptr : found->window;
}

const WindowState* HostCall::obstacle(MPI_Win host, CacheMode mode) noexcept {
    const std::lock_guard guard{windows_mutex};
    const auto found = std::ranges::find_if(windows(), [&](const Adopted& entry) {
        return entry.host == host && (mode != CacheMode::off || entry.mode != CacheMode::off);
    });
    return found == windows().end() ? nullptr : found->window;
}

HostCall::HostCall(MPI_Win window, Kind kind, int target) noexcept
    : host_{window}, window_{find(window)}, kind_{kind}, target_{target} {
    if (window_ == nullptr) return;
    if (target != all_targets && (target < 0 || target >= window_->map().ranks)) {
        window_ = nullptr; // MPI_PROC_NULL: nothing to do; others are errors, which MPI reports
        return;
    }
    if (!releases(kind)) return;
    try {
        if (target == all_targets) window_->order().release();
        else window_->order().flush(target);
    } catch (const std::exception& error) { // there is no C++ above this call
        support::log_line(error.what());
        failed_ = true;
    }
}

int HostCall::finish(int code) noexcept {
    if (window_ == nullptr || code != MPI_SUCCESS) return code;
    if (kind_ == Kind::lock && target_ != all_targets && window_->map().bytes(target_) != 0) {
        // MPI may ask for the lock only when the first operation needs it, and Lapwing's operations are not MPI's.
        char byte = 0;
        if (code = PMPI_Get(&byte, 1, MPI_BYTE, target_, 0, 1, MPI_BYTE, host_); code != MPI_SUCCESS) return code;
        if (code = PMPI_Win_flush(target_, host_); code != MPI_SUCCESS) return code;
    }
    if (kind_ != Kind::complete) {
        try {
            window_->order().acquire();
        } catch (const std::exception& error) {
            support::log_line(error.what());
            failed_ = true;
        }
    }
    if (!failed_) return MPI_SUCCESS;
    (void)MPI_Win_call_errhandler(host_, MPI_ERR_OTHER);
    return MPI_ERR_OTHER;
}

} // namespace lapwing::detail::window
