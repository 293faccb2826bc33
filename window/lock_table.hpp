#pragma once

#include "src/support/mutex.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <vector>

namespace lapwing {
class Team;
}

namespace lapwing::detail::window {

class WindowState;

/// Where a lock's words are, at every rank: a few words of a window that many locks share.
struct LockSlot {
    WindowState* block = nullptr;
    Offset offset = 0;        ///< of the words in every rank's part
    std::uint32_t number = 0; ///< of the slot, among those of the team: the same on all ranks
};

/// The slots of a team's locks, in windows of their own, which releases and acquires do not look at, and which stay
/// until the team is closed. Slots are taken and given back collectively, so every rank knows which are free, and the
/// lowest is taken: the order in which several were given back does not matter. A slot that a rank left by an exception
/// never comes back, on any rank: the others find at their next barrier that the rank is elsewhere.
class LockTable final : public team::TeamPart {
public:
    LockTable();
    ~LockTable() override;
    LockTable(const LockTable&) = delete;
    LockTable& operator=(const LockTable&) = delete;

    /// Two cache lines: a rank that asks for a lock does not disturb one that watches another word.
    static constexpr std::uint64_t slot_bytes = 128;
    static constexpr std::uint32_t first_block_slots =
        64; ///< each later one holds as many as there are: few windows for many locks

    /// Collective: a barrier, and now and then the creation of a window. The words are 0, or as the previous lock left
    /// them at its close. Throws MismatchError where ranks name different homes, and what the creation of a window
    /// throws.
    [[nodiscard]] LockSlot take(Team& team, Rank home);
    /// Collective: a barrier. Throws MismatchError where ranks close different locks; then the slot stays taken.
    void give_back(team::TeamState& team, const LockSlot& slot, Rank home);
    /// This rank will not give it back: its scope ended by an exception.
    void leave() noexcept;

    // TeamPart
    [[nodiscard]] std::string still_open() const override;
    void close() override;

private:
    void add_block(Team& team);

    mutable support::Mutex mutex_{
        support::LockRank::leaf}; ///< of the fields below; no collective call is made with it held
    std::vector<std::unique_ptr<WindowState>> blocks_;
    std::uint32_t slots_ = 0;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
    std::uint32_t open_ = 0; ///< locks of the program
};

} // namespace lapwing::detail::window
