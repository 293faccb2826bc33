#include "window/lock_table.hpp"

#include "src/support/rank_check.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lapwing::detail::window {
namespace {

/// The index of the block that holds a slot: of the first 64 slots 0, of the next 64 then 1, of the next 128 then 2.
std::size_t block_of(std::uint32_t number) {
    return static_cast<std::size_t>(std::bit_width(number / LockTable::first_block_slots));
}

std::uint32_t first_slot(std::size_t block) { return block == 0 ? 0 : LockTable::first_block_slots << (block - 1); }

} // namespace

LockTable::LockTable() = default;
LockTable::~LockTable() = default;

LockSlot LockTable::take(Team& team, Rank home) {
    team::TeamState& state = team.state();
    const auto next = [this] {
        const std::lock_guard guard{mutex_};
        return free_.empty() ? slots_ : free_.top();
    };
    // A home that is not a rank ends the wait of the others, too.
    const bool in_range = home >= 0 && home < state.size();
    try {
        state.synchronisation().barrier(team::CollectiveCall::lock_create, team::identity_of_lock(next(), home.value));
    } catch (const MismatchError&) {
        if (in_range) throw;
    }
    support::require_rank(home, state.size(), [&] { return state.who() + ": Lock"; }, "home rank");
    if (next() == slots_) add_block(team);
    const std::lock_guard guard{mutex_};
    const std::uint32_t number = free_.top();
    free_.pop();
    ++open_;
    const std::size_t block = block_of(number);
    return {blocks_[block].get(), slot_bytes * (number - first_slot(block)), number};
}

void LockTable::add_block(Team& team) {
    const std::uint32_t slots = std::max(first_block_slots, slots_);
    auto block = std::make_unique<WindowState>(
        team, slots * slot_bytes,
        WindowOptions{.name = "locks", .notification_counters = 0, .cache = {.mode = CacheMode::off}},
        WindowState::Listed::no);
    const std::lock_guard guard{mutex_};
    blocks_.push_back(std::move(block));
    for (std::uint32_t i = 0; i < slots; ++i) free_.push(slots_++);
}

void LockTable::give_back(team::TeamState& team, const LockSlot& slot, Rank home) {
    team.synchronisation().barrier(team::CollectiveCall::lock_close, team::identity_of_lock(slot.number, home.value));
    const std::lock_guard guard{mutex_};
    free_.push(slot.number);
    --open_;
}

void LockTable::leave() noexcept {
    const std::lock_guard guard{mutex_};
    --open_;
}

std::string LockTable::still_open() const {
    const std::lock_guard guard{mutex_};
    return open_ == 0 ? std::string{} : fmt::format("{} of its locks", open_);
}

void LockTable::close() {
    if (blocks_.empty()) return; // on all ranks alike
    // MPI frees a window when all ranks have come, and serves nobody meanwhile, while a rank may still wait for an
    // answer of this one.
    blocks_.front()->team_state().wait_for_all("Team::close");
    for (const auto& block : blocks_) block->close_behind_barrier();
    blocks_.clear();
}

} // namespace lapwing::detail::window
