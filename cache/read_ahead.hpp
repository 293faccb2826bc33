#pragma once

#include <lapwing/rank.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace lapwing::detail::cache {

/// Finds sequential accesses, forward and backward, and accesses with a constant stride, among those that touch a page
/// for the first time or miss in it, and decides what to read ahead.
///
/// A stream's distance doubles as it continues; beyond some pages, only if pages were still in flight when they were
/// needed: a network with a long latency gets a longer distance. The limit of all distances halves, down to nothing,
/// when most of what was read ahead was dropped unread, and is tried again after a while: a program that synchronises
/// often or reads at random soon pays nothing for read-ahead.
class ReadAhead {
public:
    /// What to read, in ascending order of offsets: `count` items, `step` bytes apart, from `first`.
    struct Plan {
        std::uint64_t first = 0;
        std::uint64_t step = 0;
        std::uint64_t count = 0;
        bool whole_pages = false; ///< the items are neighbouring pages; else single accesses
        bool sequential = false;  ///< the access continues a sequential stream: its page will be used as a whole
        bool again = false;       ///< stop at the first item that was not read before
    };

    /// What the access found; stale: the whole page, as it was before an acquire.
    enum class Found : std::uint8_t { here, under_way, missing, stale };

    /// At most `largest_distance` pages ahead.
    ReadAhead(std::uint64_t page_bytes, std::uint64_t largest_distance) noexcept
        : page_bytes_{page_bytes}, largest_{largest_distance}, limit_{largest_distance} {}

    /// A page of `rank`, whose part has `part_bytes`, is touched for the first time, at `offset`.
    [[nodiscard]] Plan touched(Rank rank, Offset offset, std::uint64_t part_bytes, Found found) noexcept;

    /// An access to a page that has been touched misses other lines of it. It counts if it follows accesses to other
    /// pages, as in the columns of a matrix.
    [[nodiscard]] Plan touched_again(Rank rank, Offset offset, std::uint64_t part_bytes) noexcept;

    /// A plan for `count` pages from `first` on that have been read before, as far as reading ahead has paid.
    [[nodiscard]] Plan plan_again(std::uint64_t first, std::uint64_t count) const noexcept {
        return {.first = first,
                .step = page_bytes_,
                .count = std::min(count, limit_),
                .whole_pages = true,
                .sequential = true};
    }
    /// The most pages that are read ahead at present.
    [[nodiscard]] std::uint64_t most_pages() const noexcept { return limit_; }

    /// What happened to an item that was read ahead.
    void used() noexcept { judge(1, 0); }
    void wasted() noexcept { judge(0, 1); }

private:
    struct Stream {
        Rank rank = -1;
        std::uint64_t last = 0;     ///< offset of the last access; of sequential streams, the start of its page
        std::int64_t delta = 0;     ///< between accesses; 0: only one has been seen
        std::uint64_t ahead = 0;    ///< accesses beyond `last` that have been requested
        std::uint64_t distance = 0; ///< 0: not confirmed
        std::uint64_t age = 0;      ///< when it was used last
        bool sequential = false;
        bool waited = false; ///< since more was last requested
    };

    [[nodiscard]] Plan advance(Stream& stream, std::uint64_t offset, std::uint64_t part_bytes, Found found) noexcept;
    void judge(std::uint32_t used, std::uint32_t wasted) noexcept;

    static constexpr std::uint64_t first_distance = 2;
    static constexpr std::uint64_t unproven_bytes = 128 << 10; ///< what is read ahead before any read had to wait
    static constexpr std::uint64_t largest_stride_distance = 32;
    static constexpr std::uint64_t largest_stride_distance_again = 96; ///< fewer than may be in flight
    static constexpr std::uint64_t largest_stride = std::uint64_t{4} << 20;
    static constexpr std::uint32_t judged_items = 32;
    static constexpr std::uint32_t judged_items_of_retry = 8;
    static constexpr std::uint64_t first_pause = 256; ///< touched pages
    static constexpr std::uint64_t longest_pause = 4096;

    std::uint64_t page_bytes_;
    std::uint64_t largest_;
    std::uint64_t limit_;
    std::uint64_t clock_ = 0;
    std::uint64_t stopped_at_ = 0;
    std::uint64_t pause_ = first_pause;
    std::uint32_t used_ = 0;
    std::uint32_t wasted_ = 0;
    std::array<Stream, 8> streams_{};
};

} // namespace lapwing::detail::cache
