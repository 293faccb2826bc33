#pragma once

#include <lapwing/cache_options.hpp>
#include <lapwing/rank.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing::detail::cache {

/// A place for a page in the cache's memory.
using Frame = std::uint32_t;
inline constexpr Frame no_frame = ~Frame{0};

/// Which frames had page table entries since the last query: the reference bits of a clock, without a store in
/// the hit path.
class RecentUse {
public:
    virtual ~RecentUse() = default;
    /// Whether the page in `frame` was used recently; removes it from the page table, so that the next use is
    /// seen.
    [[nodiscard]] virtual bool take(Frame frame) noexcept = 0;
};

/// Whether a page is expected to be used again after it was evicted.
enum class Reuse : std::uint8_t {
    remembered, ///< if it was cached recently
    expected,
    none,
};

/// Decides which page is evicted for a new one.
class Replacement {
public:
    virtual ~Replacement() = default;

    /// The frame for `page` of `rank`, which has none; what the frame holds must be evicted. Never `keep`: no_frame if
    /// there is no other, and then nothing has changed. Pages requested one after the other get neighbouring frames
    /// where possible, so that one message can move them.
    [[nodiscard]] virtual Frame frame_for(std::uint64_t page, Rank rank, Frame keep, Reuse reuse) = 0;
    /// Whether Reuse::remembered would expect `page` to be used again.
    [[nodiscard]] virtual bool remembers(std::uint64_t page) const noexcept = 0;
    /// Whether the page in `frame` is not expected to be used again.
    [[nodiscard]] virtual bool passing(Frame frame) const noexcept = 0;
    /// The page in `frame` was used without the page table.
    virtual void used(Frame frame) = 0;
    /// `page` has been removed from `frame`.
    virtual void evicted(std::uint64_t page, Frame frame) = 0;
};

/// 2Q (Johnson and Shasha, "2Q: a low overhead high performance buffer management replacement algorithm", 1994). New
/// pages pass through a ring (A1in), half of the frames. Only the numbers of pages that leave it are remembered
/// (A1out); a page that returns while it is remembered joins the pages with reuse (Am), among which a clock picks
/// the victim. A1out is a hash table in which newer numbers overwrite older ones.
[[nodiscard]] std::unique_ptr<Replacement> make_two_queues(Frame frames, RecentUse& recent);

/// The ranks whose parts are cached: all but those that are reached by load and store.
class RemoteRanks {
public:
    /// All of them.
    RemoteRanks(int ranks) : ranks_{ranks} {}
    /// `near`: the ranks that are not cached, in ascending order.
    RemoteRanks(int ranks, std::vector<Rank> near) : ranks_{ranks}, near_{std::move(near)} {}

    /// Including those that are not cached.
    [[nodiscard]] int all() const noexcept { return ranks_; }
    [[nodiscard]] int count() const noexcept { return std::max(1, ranks_ - static_cast<int>(near_.size())); }
    /// The position of a rank among them, from 0 on.
    [[nodiscard]] int place(Rank rank) const noexcept {
        return rank.value - static_cast<int>(std::ranges::lower_bound(near_, rank) - near_.begin());
    }

private:
    int ranks_;
    std::vector<Rank> near_;
};

/// The remote reference cache of MuPC (Zhang, 2007, section 4.4.9): a page has one place, in the region of its rank;
/// if there are more ranks than regions, ranks share them. Ranks that are never cached have none. The pages
/// evicted last stay in a small, fully associative victim cache of `victims` pages, at most a quarter of
/// all.
[[nodiscard]] std::unique_ptr<Replacement> make_direct_mapped(Frame frames, const RemoteRanks& ranks,
                                                              std::uint64_t victims);

} // namespace lapwing::detail::cache
