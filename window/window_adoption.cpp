// How a window of the program's is taken over, and what happens when the program frees it too early.
#include "window/window_state.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/shared_parts.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "window/host_calls.hpp"
#include "window/upper_rooms.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>

namespace lapwing::window {
namespace {

using support::check_mpi;

/// The largest power of 2 up to 8, the largest value of an atomic, that a part begins at a multiple of.
[[nodiscard]] std::int64_t part_alignment(const std::byte* part, std::uint64_t bytes) noexcept {
    constexpr std::uintptr_t most = 8;
    if (bytes == 0) return most;
    const auto address = reinterpret_cast<std::uintptr_t>(part) | most;
    return static_cast<std::int64_t>(address & (~address + 1));
}

/// While it lives, a call on the program's window that fails returns, whatever handler the program has set.
class ReturningErrors {
public:
    explicit ReturningErrors(MPI_Win window) : window_{window} {
        check_mpi(MPI_Win_get_errhandler(window_, &handler_), "MPI_Win_get_errhandler");
        check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    }
    ~ReturningErrors() {
        MPI_Win_set_errhandler(window_, handler_);
        MPI_Errhandler_free(&handler_);
    }
    ReturningErrors(const ReturningErrors&) = delete;
    ReturningErrors& operator=(const ReturningErrors&) = delete;

private:
    MPI_Win window_;
    MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

[[nodiscard]] bool forbids_locks(MPI_Win window) {
    MPI_Info info = MPI_INFO_NULL;
    check_mpi(MPI_Win_get_info(window, &info), "MPI_Win_get_info");
    std::array<char, 8> value{};
    int found = 0;
    const int code = MPI_Info_get(info, "no_locks", static_cast<int>(value.size()) - 1, value.data(), &found);
    MPI_Info_free(&info);
    check_mpi(code, "MPI_Info_get");
    return found != 0 && std::string_view{value.data()} == "true";
}

/// Begins Lapwing's epoch on the program's window, or finds the program's there (`locked`). Returns what is in the way, or
/// nothing. MPI tells of most that is: of a fence epoch once it has been used, of locks and of MPI_Win_start, but not of
/// MPI_Win_post; Open MPI 4.1.4 not of MPI_Win_lock of one rank, and in shared windows, where nothing depends on it, of less.
[[nodiscard]] std::string begin_epoch(MPI_Win window, bool locked, int own_rank) {
    if (forbids_locks(window))
        return "it was made with the info key no_locks=true, and Lapwing's accesses need a lock; make it without that key";
    const ReturningErrors errors{window};
    const int code = locked ? MPI_Win_flush(own_rank, window) : MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    if (code == MPI_SUCCESS) return {};
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    if (kind != MPI_ERR_RMA_SYNC)
        return fmt::format("{} failed: {}", locked ? "MPI_Win_flush" : "MPI_Win_lock_all", support::mpi_error_text(code));
    if (locked)
        return "`locked` says that the program has it locked for all ranks, and it has not; call MPI_Win_lock_all before, or leave "
               "`locked` out";
    return "an epoch of the program's is open on it; end that before (MPI_Win_fence with MPI_MODE_NOSUCCEED, MPI_Win_complete, "
           "MPI_Win_unlock), or pass `locked` if it is that of MPI_Win_lock_all";
}

} // namespace

WindowState::WindowState(Team& team, MPI_Win window, bool locked, WindowOptions options)
    : team_{team}, state_{team.state()}, name_{std::move(options.name)}, adopted_{true},
      counter_count_{options.notification_counters}, own_counters_(options.notification_counters) {
    state_.require_open("Window::adopt");
    const std::string where = fmt::format("{}: Window::adopt{}", state_.who(), name_.empty() ? "" : fmt::format("(\"{}\")", name_));
    if (counter_count_ > most_counters)
        throw RangeError{fmt::format("{}: {} notification counters are more than the limit of {}", where, counter_count_,
                                     most_counters)};
    upper_rooms().caches.check(state_.settings(), options.cache, where);
    if (window == MPI_WIN_NULL) throw UsageError{where + ": the window is MPI_WIN_NULL"};
    const auto attribute = [&](int key) {
        void* value = nullptr;
        int found = 0;
        check_mpi(MPI_Win_get_attr(window, key, &value, &found), "MPI_Win_get_attr", state_.who());
        return found != 0 ? value : nullptr;
    };
    const int flavor = *static_cast<int*>(attribute(MPI_WIN_CREATE_FLAVOR));
    const int model = *static_cast<int*>(attribute(MPI_WIN_MODEL));
    MPI_Group window_group = MPI_GROUP_NULL;
    MPI_Group team_group = MPI_GROUP_NULL;
    int relation = MPI_UNEQUAL;
    check_mpi(MPI_Win_get_group(window, &window_group), "MPI_Win_get_group", state_.who());
    MPI_Comm_group(state_.communicator(), &team_group);
    MPI_Group_compare(window_group, team_group, &relation);
    MPI_Group_free(&window_group);
    MPI_Group_free(&team_group);
    if (flavor == MPI_WIN_FLAVOR_DYNAMIC)
        throw UsageError{where + ": a dynamic window has no fixed memory; adopt a created, allocated or shared one"};
    if (model != MPI_WIN_UNIFIED)
        throw UsageError{where + ": its memory model is MPI_WIN_SEPARATE; only MPI_WIN_UNIFIED can be adopted"};
    if (relation != MPI_IDENT)
        throw UsageError{where + ": its ranks are not those of the team in the same order; make a team on the communicator that "
                                 "the window was made on"};
    const CacheMode mode = upper_rooms().caches.mode(state_.settings(), options.cache);
    if (const WindowState* const other = HostCall::obstacle(window, mode); other != nullptr)
        throw UsageError{fmt::format("{}: the window is adopted already, as {}, and one of the two is cached, so that it would not "
                                     "see what goes through the other; use that one, close it first, or cache neither",
                                     where, other->label())};
    // A lock of one process on a window is one: its end by the first window that closes would be the other's as well.
    if (const WindowState* const other = HostCall::adopter(window); other != nullptr && (other->close_lock_ || !locked))
        throw UsageError{fmt::format("{}: the window is adopted already, as {}; use that one, or close it first{}", where, other->label(),
                                     locked ? "" : " (only windows that the program has locked for all, with `locked`, are adopted twice)")};
    const bool transparent = mode == CacheMode::transparent;
    if (transparent && !HostCall::seen())
        throw UsageError{where + ": CacheMode::transparent follows the program's own MPI_Win_ calls, which nobody tells Lapwing of; "
                                 "link the program to lapwing::transparent, or choose CacheMode::epoch and call fence()"};
    if (transparent && state_.progress_mode() == ProgressMode::caller && state_.size() > 1)
        throw UsageError{where + ": CacheMode::transparent needs a progress thread, or ranks inside MPI's calls would leave the "
                                 "others waiting; initialise MPI with MPI_THREAD_MULTIPLE, or choose CacheMode::epoch"};
    state_.barrier(team::CollectiveCall::window_create, {});

    number_ = state_.next_window_number();
    remote_ = window;
    unit_ = *static_cast<int*>(attribute(MPI_WIN_DISP_UNIT));
    map_.own = static_cast<std::byte*>(attribute(MPI_WIN_BASE));
    map_.own_bytes = static_cast<std::uint64_t>(*static_cast<MPI_Aint*>(attribute(MPI_WIN_SIZE)));
    map_.own_rank = state_.rank();
    map_.ranks = state_.size();
    const auto size = static_cast<std::int64_t>(map_.own_bytes);
    const auto choices = upper_rooms().caches.chosen(state_.settings(), options.cache);
    auto smallest = with_cache_choices(std::array<std::int64_t, 5>{unit_, -unit_, size, -size, part_alignment(map_.own, map_.own_bytes)},
                                       choices);
    team_.min(std::span{smallest});
    check_cache_choices(where, choices, std::span{smallest}.last<2 * cache_choices>()); // before any epoch begins

    // A transparent window has the epochs that the program makes, of any kind. Messages need none.
    alignment_ = static_cast<std::uint64_t>(smallest[4]);
    network_ = transparent || state_.settings().text("LAPWING_PATH") == "service" ? Path::service : Path::rma;
    if (!transparent) {
        const std::string problem = begin_epoch(window, locked, state_.rank());
        const mpi::Problem first = mpi::first_problem(state_.communicator(), problem);
        if (!first.text.empty()) {
            if (problem.empty() && !locked) check_mpi(MPI_Win_unlock_all(window), "MPI_Win_unlock_all", state_.who());
            throw UsageError{fmt::format("{}: the window cannot be used on rank {}: {}", where, first.rank, first.text)};
        }
        close_lock_ = !locked;
    }
    const mpi::Topology& topology = state_.topology();
    if (flavor == MPI_WIN_FLAVOR_SHARED) {
        for (const int rank : topology.members()) {
            MPI_Aint size = 0;
            int unit = 0;
            std::byte* base = nullptr;
            check_mpi(MPI_Win_shared_query(window, rank, &size, &unit, &base), "MPI_Win_shared_query", state_.who());
            bases_.push_back(base);
        }
        if (topology.nodes() == 1) network_ = Path::direct;
    } else if (flavor == MPI_WIN_FLAVOR_ALLOCATE) {
        bases_ = mpi::find_shared_parts(topology.node_communicator(), map_.own, map_.own_bytes);
    }
    if (bases_.empty()) {
        bases_.push_back(map_.own);
        map_.node_first = state_.rank();
        map_.node_count = 1;
    } else {
        map_.node_first = topology.members().front();
        map_.node_count = topology.node_size();
        map_.node_index = topology.is_run() ? nullptr : topology.index().data();
    }
    least_rma_bytes_ = state_.least_rma_bytes();
    mpi_atomics_ = network_ == Path::rma && !state_.avoids_mpi_atomics(); // the program may use MPI's beside them
    map_.bases = bases_.data();
    if (transparent) remote_ = MPI_WIN_NULL; // the program's own calls order its memory

    if (smallest[0] != -smallest[1]) {
        units_.resize(static_cast<std::size_t>(state_.size()));
        check_mpi(MPI_Allgather(&unit_, 1, MPI_INT, units_.data(), 1, MPI_INT, state_.communicator()), "MPI_Allgather",
                  state_.who());
    }
    plain_rma_ = network_ == Path::rma && unit_ == 1 && units_.empty();
    share_sizes(smallest[2] == -smallest[3]);
    counters_ = own_counters_.data();
    state_.engine().expose(number_, exposed());
    try {
        cache_ = upper_rooms().caches.make(*this, options.cache);
        state_.add(*this);
        HostCall::add(window, *this, mode);
        state_.barrier(team::CollectiveCall::window_create, {});
    } catch (...) { // the program may free it
        undo_creation();
        throw;
    }
}

void WindowState::on_host_free(bool gone) noexcept {
    bool closed = false;
    if (!gone) {
        try {
            close(); // all ranks come
            closed = true;
        } catch (const std::exception& error) {
            support::log_line(error.what());
        }
    }
    // An epoch keeps MPICH from freeing the window.
    if (std::exchange(close_lock_, false) && !gone) MPI_Win_unlock_all(remote_);
    freed_.store(true, std::memory_order_release);
    if (map_of_window_ != nullptr) *map_of_window_ = {};
    if (!closed) lose_memory();
    remote_ = MPI_WIN_NULL;
}

void WindowState::lose_memory() noexcept {
    end_transfers(&WindowTransfer::lose);
    state_.remove(*this);
    HostCall::remove(*this);
    state_.engine().abandon(number_, messages::Engine::LateRequests::dropped);
    state_.statistics().add(statistics_.read());
}

void WindowState::require_memory(const char* call) const {
    if (freed())
        throw UsageError{fmt::format("{}: the program freed the window with MPI_Win_free before it was closed; call close() first",
                                     who(call))};
}

} // namespace lapwing::window
