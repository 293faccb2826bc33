#pragma once

#include "src/support/mutex.hpp"

#include <lapwing/rank.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::detail::window {

/// What was written to ranks that left the team before it could be delivered. That is no reason to hold back what goes
/// to others, or for a read of another rank to fail: it is noted here, and the next flush or release reports it, once.
class LostWrites {
public:
    /// Bytes that were held back, or of a put that the rank has not answered.
    void note(Rank rank, std::uint64_t bytes);
    /// Messages that the rank has not acknowledged: how much of them has arrived is unknown.
    void note_under_way(Rank rank);

    [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_relaxed); }
    /// "80 bytes to rank 1, what was under way to rank 2"; afterwards there is nothing to report.
    [[nodiscard]] std::string take();

private:
    struct Lost {
        Rank rank = 0;
        std::uint64_t bytes = 0;
        bool under_way = false;
    };
    [[nodiscard]] Lost& of(Rank rank);

    std::atomic<bool> any_{false}; ///< written with the mutex held
    support::Mutex mutex_{support::LockRank::leaf};
    std::vector<Lost> lost_;
};

} // namespace lapwing::detail::window
