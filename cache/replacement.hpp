#pragma once

#include <lapwing/cache_options.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace lapwing::detail::cache {

/// A place for a page in the cache's memory.
using Frame = std::uint32_t;
inline constexpr Frame no_frame = ~Frame{0};

/// Which frames the hot-page table has had entries of since it was asked last: the reference bits of a clock, without a
/// store in the hit path.
class RecentUse {
public:
    virtual ~RecentUse() = default;
    /// Whether the page in `frame` has been used lately; takes it out of the hot-page table, so that the next use is
    /// seen.
    [[nodiscard]] virtual bool take(Frame frame) noexcept = 0;
};

/// Whether a page is expected to be used again after it was replaced by others.
enum class Reuse : std::uint8_t {
    remembered, ///< if it was here lately
    expected,
    none,
};

/// Which page makes room for another.
class Replacement {
public:
    virtual ~Replacement() = default;

    /// The frame for `page` of `rank`, which is in none; what it holds must leave. `keep` must not: no_frame if there
    /// is no other, and then nothing has changed. Pages that are asked for one after the other get neighbouring frames
    /// as far as possible, so that they can be moved in one message.
    [[nodiscard]] virtual Frame frame_for(std::uint64_t page, int rank, Frame keep, Reuse reuse) = 0;
    /// Whether Reuse::remembered would expect that `page` is used again.
    [[nodiscard]] virtual bool remembers(std::uint64_t page) const noexcept = 0;
    /// Whether the page in `frame` is not expected to be used again.
    [[nodiscard]] virtual bool passing(Frame frame) const noexcept = 0;
    /// The page in `frame` was used, and the hot-page table did not know it.
    virtual void used(Frame frame) = 0;
    /// `page` has left `frame`.
    virtual void left(std::uint64_t page, Frame frame) = 0;
};

/// 2Q (Johnson and Shasha, "2Q: a low overhead high performance buffer management replacement algorithm", 1994). New
/// pages pass through a ring (A1in), half of the frames; of those that leave it only the numbers are remembered
/// (A1out), and a page that comes again while it is remembered joins the pages with reuse (Am), of which a clock picks
/// the victim. A1out is a hash table in which newer numbers overwrite older ones.
[[nodiscard]] std::unique_ptr<Replacement> make_two_queues(Frame frames, RecentUse& recent);

/// The ranks whose parts are cached: all but those that are reached by load and store.
class RemoteRanks {
public:
    /// All of them.
    RemoteRanks(int ranks) : ranks_{ranks} {}
    /// `near` are those that are not cached, in ascending order.
    RemoteRanks(int ranks, std::vector<int> near) : ranks_{ranks}, near_{std::move(near)} {}

    /// With those that are not cached.
    [[nodiscard]] int all() const noexcept { return ranks_; }
    [[nodiscard]] int count() const noexcept { return std::max(1, ranks_ - static_cast<int>(near_.size())); }
    /// Which of them a rank is, from 0 on.
    [[nodiscard]] int place(int rank) const noexcept {
        return rank - static_cast<int>(std::ranges::lower_bound(near_, rank) - near_.begin());
    }

private:
    int ranks_;
    std::vector<int> near_;
};

/// The remote reference cache of MuPC (Zhang, 2007, section 4.4.9): a page has one place, in the region of its rank;
/// with more ranks than the memory has regions for, ranks share them. Ranks that are never cached have none. The pages
/// that were replaced last stay in a small, fully associative victim cache of `victims` pages, at most a quarter of
/// all.
[[nodiscard]] std::unique_ptr<Replacement> make_direct_mapped(Frame frames, const RemoteRanks& ranks,
                                                              std::uint64_t victims);

} // namespace lapwing::detail::cache
