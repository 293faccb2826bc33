#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::trace {

/// How many other pages were accessed between two accesses to the same page, as counts by the power of two above: what
/// a cache that replaces the page used longest ago has of them is known for all its sizes at once (Mattson, Gecsei,
/// Slutz and Traiger, 1970).
struct ReuseCounts {
    static constexpr std::size_t buckets = 24;
    std::uint64_t cold = 0;       ///< first accesses to a page
    std::uint64_t sequential = 0; ///< of those, to the page after the one before: read-ahead has asked for it
    /// [0]: the same page again; [k]: from 2^(k-1) to 2^k - 1 others in between.
    std::array<std::uint64_t, buckets> at{};

    [[nodiscard]] std::uint64_t total() const noexcept;
    /// Of the accesses so many find their page in a cache of `pages` pages. A bucket that the number falls into counts
    /// in part.
    [[nodiscard]] double hits(std::uint64_t pages) const noexcept;
    ReuseCounts& operator+=(const ReuseCounts& other) noexcept;
};

/// Distances of reuse, of a sample of the pages: those whose hash is small enough (Waldspurger, Park, Garthwaite and
/// Ahmad: SHARDS, 2015). With more pages than fit, the limit is halved: memory is bounded, and so is the time of an
/// access.
class ReuseSample {
public:
    static constexpr unsigned page_bits = 10;
    static constexpr std::size_t most_pages = 512;

    struct Distance {
        bool sampled = false;
        std::uint64_t weight = 1; ///< so many accesses does it stand for
        bool cold = false;
        bool sequential = false;
        bool in_interval = false;   ///< the access before was after the last sequence point
        std::uint64_t distance = 0; ///< pages
    };
    /// An access to a page of one owner's part of an object. `follows`: the call site accessed the page before it last.
    [[nodiscard]] Distance touch(std::uint64_t object_and_owner, std::uint64_t page, bool follows);
    void sequence_point() noexcept { interval_begin_ = clock_ + 1; }

private:
    struct Seen {
        std::uint64_t hash = 0;
        std::uint64_t last = 0; ///< time of the last access
    };
    void make_room();

    std::vector<Seen> seen_;
    std::uint64_t limit_ = UINT64_MAX; ///< hashes up to it are sampled
    unsigned halvings_ = 0;
    std::uint64_t clock_ = 0;
    std::uint64_t interval_begin_ = 0;
    std::uint64_t last_hash_ = 0;
};

/// Adds a distance to the counts it belongs to.
void add(ReuseCounts& counts, const ReuseSample::Distance& distance, bool within_interval) noexcept;

} // namespace lapwing::detail::trace
