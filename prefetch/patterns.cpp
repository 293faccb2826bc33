#include <lapwing/patterns.hpp>

#include <lapwing/detail/needed_domains.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lapwing::detail::prefetching {

void throw_depth(std::int64_t depth) {
    throw RangeError{fmt::format(
        "Stencil: the depth is {}; it counts the elements that a stencil reads to each side, 0 or more", depth)};
}

void throw_table_size(std::size_t size, int ranks) {
    throw RangeError{fmt::format(
        "Custom: the table has {} entries, and the array's team {} ranks; give one entry for each rank, an empty "
        "domain where it reads nothing",
        size, ranks)};
}

std::vector<Range> difference(const Range& from, const Range& taken) {
    const Range common = from.intersect(taken);
    if (common.empty()) return {from};
    const auto step = static_cast<std::uint64_t>(from.stride());
    const auto position = [&](std::int64_t index) {
        return (static_cast<std::uint64_t>(index) - static_cast<std::uint64_t>(from.first())) / step;
    };
    std::vector<Range> left;
    const auto add = [&](std::uint64_t first, std::uint64_t size, std::uint64_t stride) {
        if (size != 0) left.push_back(Range::strided(from[first], size, static_cast<std::int64_t>(stride * step)));
    };
    const std::uint64_t first = position(common.first());
    const std::uint64_t last = position(common.last());
    add(0, first, 1);
    // Of every so many positions in between one is taken.
    const std::uint64_t every = common.size() == 1 ? 1 : static_cast<std::uint64_t>(common.stride()) / step;
    for (std::uint64_t k = 1; k < every; ++k) add(first + k, common.size() - 1, every);
    add(last + 1, from.size() - last - 1, 1);
    return left;
}

namespace {

/// A range of neighbours, [first, last], which may leave [0, extent): the part within, or, of a periodic dimension,
/// what it is modulo the extent.
void add_within(std::int64_t first, std::int64_t last, std::int64_t extent, bool periodic, std::vector<Range>& ranges) {
    if (periodic && last - first + 1 >= extent) {
        ranges.emplace_back(std::int64_t{0}, extent);
        return;
    }
    ranges.emplace_back(std::max<std::int64_t>(first, 0), std::min(last + 1, extent));
    if (!periodic) return;
    if (first < 0) ranges.emplace_back(extent + first, std::min(extent, extent + last + 1));
    if (last >= extent) ranges.emplace_back(std::max<std::int64_t>(0, first - extent), last + 1 - extent);
}

} // namespace

std::vector<Range> widened(const Range& own, std::int64_t depth, std::uint64_t extent, bool periodic) {
    std::vector<Range> ranges;
    if (own.empty() || extent == 0) return ranges;
    const auto size = static_cast<std::int64_t>(extent);
    depth = std::min(depth, size); // beyond it there is nothing new
    // Neighbours of two own indices meet, or there are no more than one.
    if (own.size() == 1 || 2 * depth + 1 >= own.stride()) {
        add_within(own.first() - depth, own.last() + depth, size, periodic, ranges);
        std::erase_if(ranges, [](const Range& range) { return range.empty(); });
        return ranges;
    }
    for (std::int64_t k = -depth; k <= depth; ++k) {
        const Range shifted = Range::strided(own.first() + k, own.size(), own.stride());
        ranges.push_back(shifted.intersect(Range{std::int64_t{0}, size}));
        if (!periodic || k == 0) continue;
        // Those that leave at one end come back at the other; only the last, or the first, one can, since a stride is
        // above 2 depths.
        if (shifted.first() < 0) ranges.push_back(Range::strided(shifted.first() + size, 1, 1));
        if (shifted.last() >= size) ranges.push_back(Range::strided(shifted.last() - size, 1, 1));
    }
    std::erase_if(ranges, [](const Range& range) { return range.empty(); });
    return ranges;
}

} // namespace lapwing::detail::prefetching
