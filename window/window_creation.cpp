// How a window comes to be, made or adopted, and how it ends.
#include "window/window_state.hpp"

#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "window/agreement.hpp"
#include "window/host_calls.hpp"
#include "window/team_registry.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace lapwing::window {
namespace {

using support::check_mpi;

constexpr unsigned most_counters = 4096;
/// Atomics need 8; MPI promises no more than a cache line for its shared memory in practice.
constexpr unsigned least_alignment = 8;
constexpr unsigned most_alignment = 64;

/// What ranks must agree on, for a reduction to the minimum: some numbers, then each choice of the cache and its negative.
template <std::size_t N>
[[nodiscard]] std::array<std::int64_t, N + 2 * cache_choices> with_cache_choices(
    const std::array<std::int64_t, N>& numbers, const std::array<std::int64_t, cache_choices>& choices) {
    std::array<std::int64_t, N + 2 * cache_choices> all{};
    auto at = std::ranges::copy(numbers, all.begin()).out;
    for (const std::int64_t choice : choices) {
        *at++ = choice;
        *at++ = -choice;
    }
    return all;
}

/// The largest power of 2 up to 8, the largest value of an atomic, that a part begins at a multiple of.
[[nodiscard]] std::int64_t part_alignment(const std::byte* part, std::uint64_t bytes) noexcept {
    constexpr std::uintptr_t most = 8;
    if (bytes == 0) return most;
    const auto address = reinterpret_cast<std::uintptr_t>(part) | most;
    return static_cast<std::int64_t>(address & (~address + 1));
}

} // namespace

WindowState::WindowState(Team& team, std::uint64_t bytes, WindowOptions options, Listed listed)
    : team_{team}, state_{team.state()}, name_{std::move(options.name)}, counter_count_{options.notification_counters} {
    if (counter_count_ > most_counters)
        throw RangeError{fmt::format("{}: Window: {} notification counters are more than the limit of {}", state_.who(),
                                     counter_count_, most_counters)};
    if (!std::has_single_bit(options.alignment) || options.alignment < least_alignment || options.alignment > most_alignment)
        throw RangeError{fmt::format("{}: Window: alignment {} is not a power of 2 in [{}, {}]", state_.who(), options.alignment,
                                     least_alignment, most_alignment)};
    check_cache_options(state_.settings(), options.cache, fmt::format("{}: {}", state_.who(), label()));
    // A rank that cannot have its part must not leave the others waiting: agree first. What the ranks of a node ask for
    // must fit together; summed in floating point, which does not overflow.
    state_.barrier(CollectiveCall::window_create, {});
    number_ = state_.next_window_number(); // before anything can fail, so that the ranks' numbers stay alike
    const std::string what = fmt::format("{}: {}", state_.who(), label());
    const MemoryLimit limit = memory_limit(state_.topology().largest_node() > 1);
    auto node_bytes = static_cast<double>(bytes);
    auto memory = std::make_unique_for_overwrite<std::byte[]>(sizeof node_bytes);
    std::memcpy(memory.get(), &node_bytes, sizeof node_bytes);
    state_.complete(memory, "Window", [&](std::byte* sum) {
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Iallreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE, MPI_SUM, state_.topology().node_communicator(), &request),
                  "MPI_Iallreduce", state_.who());
        return request;
    });
    state_.count_collective("Window"); // what follows is another call
    std::memcpy(&node_bytes, memory.get(), sizeof node_bytes);
    const auto counters = static_cast<std::int64_t>(counter_count_);
    const bool fits = node_bytes <= static_cast<double>(limit.bytes);
    const std::string problem = fits ? cannot_map(static_cast<std::uint64_t>(node_bytes)) : std::string{};
    const std::int64_t too_much = !problem.empty() ? 3 : bytes > limit.bytes ? 2 : !fits ? 1 : 0;
    // One number that orders by how much too much, then by rank.
    const std::int64_t alignment = options.alignment;
    const auto size = static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::int64_t>::max()));
    const auto identity = static_cast<std::int64_t>(options.identity.value);
    const std::array<std::int64_t, 9> numbers{too_much == 0 ? 0 : -(too_much << 32) - state_.rank(), counters, -counters, alignment,
                                              -alignment, size, -size, identity, ~identity};
    const auto choices = chosen_cache(state_.settings(), options.cache);
    auto worst = with_cache_choices(numbers, choices);
    team_.min(std::span{worst});
    if (worst[1] != -worst[2])
        throw MismatchError{fmt::format("{}: {} notification counters here and another number on another rank; pass the same on "
                                        "all ranks",
                                        what, counter_count_)};
    if (worst[3] != -worst[4])
        throw MismatchError{
            fmt::format("{}: alignment {} here and another one on another rank; pass the same on all ranks", what, alignment)};
    if (worst[7] != ~worst[8])
        throw MismatchError{fmt::format("{}: {} here and on another rank differ; pass the same on all ranks", what, options.identity.what)};
    check_cache_choices(what, choices, std::span{worst}.last<2 * cache_choices>());
    if (worst[0] <= -(std::int64_t{3} << 32)) throw_no_memory(what, bytes, first_problem(state_.communicator(), problem));
    if (worst[0] != 0) {
        const std::int64_t rank = -worst[0] & 0xFFFFFFFF;
        const bool own = rank == state_.rank();
        const std::string there = first_problem(state_.communicator(), own ? fmt::format("{} bytes, {}", limit.bytes, limit.what) : "").text;
        throw RangeError{fmt::format("{}: {} bytes asked for here, and too many on rank {}{}: the limit {} is {}", what, bytes, rank,
                                     worst[0] > -(std::int64_t{2} << 32) ? " together with the others of its node" : "",
                                     own ? "here" : "there", there)};
    }

    const bool same_size = worst[5] == -worst[6];
    memory_ = std::make_unique<WindowMemory>(state_, what, bytes, same_size, options.alignment, counter_count_);
    network_ = state_.network_path();
    least_rma_bytes_ = state_.least_rma_bytes();
    remote_ = memory_->remote_window();
    shared_ = memory_->shared_window();
    plain_rma_ = network_ == Path::rma;
    mpi_atomics_ = network_ == Path::rma && !state_.avoids_mpi_atomics() && !state_.small_by_messages();
    map_.own = memory_->own();
    map_.own_bytes = bytes;
    map_.own_rank = state_.rank();
    map_.ranks = state_.size();
    const Topology& topology = state_.topology();
    map_.node_first = topology.members().front();
    map_.node_count = topology.node_size();
    map_.node_index = topology.is_run() ? nullptr : topology.index().data();
    map_.bases = memory_->bases().data();
    counters_ = memory_->counters(topology.node_rank());
    share_sizes(same_size);
    state_.engine().expose(number_, exposed());
    cache_ = make_remote_cache(*this, options.cache);
    if (listed == Listed::yes) state_.add(*this);
    state_.barrier(CollectiveCall::window_create, {}); // nobody may ask before every rank has exposed its memory
}

WindowState::WindowState(Team& team, MPI_Win window, bool locked, WindowOptions options)
    : team_{team}, state_{team.state()}, name_{std::move(options.name)}, adopted_{true},
      counter_count_{options.notification_counters}, own_counters_(options.notification_counters) {
    state_.require_open("Window::adopt");
    const std::string where = fmt::format("{}: Window::adopt{}", state_.who(), name_.empty() ? "" : fmt::format("(\"{}\")", name_));
    if (counter_count_ > most_counters)
        throw RangeError{fmt::format("{}: {} notification counters are more than the limit of {}", where, counter_count_,
                                     most_counters)};
    check_cache_options(state_.settings(), options.cache, where);
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
    const CacheMode mode = cache_mode(state_.settings(), options.cache);
    if (const WindowState* const other = HostCall::obstacle(window, mode); other != nullptr)
        throw UsageError{fmt::format("{}: the window is adopted already, as {}, and one of the two is cached, so that it would not "
                                     "see what goes through the other; use that one, close it first, or cache neither",
                                     where, other->label())};
    const bool transparent = mode == CacheMode::transparent;
    if (transparent && !HostCall::seen())
        throw UsageError{where + ": CacheMode::transparent follows the program's own MPI_Win_ calls, which nobody tells Lapwing of; "
                                 "link the program to lapwing::transparent, or choose CacheMode::epoch and call fence()"};
    if (transparent && state_.progress_mode() == ProgressMode::caller && state_.size() > 1)
        throw UsageError{where + ": CacheMode::transparent needs a progress thread, or ranks inside MPI's calls would leave the "
                                 "others waiting; initialise MPI with MPI_THREAD_MULTIPLE, or choose CacheMode::epoch"};
    state_.barrier(CollectiveCall::window_create, {});

    number_ = state_.next_window_number();
    remote_ = window;
    unit_ = *static_cast<int*>(attribute(MPI_WIN_DISP_UNIT));
    map_.own = static_cast<std::byte*>(attribute(MPI_WIN_BASE));
    map_.own_bytes = static_cast<std::uint64_t>(*static_cast<MPI_Aint*>(attribute(MPI_WIN_SIZE)));
    map_.own_rank = state_.rank();
    map_.ranks = state_.size();
    map_.node_first = state_.rank();
    map_.node_count = 1;
    const auto size = static_cast<std::int64_t>(map_.own_bytes);
    const auto choices = chosen_cache(state_.settings(), options.cache);
    auto smallest = with_cache_choices(std::array<std::int64_t, 5>{unit_, -unit_, size, -size, part_alignment(map_.own, map_.own_bytes)},
                                       choices);
    team_.min(std::span{smallest});
    check_cache_choices(where, choices, std::span{smallest}.last<2 * cache_choices>()); // before any epoch begins

    // A transparent window has the epochs that the program makes, of any kind. Messages need none.
    alignment_ = static_cast<std::uint64_t>(smallest[4]);
    network_ = transparent || state_.settings().text("LAPWING_PATH") == "service" ? Path::service : Path::rma;
    if (!locked && !transparent) {
        check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), "MPI_Win_lock_all", state_.who());
        close_lock_ = true;
    }
    if (flavor == MPI_WIN_FLAVOR_SHARED && state_.topology().nodes() == 1) {
        // The only flavor whose node memory MPI tells reliably.
        for (int i = 0; i < state_.size(); ++i) {
            MPI_Aint size = 0;
            int unit = 0;
            std::byte* base = nullptr;
            check_mpi(MPI_Win_shared_query(window, i, &size, &unit, &base), "MPI_Win_shared_query", state_.who());
            bases_.push_back(base);
        }
        map_.node_first = 0;
        map_.node_count = state_.size();
        network_ = Path::direct;
        shared_ = window;
    } else {
        bases_.push_back(map_.own);
    }
    least_rma_bytes_ = state_.least_rma_bytes();
    mpi_atomics_ = network_ == Path::rma && !state_.avoids_mpi_atomics(); // the program may use MPI's beside them
    map_.bases = bases_.data();
    if (transparent) remote_ = shared_ = MPI_WIN_NULL; // the program's own calls order its memory

    if (smallest[0] != -smallest[1]) {
        units_.resize(static_cast<std::size_t>(state_.size()));
        check_mpi(MPI_Allgather(&unit_, 1, MPI_INT, units_.data(), 1, MPI_INT, state_.communicator()), "MPI_Allgather",
                  state_.who());
    }
    plain_rma_ = network_ == Path::rma && unit_ == 1 && units_.empty();
    share_sizes(smallest[2] == -smallest[3]);
    counters_ = own_counters_.data();
    state_.engine().expose(number_, exposed());
    cache_ = make_remote_cache(*this, options.cache);
    state_.add(*this);
    HostCall::add(window, *this, mode);
    state_.barrier(CollectiveCall::window_create, {});
}

WindowState::~WindowState() = default;

ExposedMemory WindowState::exposed() const noexcept {
    return {map_.own, map_.own_bytes, counters_, counter_count_, mpi_atomics_ ? remote_ : MPI_WIN_NULL, unit_, map_.own_rank};
}

void WindowState::check_cache_choices(const std::string& what, const std::array<std::int64_t, cache_choices>& own,
                                      std::span<const std::int64_t, 2 * cache_choices> least) {
    for (std::size_t i = 0; i < cache_choices; ++i) {
        const std::int64_t lowest = least[2 * i];
        const std::int64_t highest = -least[2 * i + 1];
        if (lowest == highest) continue;
        // All ranks come here, and so may ask who it is.
        const std::int64_t rank = state_.rank();
        constexpr std::int64_t another = std::numeric_limits<std::int64_t>::max();
        std::array<std::int64_t, 2> ranks{own[i] == lowest ? rank : another, own[i] == highest ? rank : another};
        team_.min(std::span{ranks});
        throw MismatchError{fmt::format("{}: {} is {} on rank {} and {} on rank {}; choose the same on all ranks", what,
                                        name_cache_choice(i), name_cache_value(i, lowest), ranks[0], name_cache_value(i, highest),
                                        ranks[1])};
    }
}

void WindowState::share_sizes(bool same) {
    map_.uniform_bytes = map_.own_bytes;
    if (same) return;
    sizes_.resize(static_cast<std::size_t>(state_.size()));
    check_mpi(MPI_Allgather(&map_.own_bytes, 1, MPI_UINT64_T, sizes_.data(), 1, MPI_UINT64_T, state_.communicator()),
              "MPI_Allgather", state_.who());
    map_.sizes = sizes_.data();
}

void WindowState::close() {
    if (TeamRegistry::mpi_ended())
        throw UsageError{fmt::format("{}: MPI is finalized already; close windows before MPI_Finalize", who("close"))};
    if (cache_ != nullptr) cache_->settle(); // what is read ahead must not come when its owner has closed
    state_.barrier_of_close(*this); // completes the operations of all ranks
    close_behind_barrier();
}

void WindowState::close_behind_barrier() {
    detach_transfers();
    state_.remove(*this);
    HostCall::remove(*this);
    cache_.reset();
    state_.statistics().add(statistics_.read());
    state_.engine().withdraw(number_);
    if (memory_ != nullptr) memory_->close();
    if (close_lock_) check_mpi(MPI_Win_unlock_all(remote_), "MPI_Win_unlock_all", state_.who());
}

void WindowState::abandon_memory() noexcept {
    // The program's memory goes when the stack has unwound: nobody may be served from it any more.
    cache_.reset(); // ends what it reads ahead
    state_.engine().abandon(number_);
    if (!close_lock_ || TeamRegistry::mpi_ended()) return;
    // The others need not come for it (MPI 3.1, section 11.5.3), but who has operations under way waits for their targets.
    if (const int code = MPI_Win_unlock_all(remote_); code != MPI_SUCCESS)
        support::log_line(fmt::format("{}: MPI_Win_unlock_all failed: {}", who("close"), support::mpi_error_text(code)));
    close_lock_ = false;
}

void WindowState::end_with_scope(std::unique_ptr<WindowState> window) noexcept {
    std::string problem;
    if (std::uncaught_exceptions() == window->exceptions_at_start_ && !window->state_.left() && !window->state_.broken()) {
        try {
            window->close();
            return;
        } catch (const std::exception& error) {
            problem = error.what();
        }
        support::log_line(problem);
    }
    window->long_transfers_.discard();
    window->state_.remove(*window);
    HostCall::remove(*window);
    if (window->adopted_) window->abandon_memory();
    TeamRegistry::instance().retain(std::move(window)); // others may still reach its memory
}

} // namespace lapwing::window
