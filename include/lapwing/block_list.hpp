// Room: datatype
#pragma once

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/layout.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace lapwing {

/// A transfer between two layouts as an explicit list of (source offset, target offset, length): the minimal set S of
/// Schneider, Gerstenberger, Hoefler, "Compiler Optimizations for Non-Contiguous Remote Data Movement", section 2.
/// Sorted by target; no two pairs are adjacent at both ends, so that no shorter list moves the same bytes.
///
/// For code that needs the pairs in order or at random, and for tests: 24 bytes a pair. LayoutZip iterates over the
/// same bytes in the order of the layouts without a list.
class BlockList {
public:
    BlockList() noexcept = default;
    /// Any pairs; those without bytes are ignored. Throws UsageError if target blocks overlap, since their order would
    /// decide what is written. O(n log n).
    explicit BlockList(std::vector<BlockPair> pairs);
    /// Byte k of the source to byte k of the target. Throws RangeError if the numbers of bytes differ or the list would
    /// have more than Layout::max_listed_blocks pairs.
    BlockList(const Layout& source, const Layout& target);

    /// In ascending order of the target; pairs that are adjacent on both sides are joined.
    [[nodiscard]] std::span<const BlockPair> pairs() const noexcept { return pairs_; }
    /// The sum over all pairs.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    /// Whether there are no pairs.
    [[nodiscard]] bool empty() const noexcept { return pairs_.empty(); }

    /// The part that is written to target offsets [lower, upper). O(log n) and the size of the result.
    [[nodiscard]] BlockList within_target(std::int64_t lower, std::int64_t upper) const;
    /// Bytes [begin, end) of the list in its order, at most bytes().
    [[nodiscard]] BlockList slice(std::uint64_t begin, std::uint64_t end) const;
    /// Parts of `bytes` bytes each, the last perhaps fewer; a pair may be split among several. `bytes` is at least 1.
    [[nodiscard]] std::vector<BlockList> split(std::uint64_t bytes) const;

    friend bool operator==(const BlockList&, const BlockList&) = default;

private:
    void minimise();

    std::vector<BlockPair> pairs_;
    std::uint64_t bytes_ = 0;
};

} // namespace lapwing
