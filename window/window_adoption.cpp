// How a window of the program's is adopted, and what happens when the program frees it too early.
#include "window/window_state.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/shared_parts.hpp"
#include "src/mpi/window_info.hpp"
#include "src/support/device_memory.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "window/creation_agreement.hpp"
#include "window/host_calls.hpp"
#include "window/tried_windows.hpp"
#include "window/upper_rooms.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::detail::window {
namespace {

using support::check_mpi;

/// The largest power of 2 up to 8, the largest value of an atomic, that a part begins at a multiple of.
[[nodiscard]] std::int64_t part_alignment(const std::byte* part, std::uint64_t bytes) noexcept {
    constexpr std::uintptr_t most = 8;
    if (bytes == 0) return most;
    const auto address = reinterpret_cast<std::uintptr_t>(part) | most;
    return static_cast<std::int64_t>(address & (~address + 1));
}

/// While it exists, a call on the program's window that fails returns, whatever error handler the program has set.
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

/// Where atomics are MPI's: lists of them rely on the order that MPI keeps by default.
[[nodiscard]] std::string ordering_problem(MPI_Win window) {
    const std::string ordering = mpi::info_of(window, "accumulate_ordering");
    bool orders_all = true;
    for (const char* const order : {"rar", "raw", "war", "waw"})
        orders_all = orders_all && ordering.find(order) != std::string::npos;
    if (ordering.empty() || orders_all) return {};
    return fmt::format("it was made with the info key accumulate_ordering={}, and Lapwing's atomics need the default "
                       "rar,raw,war,waw; make it without that key",
                       ordering);
}

/// Begins Lapwing's epoch on the program's window, or finds the program's there (`locked`). Returns what is in the way,
/// or nothing. MPI reports most of that: a fence epoch once it has been used, locks and MPI_Win_start, but not
/// MPI_Win_post; Open MPI 4.1.4 does not report MPI_Win_lock of one rank, and reports less in shared windows; Open MPI
/// 5.0.7 reports only locks between ranks of one machine. Nothing depends on it there: memory is shared.
[[nodiscard]] std::string begin_epoch(MPI_Win window, bool locked, int own_rank) {
    if (mpi::info_of(window, "no_locks") == "true")
        return "it was made with the info key no_locks=true, and Lapwing's accesses need a lock; make it without that "
               "key";
    const ReturningErrors errors{window};
    const int code = locked ? MPI_Win_flush(own_rank, window) : MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    if (code == MPI_SUCCESS) return {};
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    if (kind != MPI_ERR_RMA_SYNC)
        return fmt::format("{} failed: {}", locked ? "MPI_Win_flush" : "MPI_Win_lock_all",
                           support::mpi_error_text(code));
    if (locked)
        return "`locked` says that the program has it locked for all ranks, and it has not; call MPI_Win_lock_all "
               "before, or leave "
               "`locked` out";
    return "an epoch of the program's is open on it; end that before (MPI_Win_fence with MPI_MODE_NOSUCCEED, "
           "MPI_Win_complete, "
           "MPI_Win_unlock), or pass `locked` if it is that of MPI_Win_lock_all";
}

/// What MPI says of the program's window.
struct HostWindow {
    HostWindow(MPI_Win handle, const team::TeamState& state) : window{handle}, who{state.who()} {
        flavor = *static_cast<int*>(attribute(MPI_WIN_CREATE_FLAVOR));
        model = *static_cast<int*>(attribute(MPI_WIN_MODEL));
        MPI_Group of_window = MPI_GROUP_NULL;
        MPI_Group of_team = MPI_GROUP_NULL;
        check_mpi(MPI_Win_get_group(window, &of_window), "MPI_Win_get_group", who);
        MPI_Comm_group(state.communicator(), &of_team);
        MPI_Group_compare(of_window, of_team, &relation);
        MPI_Group_free(&of_window);
        MPI_Group_free(&of_team);
    }
    /// Of a window with fixed memory.
    void find_memory() {
        unit = *static_cast<int*>(attribute(MPI_WIN_DISP_UNIT));
        base = static_cast<std::byte*>(attribute(MPI_WIN_BASE));
        bytes = static_cast<std::uint64_t>(*static_cast<MPI_Aint*>(attribute(MPI_WIN_SIZE)));
    }

    MPI_Win window;
    int flavor = 0;
    int model = 0;
    int unit = 1;
    int relation = MPI_UNEQUAL; ///< of its ranks to the team's
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;

private:
    [[nodiscard]] void* attribute(int key) const {
        void* value = nullptr;
        int found = 0;
        check_mpi(MPI_Win_get_attr(window, key, &value, &found), "MPI_Win_get_attr", who);
        return found != 0 ? value : nullptr;
    }
    const std::string& who;
};

/// Throws UsageError when the window can never be adopted. `where` begins the message.
void check_kind(const std::string& where, const HostWindow& host) {
    if (host.flavor == MPI_WIN_FLAVOR_DYNAMIC)
        throw UsageError{where + ": a dynamic window has no fixed memory; adopt a created, allocated or shared one"};
    if (host.model != MPI_WIN_UNIFIED)
        throw UsageError{where + ": its memory model is MPI_WIN_SEPARATE; only MPI_WIN_UNIFIED can be adopted"};
    if (host.relation != MPI_IDENT)
        throw UsageError{
            where + ": its ranks are not those of the team in the same order; make a team on the communicator that "
                    "the window was made on"};
}

/// Throws UsageError when other adoptions of the same window are in the way.
void check_other_adopters(const std::string& where, MPI_Win window, bool locked, CacheMode mode) {
    if (const WindowState* const other = HostCall::obstacle(window, mode); other != nullptr)
        throw UsageError{
            fmt::format("{}: the window is adopted already, as {}, and one of the two is cached, so that it would not "
                        "see what goes through the other; use that one, close it first, or cache neither",
                        where, other->label())};
    // A process has one lock per window: the first window that closes would end it for the other as well.
    if (const WindowState* const other = HostCall::adopter(window);
        other != nullptr && (other->has_own_epoch() || !locked))
        throw UsageError{fmt::format(
            "{}: the window is adopted already, as {}; use that one, or close it first{}", where, other->label(),
            locked ? "" : " (only windows that the program has locked for all, with `locked`, are adopted twice)")};
}

/// Throws UsageError when nothing would tell a transparent cache what the program does, or make its progress meanwhile.
void check_transparent(const std::string& where, const team::TeamState& state) {
    if (!HostCall::seen())
        throw UsageError{
            where +
            ": CacheMode::transparent follows the program's own MPI_Win_ calls, which Lapwing is not notified of; "
            "link the program to lapwing::transparent, or choose CacheMode::epoch and call fence()"};
    if (state.paths().progress == ProgressMode::caller && state.size() > 1)
        throw UsageError{
            where + ": CacheMode::transparent needs a progress thread, or ranks inside MPI's calls would leave the "
                    "others waiting; initialise MPI with MPI_THREAD_MULTIPLE, or choose CacheMode::epoch"};
}

/// Collective. Begins Lapwing's epoch on all ranks or on none; throws UsageError if none.
void begin_epochs(const std::string& where, const team::TeamState& state, MPI_Win window, bool locked) {
    const std::string problem = begin_epoch(window, locked, state.rank());
    const mpi::Problem first = mpi::first_problem(state.communicator(), problem);
    if (first.text.empty()) return;
    if (problem.empty() && !locked) check_mpi(MPI_Win_unlock_all(window), "MPI_Win_unlock_all", state.who());
    throw UsageError{fmt::format("{}: the window cannot be used on rank {}: {}", where, first.rank, first.text)};
}

[[nodiscard]] mpi::WindowKind kind_of(int flavor) noexcept {
    if (flavor == MPI_WIN_FLAVOR_SHARED) return mpi::WindowKind::shared;
    return flavor == MPI_WIN_FLAVOR_ALLOCATE ? mpi::WindowKind::allocated : mpi::WindowKind::created;
}

/// Nothing unless two parts overlap, those of `ranks`. MPICH 4.0.2 (UCX) reports a base that is rounded down to a
/// multiple of 16, and also moves other bytes than the program means.
[[nodiscard]] std::string overlap_problem(const mpi::Overlap& overlap, const std::vector<int>& ranks) {
    if (overlap.first < 0) return {};
    return fmt::format("its part and rank {}'s overlap: {} bytes, of which the other begins at byte {} (MPICH 4.0.2 "
                       "rounds where parts "
                       "of MPI_Win_allocate begin down to multiples of 16); make all sizes multiples of 16, or use a "
                       "Window of Lapwing's",
                       ranks[static_cast<std::size_t>(overlap.second)], overlap.first_bytes, overlap.distance);
}

/// Where MPI says that this rank's part is, if that cannot be right; else nothing.
[[nodiscard]] std::string base_problem(const HostWindow& host) {
    const auto base = reinterpret_cast<std::uintptr_t>(host.base);
    if (host.bytes == 0) return {};
    if (base == 0) return fmt::format("its part of {} bytes has no memory: MPI_WIN_BASE is null", host.bytes);
    if (host.bytes > UINTPTR_MAX - base)
        return fmt::format("its part of {} bytes at {:#x} goes beyond all memory", host.bytes, base);
    support::look_for_devices();
    if (support::is_device_memory(host.base))
        return fmt::format("its part at {:#x} is memory of a GPU, which Lapwing cannot read or write; make the window "
                           "over memory of the host",
                           base);
    return {};
}

/// Collective over the node: the parts of its ranks that this one can load and store. Returns what cannot be right
/// about them, or nothing.
[[nodiscard]] std::string find_parts(transport::WindowFacts& facts, const HostWindow& host) {
    const mpi::Topology& topology = facts.state.topology();
    std::string problem = base_problem(host);
    mpi::Overlap overlap;
    if (host.flavor == MPI_WIN_FLAVOR_SHARED) {
        std::vector<mpi::PartOfMemory> parts;
        for (const int rank : topology.members()) {
            MPI_Aint size = 0;
            int unit = 0;
            std::byte* base = nullptr;
            check_mpi(MPI_Win_shared_query(host.window, rank, &size, &unit, &base), "MPI_Win_shared_query",
                      facts.state.who());
            facts.bases.push_back(base);
            parts.push_back({0, reinterpret_cast<std::uintptr_t>(base), static_cast<std::uint64_t>(size)});
            if (rank == facts.state.rank() && base != host.base && host.bytes != 0 && problem.empty())
                problem = fmt::format("MPI_WIN_BASE says that its part is at {}, and MPI_Win_shared_query at {}",
                                      static_cast<const void*>(host.base), static_cast<const void*>(base));
        }
        overlap = mpi::find_overlap(parts);
        if (topology.nodes() == 1) facts.network = Path::direct;
    } else if (host.flavor == MPI_WIN_FLAVOR_ALLOCATE) {
        mpi::SharedParts parts = mpi::find_shared_parts(topology.node_communicator(), host.base, host.bytes);
        facts.bases = std::move(parts.addresses);
        overlap = parts.overlap;
    }
    // One rank of a node reports it.
    if (problem.empty() && overlap.first == topology.node_rank())
        problem = overlap_problem(overlap, topology.members());
    if (facts.bases.empty()) {
        facts.bases.push_back(host.base);
        facts.map.node_first = facts.state.rank();
        facts.map.node_count = 1;
    } else {
        facts.map.node_first = topology.members().front();
        facts.map.node_count = topology.node_size();
        facts.map.node_index = topology.is_run() ? nullptr : topology.index().data();
    }
    facts.map.bases = facts.bases.data();
    return problem;
}

/// Collective. Throws UsageError on all ranks where `problem` is not empty on one.
void check_parts(const std::string& where, const team::TeamState& state, const std::string& problem) {
    const mpi::Problem first = mpi::first_problem(state.communicator(), problem);
    if (!first.text.empty())
        throw UsageError{fmt::format("{}: the window cannot be used on rank {}: {}", where, first.rank, first.text)};
}

/// What all ranks' windows have in common.
struct Common {
    bool unit = false; ///< all displacements count as many bytes
    bool size = false;
    std::uint64_t alignment = 1; ///< the least of all parts
};

/// Collective. Throws MismatchError, before any epoch begins, unless all ranks have chosen the same cache.
Common compare(const transport::WindowFacts& facts, const std::string& where, const CacheOptions& cache) {
    const auto size = static_cast<std::int64_t>(facts.map.own_bytes);
    const std::int64_t unit = facts.unit;
    const auto choices = upper_rooms().caches.chosen(facts.state.settings(), cache);
    auto least = with_cache_choices(
        std::array<std::int64_t, 5>{unit, -unit, size, -size, part_alignment(facts.map.own, facts.map.own_bytes)},
        choices);
    facts.team.min(std::span{least});
    check_cache_choices(facts.team, where, choices, std::span{least}.last<2 * cache_choices>());
    return {.unit = least[0] == -least[1],
            .size = least[2] == -least[3],
            .alignment = static_cast<std::uint64_t>(least[4])};
}

/// Collective: displacements of other ranks.
void share_units(transport::WindowFacts& facts, bool same) {
    if (!same) {
        facts.units.resize(static_cast<std::size_t>(facts.state.size()));
        check_mpi(MPI_Allgather(&facts.unit, 1, MPI_INT, facts.units.data(), 1, MPI_INT, facts.state.communicator()),
                  "MPI_Allgather", facts.state.who());
    }
    facts.plain_rma = facts.network == Path::rma && facts.unit == 1 && same;
}

} // namespace

WindowState::WindowState(Team& team, MPI_Win window, bool locked, WindowOptions options)
    : facts_{team, std::move(options.name)},
      notifications_{facts_, order_, transports_, options.notification_counters} {
    team::TeamState& state = facts_.state;
    facts_.adopted = true;
    state.require_open("Window::adopt");
    const std::string where = fmt::format("{}: Window::adopt{}", state.who(),
                                          facts_.name.empty() ? "" : fmt::format("(\"{}\")", facts_.name));
    std::optional<HostWindow> found;
    bool transparent = false;
    agree_on_creation(facts_, where + ": it was not adopted", [&] {
        if (options.notification_counters > most_counters)
            throw RangeError{fmt::format("{}: {} notification counters are more than the limit of {}", where,
                                         options.notification_counters, most_counters)};
        upper_rooms().caches.check(state.settings(), options.cache, where);
        if (window == MPI_WIN_NULL)
            throw UsageError{where + ": the window is MPI_WIN_NULL; pass one that the program has made"};
        found.emplace(window, state);
        check_kind(where, *found);
        found->find_memory();
        const CacheMode mode = upper_rooms().caches.mode(state.settings(), options.cache);
        check_other_adopters(where, window, locked, mode);
        transparent = mode == CacheMode::transparent;
        if (transparent) check_transparent(where, state);
    });
    const HostWindow& host = *found;

    facts_.number = state.epoch().next_window_number();
    facts_.unit = host.unit;
    facts_.map.own = host.base;
    facts_.map.own_bytes = host.bytes;
    facts_.map.own_rank = state.rank();
    facts_.map.ranks = facts_.map.inline_ranks = state.size();
    const Common common = compare(facts_, where, options.cache);
    facts_.alignment = common.alignment;

    // A transparent window has whatever epochs the program makes. Messages need none.
    facts_.network = transparent || state.settings().text("LAPWING_PATH") == "service" ? Path::service : Path::rma;
    if (facts_.network == Path::rma)
        use_what_works(facts_, kind_of(host.flavor), common.unit && facts_.unit == 1 ? 1 : 8);
    std::string problem = find_parts(facts_, host);
    // The program may use MPI's atomics beside these.
    facts_.mpi_atomics = facts_.network == Path::rma && facts_.trusted.suffice();
    if (problem.empty() && facts_.mpi_atomics) problem = ordering_problem(window);
    check_parts(where, state, problem);
    if (!transparent) {
        begin_epochs(where, state, window, locked);
        own_epoch_ = !locked;
        // Its targets cannot be entered before: the program may have begun an epoch.
        facts_.keep_targets_apart();
        facts_.remote = window; // a transparent one's memory is ordered by the program's own calls
    }
    share_units(facts_, common.unit);
    share_sizes(facts_, common.size);
    notifications_.use_private_memory();
    open(options.cache, Listed::yes, window);
}

void WindowState::on_host_free(bool gone) noexcept {
    bool closed = false;
    const std::shared_ptr<const void> life = facts_.life; // what refers to the window says that it is freed
    if (!gone) {
        try {
            close(); // all ranks come
            closed = true;
        } catch (const std::exception& error) {
            support::log_line(error.what());
        }
    }
    if (!closed) order_.held_back().stop(); // before its epoch ends
    // An epoch keeps MPICH from freeing the window.
    if (std::exchange(own_epoch_, false) && !gone) MPI_Win_unlock_all(facts_.remote);
    facts_.freed.store(true, std::memory_order_release);
    facts_.life = life;
    if (map_of_window_ != nullptr) *map_of_window_ = {};
    if (!closed) lose_memory();
    facts_.remote = MPI_WIN_NULL;
}

void WindowState::lose_memory() noexcept {
    order_.lose_transfers();
    facts_.state.epoch().remove(*this);
    HostCall::remove(*this);
    facts_.state.engine().abandon(facts_.number, messages::Engine::LateRequests::dropped);
    facts_.state.statistics().add(facts_.statistics.read());
}

void WindowState::require_memory(const char* call) const {
    if (facts_.freed.load(std::memory_order_acquire))
        throw UsageError{fmt::format(
            "{}: the program freed the window with MPI_Win_free before it was closed; call close() first", who(call))};
    if (facts_.state.membership().finalized()) team::throw_finalized(who(call));
}

} // namespace lapwing::detail::window
