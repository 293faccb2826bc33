#include "src/transport/window_facts.hpp"

#include "src/mpi/thread_level.hpp"
#include "src/support/mpi_error.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <string_view>

namespace lapwing::detail::transport {

std::string WindowFacts::label() const {
    if (!name.empty()) return fmt::format("Window(\"{}\")", name);
    return number == 0 ? "Window" : fmt::format("Window(#{})", number);
}

std::string WindowFacts::who(const char* call) const { return fmt::format("{}: {}.{}", state.who(), label(), call); }

void WindowFacts::keep_targets_apart() {
    if (network == Path::rma && mpi::WindowTargets::needs_care() &&
        mpi::thread_level(state.settings()) == MPI_THREAD_MULTIPLE)
        targets.keep_apart(state.size());
}

void WindowFacts::order_memory() const {
    // Sequentially consistent: of two ranks that store, flush and load what the other stores, one must see it.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // MPI's public and private copies are one (MPI_WIN_UNIFIED), but MPI still asks for this call between stores of one
    // process and loads of another in shared memory (MPI 3.1, section 11.7.3), and between this rank's accesses to its
    // own part and those that others make to it through MPI.
    if (shared != MPI_WIN_NULL) support::check_mpi(MPI_Win_sync(shared), "MPI_Win_sync", state.who());
    if (remote != MPI_WIN_NULL && remote != shared)
        support::check_mpi(MPI_Win_sync(remote), "MPI_Win_sync", state.who());
}

void throw_freed_at(const WindowFacts& window, const char* call, Rank target) {
    std::string_view name{call};
    if (constexpr std::string_view room = "Window::"; name.starts_with(room)) name.remove_prefix(room.size());
    throw UsageError{fmt::format(
        "{}: {}.{}: rank {} has not done this, since the program had freed the window with MPI_Win_free there "
        "before it came; wait for transfers, and flush or close the window, before",
        window.state.who(), window.label(), name, target.value)};
}

} // namespace lapwing::detail::transport
