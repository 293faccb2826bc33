// How a window with memory of its own comes to be, and how any window ends.
#include "window/window_state.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_registry.hpp"
#include "window/host_calls.hpp"
#include "window/upper_rooms.hpp"

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

/// Atomics need 8; MPI promises no more than a cache line for its shared memory in practice.
constexpr unsigned least_alignment = 8;
constexpr unsigned most_alignment = 64;

} // namespace

WindowState::WindowState(Team& team, std::uint64_t bytes, WindowOptions options, Listed listed)
    : team_{team}, state_{team.state()}, name_{std::move(options.name)}, counter_count_{options.notification_counters} {
    if (counter_count_ > most_counters)
        throw RangeError{fmt::format("{}: Window: {} notification counters are more than the limit of {}", state_.who(),
                                     counter_count_, most_counters)};
    if (!std::has_single_bit(options.alignment) || options.alignment < least_alignment || options.alignment > most_alignment)
        throw RangeError{fmt::format("{}: Window: alignment {} is not a power of 2 in [{}, {}]", state_.who(), options.alignment,
                                     least_alignment, most_alignment)};
    upper_rooms().caches.check(state_.settings(), options.cache, fmt::format("{}: {}", state_.who(), label()));
    // A rank that cannot have its part must not leave the others waiting: agree first. What the ranks of a node ask for
    // must fit together; summed in floating point, which does not overflow.
    state_.barrier(team::CollectiveCall::window_create, {});
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
    const auto choices = upper_rooms().caches.chosen(state_.settings(), options.cache);
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
    if (worst[0] <= -(std::int64_t{3} << 32)) throw_no_memory(what, bytes, mpi::first_problem(state_.communicator(), problem));
    if (worst[0] != 0) {
        const std::int64_t rank = -worst[0] & 0xFFFFFFFF;
        const bool own = rank == state_.rank();
        const std::string there = mpi::first_problem(state_.communicator(), own ? fmt::format("{} bytes, {}", limit.bytes, limit.what) : "").text;
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
    const mpi::Topology& topology = state_.topology();
    map_.node_first = topology.members().front();
    map_.node_count = topology.node_size();
    map_.node_index = topology.is_run() ? nullptr : topology.index().data();
    map_.bases = memory_->bases().data();
    counters_ = memory_->counters(topology.node_rank());
    share_sizes(same_size);
    state_.engine().expose(number_, exposed());
    try {
        cache_ = upper_rooms().caches.make(*this, options.cache);
        if (listed == Listed::yes) state_.add(*this);
        state_.barrier(team::CollectiveCall::window_create, {}); // nobody may ask before every rank has exposed its memory
    } catch (...) {
        undo_creation();
        throw;
    }
}

void WindowState::undo_creation() noexcept {
    state_.remove(*this);
    HostCall::remove(*this);
    abandon_memory();
}

WindowState::~WindowState() = default;

messages::ExposedMemory WindowState::exposed() const noexcept {
    return {map_.own, map_.own_bytes, counters_, counter_count_, mpi_atomics_ ? remote_ : MPI_WIN_NULL, unit_, map_.own_rank};
}

void WindowState::check_cache_choices(const std::string& what, const CacheChoices& own,
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
                                        upper_rooms().caches.name_of(i), upper_rooms().caches.text_of(i, lowest), ranks[0], upper_rooms().caches.text_of(i, highest),
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
    if (freed()) return; // MPI_Win_free has done it
    if (team::TeamRegistry::mpi_ended())
        throw UsageError{fmt::format("{}: MPI is finalized already; close windows before MPI_Finalize", who("close"))};
    if (cache_ != nullptr) cache_->drain(); // what is read ahead must not come when its owner has closed
    state_.barrier_of_close(*this); // completes the operations of all ranks
    close_behind_barrier();
}

void WindowState::close_behind_barrier() {
    end_transfers(&WindowTransfer::detach); // complete, though nobody has waited for them
    state_.remove(*this);
    HostCall::remove(*this);
    cache_.reset();
    state_.statistics().add(statistics_.read());
    state_.engine().withdraw(number_);
    if (memory_ != nullptr) memory_->close();
    if (std::exchange(close_lock_, false)) check_mpi(MPI_Win_unlock_all(remote_), "MPI_Win_unlock_all", state_.who());
}

void WindowState::abandon_memory() noexcept {
    // The program's memory goes when the stack has unwound: nobody may be served from it any more.
    cache_.reset(); // ends what it reads ahead
    state_.engine().abandon(number_, messages::Engine::LateRequests::told);
    if (!close_lock_ || team::TeamRegistry::mpi_ended()) return;
    // The others need not come for it (MPI 3.1, section 11.5.3), but who has operations under way waits for their targets.
    if (const int code = MPI_Win_unlock_all(remote_); code != MPI_SUCCESS)
        support::log_line(fmt::format("{}: MPI_Win_unlock_all failed: {}", who("close"), support::mpi_error_text(code)));
    close_lock_ = false;
}

void WindowState::end_with_scope(std::unique_ptr<WindowState> window) noexcept {
    if (window->freed()) return;
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
    window->chunked_transfers_.discard();
    window->state_.remove(*window);
    HostCall::remove(*window);
    if (window->adopted_) window->abandon_memory();
    team::TeamRegistry::instance().retain(std::move(window)); // others may still reach its memory
}

} // namespace lapwing::window
