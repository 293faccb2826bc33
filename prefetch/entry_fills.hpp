#pragma once

#include "prefetch/entry.hpp"

#include <lapwing/completion.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace lapwing::detail::team {
class TeamState;
}

namespace lapwing::detail::prefetching {

/// Fills of entries, under way at the same time.
class EntryFills {
public:
    void reserve(std::size_t entries) { transfers_.reserve(entries); }
    /// Waits for the oldest one where there are many: their book-keeping is memory, too.
    void start(Entry& entry);
    /// Whether all are complete.
    [[nodiscard]] bool test();
    /// Waits for all, in turns; none is left then, also where one fails.
    void wait(team::TeamState& team);
    /// The same for a window that may be gone: each knows what to do then.
    void wait_alone();
    /// Gives them up.
    void clear() noexcept;
    [[nodiscard]] bool empty() const noexcept { return transfers_.empty(); }

private:
    [[nodiscard]] std::span<Completion> left() noexcept { return std::span{transfers_}.subspan(completed_); }

    std::vector<Completion> transfers_;
    std::size_t completed_ = 0; ///< from the first one on
};

} // namespace lapwing::detail::prefetching
