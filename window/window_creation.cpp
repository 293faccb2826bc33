// How a window with memory of its own is created, and how any window ends.
#include "window/window_state.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/control_group.hpp"
#include "src/support/device_memory.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_registry.hpp"
#include "window/advised_windows.hpp"
#include "window/creation_agreement.hpp"
#include "window/host_calls.hpp"
#include "window/private_parts.hpp"
#include "window/recorded_calls.hpp"
#include "window/tried_windows.hpp"
#include "window/upper_rooms.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace lapwing::detail::window {
namespace {

using support::check_mpi;

/// Atomics need 8; MPI promises no more than a cache line for its shared memory in practice.
constexpr unsigned least_alignment = 8;
constexpr unsigned most_alignment = 64;

/// Throws RangeError or SettingError when what this rank asks for is never allowed.
void check_options(const transport::WindowFacts& facts, const WindowOptions& options) {
    if (options.notification_counters > most_counters)
        throw RangeError{fmt::format("{}: Window: {} notification counters are more than the limit of {}",
                                     facts.state.who(), options.notification_counters, most_counters)};
    if (!std::has_single_bit(options.alignment) || options.alignment < least_alignment ||
        options.alignment > most_alignment)
        throw RangeError{fmt::format("{}: Window: alignment {} is not a power of 2 in [{}, {}]", facts.state.who(),
                                     options.alignment, least_alignment, most_alignment)};
    upper_rooms().caches.check(facts.state.settings(), options.cache,
                               fmt::format("{}: {}", facts.state.who(), facts.label()));
}

/// Collective over the node: what its ranks ask for together, in floating point, which does not overflow.
double bytes_of_node(team::TeamState& state, std::uint64_t bytes) {
    auto sum = static_cast<double>(bytes);
    auto memory = std::make_unique_for_overwrite<std::byte[]>(sizeof sum);
    std::memcpy(memory.get(), &sum, sizeof sum);
    state.complete(memory, "Window", [&](std::byte* place) {
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(
            MPI_Iallreduce(MPI_IN_PLACE, place, 1, MPI_DOUBLE, MPI_SUM, state.topology().node_communicator(), &request),
            "MPI_Iallreduce", state.who());
        return request;
    });
    state.synchronisation().count("Window"); // what follows is another call
    std::memcpy(&sum, memory.get(), sizeof sum);
    return sum;
}

/// Why a rank cannot have its part.
struct Demand {
    enum class Excess : std::int64_t { none, with_the_node, alone, not_mappable };
    Excess excess = Excess::none;
    std::string problem; ///< of what cannot be mapped
    MemoryLimit limit;

    Demand(std::uint64_t bytes, double of_node, const MemoryLimit& of_machine) : limit{of_machine} {
        // The ranks of a node may be in groups of their own.
        static const std::uint64_t of_group = support::memory_of_control_group();
        if (bytes > of_group)
            limit = {of_group, "the memory of the control group that the process is in (a container's, or a batch "
                               "job's); ask for less, or raise it"};
        const bool fits = of_node <= static_cast<double>(limit.bytes);
        if (fits) problem = cannot_map(static_cast<std::uint64_t>(of_node));
        if (!problem.empty()) excess = Excess::not_mappable;
        else if (bytes > limit.bytes) excess = Excess::alone;
        else if (!fits) excess = Excess::with_the_node;
    }
    /// A number whose minimum over the ranks names the worst excess, and a rank that has it.
    [[nodiscard]] std::int64_t ordered(int rank) const noexcept {
        return excess == Excess::none ? 0 : -(static_cast<std::int64_t>(excess) << 32) - rank;
    }
    [[nodiscard]] static Excess excess_of(std::int64_t ordered) noexcept { return static_cast<Excess>(-ordered >> 32); }
    [[nodiscard]] static std::int64_t rank_of(std::int64_t ordered) noexcept { return -ordered & 0xFFFFFFFF; }
};

/// The bytes of a rank's part, and those that it takes: more, if it stands for the larger ones of other ranks.
struct PartBytes {
    std::uint64_t asked = 0;
    std::uint64_t taken = 0;
    [[nodiscard]] std::string text() const {
        return fmt::format("{} bytes asked for here{}", asked,
                           asked == taken ? ""
                                          : fmt::format(", {} as LAPWING_PRIVATE=on makes each part as large as the "
                                                        "largest",
                                                        taken));
    }
};

/// Collective. Throws RangeError on all ranks when one cannot have its part: `worst` is the least of all ranks'
/// Demand::ordered().
void check_demands(const transport::WindowFacts& facts, const std::string& what, const PartBytes& bytes,
                   const Demand& own, std::int64_t worst) {
    if (worst == 0) return;
    const MPI_Comm communicator = facts.state.communicator();
    if (Demand::excess_of(worst) == Demand::Excess::not_mappable)
        throw_no_memory(what, bytes.taken, mpi::first_problem(communicator, own.problem));
    const std::int64_t rank = Demand::rank_of(worst);
    const bool here = rank == facts.state.rank();
    const std::string there =
        mpi::first_problem(communicator, here ? fmt::format("{} bytes, {}", own.limit.bytes, own.limit.what) : "").text;
    throw RangeError{fmt::format(
        "{}: {}, and too many on rank {}{}: the limit {} is {}", what, bytes.text(), rank,
        Demand::excess_of(worst) == Demand::Excess::with_the_node ? " together with the others of its node" : "",
        here ? "here" : "there", there)};
}

/// Collective. A rank that cannot have its part must not leave the others waiting: they agree first. Throws on all
/// ranks when one cannot, or when ranks differ in what must be the same. Returns whether all ask for the same number of
/// bytes.
bool agree_on_memory(const transport::WindowFacts& facts, const PartBytes& bytes, const WindowOptions& options) {
    const std::string what = fmt::format("{}: {}", facts.state.who(), facts.label());
    const MemoryLimit limit = memory_limit(facts.state.topology());
    const Demand demand{bytes.taken, bytes_of_node(facts.state, bytes.taken), limit};
    const std::int64_t counters = options.notification_counters;
    const std::int64_t alignment = options.alignment;
    const auto size =
        static_cast<std::int64_t>(std::min<std::uint64_t>(bytes.asked, std::numeric_limits<std::int64_t>::max()));
    const auto identity = static_cast<std::int64_t>(options.identity.value);
    const std::array<std::int64_t, 9> numbers{demand.ordered(facts.state.rank()),
                                              counters,
                                              -counters,
                                              alignment,
                                              -alignment,
                                              size,
                                              -size,
                                              identity,
                                              ~identity};
    const auto choices = upper_rooms().caches.chosen(facts.state.settings(), options.cache);
    auto worst = with_cache_choices(numbers, choices);
    facts.team.min(std::span{worst});
    const auto require_same = [&](std::int64_t own, std::int64_t lowest, std::int64_t highest,
                                  const std::string& text) {
        if (lowest != highest)
            facts.state.synchronisation().throw_arguments_differ(what, {.number = own, .text = [&] { return text; }},
                                                                 lowest, highest);
    };
    require_same(counters, worst[1], -worst[2], fmt::format("{} notification counters", counters));
    require_same(alignment, worst[3], -worst[4], fmt::format("alignment {}", alignment));
    require_same(identity, worst[7], ~worst[8], options.identity.text);
    check_cache_choices(facts.team, what, choices, std::span{worst}.last<2 * cache_choices>());
    check_demands(facts, what, bytes, demand, worst[0]);
    return worst[5] == -worst[6];
}

/// Collective. How memory of Lapwing's own is reached.
void describe(transport::WindowFacts& facts, const WindowMemory& memory, std::uint64_t bytes) {
    const mpi::Topology& topology = facts.state.topology();
    facts.network = facts.state.paths().network;
    facts.trusted = facts.state.paths().atomics;
    if (facts.network == Path::rma && memory.kind() != facts.state.paths().windows)
        use_what_works(facts, memory.kind(), facts.unit);
    facts.plain_rma = facts.network == Path::rma;
    facts.mpi_atomics = facts.plain_rma && facts.trusted.suffice() && !facts.state.paths().small_by_messages;
    facts.remote = memory.remote_window();
    if (facts.state.size() > mpi::WindowTargets::few) facts.keep_targets_apart();
    facts.shared = memory.shared_window();
    facts.map.own = memory.own();
    facts.map.own_bytes = bytes;
    facts.map.own_rank = facts.state.rank();
    facts.map.ranks = facts.map.inline_ranks = facts.state.size();
    facts.map.node_first = topology.members().front();
    facts.map.node_count = topology.node_size();
    facts.map.node_index = topology.is_run() ? nullptr : topology.index().data();
    facts.map.bases = memory.bases().data();
}

/// What others may ask for.
messages::ExposedMemory exposed(transport::WindowFacts& facts, Notifications& notifications) noexcept {
    return {facts.map.own,
            facts.map.own_bytes,
            notifications.own(),
            notifications.count(),
            facts.mpi_atomics ? facts.remote : MPI_WIN_NULL,
            &facts.targets,
            facts.trusted,
            facts.unit,
            facts.map.own_rank};
}

} // namespace

WindowState::WindowState(Team& team, std::uint64_t bytes, WindowOptions options, Listed listed)
    : facts_{team, std::move(options.name)},
      notifications_{facts_, order_, transports_, options.notification_counters} {
    team::TeamState& state = facts_.state;
    const std::string what = fmt::format("{}: {}", state.who(), label());
    agree_on_creation(facts_, what + ": it was not made", [&] { check_options(facts_, options); });
    // Before anything can fail, so that all ranks keep the same numbers.
    facts_.number = state.epoch().next_window_number();
    if (listed == Listed::yes) options.cache = advised_cache(state, facts_.name, facts_.number, options.cache);
    // Those of locks stay shared. A part that stands for all is as large as the largest.
    const bool private_parts = listed == Listed::yes && parts_are_private(state.settings());
    const std::uint64_t room = private_parts ? team.max(bytes) : bytes;
    const bool same_size = agree_on_memory(facts_, {.asked = bytes, .taken = room}, options);
    memory_ = std::make_unique<WindowMemory>(state, what, room, same_size, options.alignment,
                                             options.notification_counters, options.zeroed_bytes);
    describe(facts_, *memory_, bytes);
    if (private_parts) use_own_part_for_all(facts_);
    notifications_.use(*memory_);
    share_sizes(facts_, same_size);
    open(options.cache, listed, MPI_WIN_NULL);
}

void WindowState::open(const CacheOptions& cache, Listed listed, MPI_Win host) {
    team::TeamState& state = facts_.state;
    support::look_for_devices();
    state.engine().expose(facts_.number, exposed(facts_, notifications_));
    try {
        // With a barrier: nobody may ask before every rank has exposed its memory.
        agree_on_creation(facts_, fmt::format("{}: {}: it was not made", state.who(), label()), [&] {
            cache_ = upper_rooms().caches.make(*this, cache);
            order_.use_cache(cache_.get());
            if (trace::on() && listed == Listed::yes) record_accesses(facts_, cache_ != nullptr);
            if (listed == Listed::yes) state.epoch().add(*this);
            if (host != MPI_WIN_NULL) HostCall::add(host, *this, upper_rooms().caches.mode(state.settings(), cache));
        });
    } catch (...) {
        state.epoch().remove(*this);
        HostCall::remove(*this); // the program may free it
        abandon_memory();
        throw;
    }
}

WindowState::~WindowState() = default;

void check_cache_choices(Team& team, const std::string& what, const CacheChoices& own,
                         std::span<const std::int64_t, 2 * cache_choices> least) {
    const CacheFactory& caches = upper_rooms().caches;
    for (std::size_t i = 0; i < cache_choices; ++i) {
        const std::int64_t lowest = least[2 * i];
        const std::int64_t highest = -least[2 * i + 1];
        if (lowest == highest) continue;
        // All ranks come here, and so may ask who it is.
        const std::int64_t rank = team.rank().value;
        constexpr std::int64_t another = std::numeric_limits<std::int64_t>::max();
        std::array<std::int64_t, 2> ranks{own[i] == lowest ? rank : another, own[i] == highest ? rank : another};
        team.min(std::span{ranks});
        throw MismatchError{fmt::format("{}: {} is {} on rank {} and {} on rank {}; choose the same on all ranks", what,
                                        caches.name_of(i), caches.text_of(i, lowest), ranks[0],
                                        caches.text_of(i, highest), ranks[1])};
    }
}

void share_sizes(transport::WindowFacts& facts, bool same) {
    facts.map.uniform_bytes = facts.map.own_bytes;
    if (same) return;
    facts.sizes.resize(static_cast<std::size_t>(facts.state.size()));
    check_mpi(MPI_Allgather(&facts.map.own_bytes, 1, MPI_UINT64_T, facts.sizes.data(), 1, MPI_UINT64_T,
                            facts.state.communicator()),
              "MPI_Allgather", facts.state.who());
    facts.map.sizes = facts.sizes.data();
}

void WindowState::keep_up_to_date(transport::MemoryMap& copy, std::atomic<std::uint64_t>& least_noted) noexcept {
    map_of_window_ = &copy;
    least_noted_of_window_ = &least_noted;
    least_noted.store(order_.copies().empty() ? counted_bytes : 0, std::memory_order_relaxed);
}

void WindowState::copies_changed() {
    if (cache_ != nullptr) cache_->set_copies_beside(!order_.copies().empty());
    if (least_noted_of_window_ != nullptr) keep_up_to_date(*map_of_window_, *least_noted_of_window_);
    facts_.state.epoch().copies_changed(*this);
}

void WindowState::on_finalize() noexcept {
    if (map_of_window_ == nullptr) return;
    // Calls find no rank, and come to require_memory(). What this rank has been given the address of stays.
    map_of_window_->ranks = map_of_window_->inline_ranks = 0;
    map_of_window_->node_count = 0;
    map_of_window_->node_index = nullptr;
}

void WindowState::end_copies() noexcept {
    order_.copies().end();
    order_.use_cache(nullptr);
    cache_.reset();
}

void WindowState::close() {
    if (facts_.freed.load(std::memory_order_acquire)) return; // MPI_Win_free has done it
    if (team::TeamRegistry::mpi_ended())
        throw UsageError{fmt::format("{}: MPI is finalized already; close windows before MPI_Finalize", who("close"))};
    if (cache_ != nullptr) cache_->drain(); // what is read ahead must not come when its owner has closed
    facts_.state.synchronisation().barrier_of_close(facts_.number); // completes the operations of all ranks
    close_behind_barrier();
}

void WindowState::close_behind_barrier() {
    facts_.life.reset();
    order_.detach_transfers(); // complete, though nobody has waited for them
    facts_.state.epoch().remove(*this);
    HostCall::remove(*this);
    end_copies();
    facts_.state.statistics().add(facts_.statistics.read());
    facts_.state.engine().withdraw(facts_.number);
    if (memory_ != nullptr) memory_->close();
    if (std::exchange(own_epoch_, false))
        check_mpi(MPI_Win_unlock_all(facts_.remote), "MPI_Win_unlock_all", facts_.state.who());
}

void WindowState::abandon_memory() noexcept {
    // The program's memory is gone once the stack has unwound: nobody may be served from it any more.
    end_copies(); // ends what it reads ahead
    facts_.state.engine().abandon(facts_.number, messages::Engine::LateRequests::reported);
    if (!own_epoch_ || team::TeamRegistry::mpi_ended()) return;
    // The others need not come (MPI 3.1, section 11.5.3), but ranks with operations under way wait for their targets.
    if (const int code = MPI_Win_unlock_all(facts_.remote); code != MPI_SUCCESS)
        support::log_line(
            fmt::format("{}: MPI_Win_unlock_all failed: {}", who("close"), support::mpi_error_text(code)));
    own_epoch_ = false;
}

void WindowState::end_with_scope(std::unique_ptr<WindowState> window) noexcept {
    if (window->facts_.freed.load(std::memory_order_acquire)) return;
    team::TeamState& state = window->facts_.state;
    if (std::uncaught_exceptions() == window->exceptions_at_start_ && !state.lifecycle().has_left() &&
        !state.membership().broken()) {
        try {
            window->close();
            return;
        } catch (const std::exception& error) {
            support::log_line(error.what());
        }
    }
    window->order_.held_back().abandon();
    window->order_.chunked_transfers().discard();
    state.epoch().remove(*window);
    HostCall::remove(*window);
    if (window->facts_.adopted) window->abandon_memory();
    team::TeamRegistry::instance().retain(std::move(window)); // others may still reach its memory
}

} // namespace lapwing::detail::window
