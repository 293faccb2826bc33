#include <lapwing/layout.hpp>

#include <lapwing/detail/layout_cursor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

// The properties of layouts. All of them but overlaps() are computed from the levels, without a list of blocks.

namespace lapwing {

namespace {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

} // namespace

std::uint64_t Layout::list_memory() const noexcept {
    std::uint64_t entries = 0;
    for (std::size_t k = 0; k < level_count(); ++k) {
        const Level& level = pattern_.levels[k];
        if (level.offsets != nullptr) entries += level.count;
        if (!pattern_.is_list(k)) continue;
        entries += level.count + 1;
        if (pattern_.units != nullptr)
            entries += (pattern_.starts[level.count] - pattern_.starts[0]) / pattern_.unit_bytes;
    }
    return entries * sizeof(std::int64_t);
}

std::uint64_t Layout::Pattern::iteration_of(std::size_t k, std::uint64_t position) const noexcept {
    const Level& level = levels[k];
    if (!is_list(k)) return position / level.inner.bytes;
    return static_cast<std::uint64_t>(std::upper_bound(starts + 1, starts + level.count, position + starts[0]) -
                                      (starts + 1));
}

std::uint64_t Layout::Pattern::position_of(std::size_t k, std::uint64_t iteration) const noexcept {
    return is_list(k) ? starts[iteration] - starts[0] : iteration * levels[k].inner.bytes;
}

std::int64_t Layout::Pattern::first_byte(std::size_t k) const noexcept {
    std::int64_t offset = 0;
    for (; k < levels.size(); ++k) offset = add(offset, levels[k].at(0));
    return offset;
}

std::int64_t Layout::Pattern::last_end(std::size_t k) const noexcept {
    std::int64_t offset = 0;
    std::uint64_t bytes = block;
    for (; k < levels.size(); ++k) {
        const std::uint64_t last = levels[k].count - 1;
        offset = add(offset, levels[k].at(last));
        if (is_list(k)) bytes = starts[last + 1] - starts[last];
    }
    return add(offset, static_cast<std::int64_t>(bytes));
}

std::uint64_t Layout::Pattern::joins(std::size_t k, std::uint64_t first, std::uint64_t last) const noexcept {
    const Level& level = levels[k];
    if (!level.joined || last - first < 2) return 0;
    if (level.offsets == nullptr) return last - first - 1;
    const int128 distance = static_cast<int128>(last_end(k + 1)) - first_byte(k + 1);
    std::uint64_t count = 0;
    for (std::uint64_t i = first + 1; i < last; ++i)
        if (static_cast<int128>(level.offsets[i]) - level.offsets[i - 1] == distance) ++count;
    return count;
}

Layout::Summary Layout::Pattern::summarise(std::size_t k, std::uint64_t first, std::uint64_t last) const noexcept {
    const Level& level = levels[k];
    const std::uint64_t count = last - first;
    Summary found{};
    if (is_list(k)) {
        const auto end = [&](std::uint64_t i) {
            return level.offsets[i] + static_cast<std::int64_t>(starts[i + 1] - starts[i]);
        };
        found = {starts[last] - starts[first], count, level.offsets[first], end(last - 1)};
        if (level.ascending) return found;
        for (std::uint64_t i = first; i < last; ++i) {
            found.lower = std::min(found.lower, level.offsets[i]);
            found.upper = std::max(found.upper, end(i));
        }
        return found;
    }
    std::int64_t lowest = std::min(level.at(first), level.at(last - 1));
    std::int64_t highest = std::max(level.at(first), level.at(last - 1));
    if (level.offsets != nullptr && !level.ascending) {
        const auto [low, high] = std::minmax_element(level.offsets + first, level.offsets + last);
        lowest = *low;
        highest = *high;
    }
    return {count * level.inner.bytes, count * level.inner.blocks - joins(k, first, last), lowest + level.inner.lower,
            highest + level.inner.upper};
}

Layout::Summary Layout::Pattern::whole() const noexcept {
    return summarised ? summary : summarise(0, 0, levels[0].count);
}

Layout::Bounds Layout::Pattern::bounds(std::size_t k, std::uint64_t begin, std::uint64_t end) const noexcept {
    if (k == levels.size()) return {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end)};
    const Level& level = levels[k];
    const std::uint64_t first = iteration_of(k, begin);
    const std::uint64_t last = iteration_of(k, end - 1);
    // Whole iterations are known, so only the two that are cut are examined.
    const auto part = [&](std::uint64_t iteration) -> Bounds {
        const std::uint64_t start = position_of(k, iteration);
        const std::uint64_t from = std::max(begin, start) - start;
        const std::uint64_t to = std::min(end, position_of(k, iteration + 1)) - start;
        Bounds inside{};
        if (is_list(k)) inside = {static_cast<std::int64_t>(from), static_cast<std::int64_t>(to)};
        else if (from == 0 && to == level.inner.bytes) inside = {level.inner.lower, level.inner.upper};
        else inside = bounds(k + 1, from, to);
        return {add(inside.lower, level.at(iteration)), add(inside.upper, level.at(iteration))};
    };
    const Bounds head = part(first);
    if (first == last) return head;
    const Bounds tail = part(last);
    Bounds all{std::min(head.lower, tail.lower), std::max(head.upper, tail.upper)};
    if (last - first > 1) {
        const Summary middle = summarise(k, first + 1, last);
        all = {std::min(all.lower, middle.lower), std::max(all.upper, middle.upper)};
    }
    return all;
}

Layout::Bounds Layout::bounds() const noexcept {
    if (empty()) return {0, 0};
    if (is_whole() && pattern_.summarised)
        return {pattern_.origin + pattern_.summary.lower, pattern_.origin + pattern_.summary.upper};
    const Bounds relative = pattern_.bounds(0, begin_, end_);
    return {add(pattern_.origin, relative.lower), add(pattern_.origin, relative.upper)};
}

std::int64_t Layout::lower() const noexcept { return bounds().lower; }

std::int64_t Layout::upper() const noexcept { return bounds().upper; }

std::uint64_t Layout::span() const noexcept {
    const Bounds all = bounds();
    return static_cast<std::uint64_t>(all.upper) - static_cast<std::uint64_t>(all.lower);
}

double Layout::density() const noexcept {
    return empty() ? 0.0 : static_cast<double>(bytes()) / static_cast<double>(span());
}

std::uint64_t Layout::Pattern::starts_before(std::size_t k, std::uint64_t position) const noexcept {
    if (position == 0) return 0;
    if (k == levels.size()) return 1;
    // The iteration of the last byte before the position has begun, those before it are over.
    const std::uint64_t last = iteration_of(k, position - 1);
    if (is_list(k)) return last + 1;
    return last * levels[k].inner.blocks + starts_before(k + 1, position - last * levels[k].inner.bytes) -
           joins(k, 0, last + 1);
}

std::uint64_t Layout::block_count() const noexcept {
    if (empty()) return 0;
    if (is_whole() && pattern_.summarised) return pattern_.summary.blocks;
    return 1 + pattern_.starts_before(0, end_) - pattern_.starts_before(0, begin_ + 1);
}

bool Layout::Pattern::is_ascending() const noexcept {
    for (std::size_t k = 0; k < levels.size(); ++k)
        if (!levels[k].ascending) return false;
    return true;
}

bool Layout::is_ascending() const noexcept { return pattern_.is_ascending(); }

std::uint64_t Layout::Pattern::bytes_below(std::int64_t offset) const noexcept {
    std::uint64_t position = 0;
    int128 left = static_cast<int128>(offset) - origin;
    for (std::size_t k = 0; k < levels.size(); ++k) {
        const Level& level = levels[k];
        // In an ascending pattern the lowest byte of an iteration is its first.
        const int128 lowest = is_list(k) ? 0 : level.inner.lower;
        std::uint64_t begun = 0; // iterations whose first byte is below
        if (level.offsets != nullptr) {
            begun =
                static_cast<std::uint64_t>(std::partition_point(level.offsets, level.offsets + level.count,
                                                                [&](std::int64_t at) { return at + lowest < left; }) -
                                           level.offsets);
        } else if (left > lowest) {
            const int128 count = (left - lowest - 1) / level.stride + 1;
            begun = count < static_cast<int128>(level.count) ? static_cast<std::uint64_t>(count) : level.count;
        }
        if (begun == 0) return position;
        left -= level.at(begun - 1);
        position += position_of(k, begun - 1);
        if (is_list(k))
            return position + static_cast<std::uint64_t>(std::min<int128>(left, starts[begun] - starts[begun - 1]));
    }
    return position + static_cast<std::uint64_t>(std::clamp<int128>(left, 0, block));
}

bool Layout::Pattern::same_shape(const Pattern& other) const noexcept {
    if (block != other.block || total != other.total || levels.size() != other.levels.size() ||
        (starts == nullptr) != (other.starts == nullptr))
        return false;
    for (std::size_t k = 0; k < levels.size(); ++k) {
        const Level& a = levels[k];
        const Level& b = other.levels[k];
        if (a.count != b.count || (a.offsets == nullptr) != (b.offsets == nullptr)) return false;
        if (a.offsets == nullptr ? a.stride != b.stride
                                 : a.offsets != b.offsets && !std::equal(a.offsets, a.offsets + a.count, b.offsets))
            return false;
        if (!is_list(k) || starts == other.starts) continue;
        for (std::uint64_t i = 1; i <= a.count; ++i)
            if (starts[i] - starts[0] != other.starts[i] - other.starts[0]) return false;
    }
    return true;
}

bool Layout::same_shape(const Layout& other) const noexcept {
    return begin_ == other.begin_ && end_ == other.end_ && pattern_.same_shape(other.pattern_);
}

bool operator==(const Layout& a, const Layout& b) noexcept {
    if (a.bytes() != b.bytes()) return false;
    if (a.empty() || (a.pattern_.origin == b.pattern_.origin && a.same_shape(b))) return true;
    const Layout::Bounds of_a = a.bounds();
    const Layout::Bounds of_b = b.bounds();
    if (of_a.lower != of_b.lower || of_a.upper != of_b.upper || a.block_count() != b.block_count()) return false;
    LayoutCursor at_a{a};
    LayoutCursor at_b{b};
    while (!at_a.done())
        if (at_a.next() != at_b.next()) return false;
    return true;
}

bool Layout::Pattern::surely_disjoint() const noexcept {
    if (is_ascending()) return true;
    // Whatever the order of the nest: from the smallest stride up, each must reach over all that is below it.
    std::array<Dimension, max_levels> dimensions{};
    std::size_t count = 0;
    uint128 height = block;
    for (std::size_t k = 0; k < levels.size(); ++k) {
        const Level& level = levels[k];
        if (level.offsets != nullptr) {
            if (!is_list(k) || !level.ascending) return false;
            const Summary list = summarise(k, 0, level.count);
            height = static_cast<uint128>(static_cast<int128>(list.upper) - list.lower);
            continue;
        }
        if (level.stride == std::numeric_limits<std::int64_t>::min()) return false;
        // In order as they come: std::sort has a branch for more than 16, which GCC 14 takes for an access beyond the
        // array.
        std::size_t place = count++;
        const std::int64_t stride = level.stride < 0 ? -level.stride : level.stride;
        for (; place > 0 && dimensions[place - 1].stride > stride; --place) dimensions[place] = dimensions[place - 1];
        dimensions[place] = {level.count, stride};
    }
    for (std::size_t d = 0; d < count; ++d) {
        const auto stride = static_cast<uint128>(dimensions[d].stride);
        if (stride < height) return false;
        height += stride * (dimensions[d].count - 1);
    }
    return true;
}

bool Layout::overlaps() const {
    if (empty() || pattern_.surely_disjoint()) return false;
    if (bytes() > span()) return true;
    std::vector<ByteBlock> blocks = listed();
    std::sort(blocks.begin(), blocks.end(), [](const ByteBlock& a, const ByteBlock& b) { return a.offset < b.offset; });
    for (std::size_t i = 1; i < blocks.size(); ++i)
        if (static_cast<int128>(blocks[i].offset) - blocks[i - 1].offset < static_cast<int128>(blocks[i - 1].bytes))
            return true;
    return false;
}

std::string to_string(const Layout& layout) {
    if (layout.empty()) return "no bytes";
    if (layout.is_contiguous()) return fmt::format("{} bytes at {}", layout.bytes(), layout.lower());
    std::string text = layout.uniform_block() == 0
                           ? fmt::format("{} blocks of different lengths", layout.block_count())
                           : fmt::format("{} blocks of {} bytes", layout.block_count(), layout.uniform_block());
    const BlockRun run = LayoutCursor{layout}.peek_run();
    if (run.offsets != nullptr) text += ", indexed";
    else if (run.count > 1) text += fmt::format(", stride {}", run.stride);
    return text + fmt::format(", {} bytes within [{}, {})", layout.bytes(), layout.lower(), layout.upper());
}

} // namespace lapwing
