#include <lapwing/layout.hpp>

#include "datatype/equal_units.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

// How layouts are made, and brought into canonical form. Their properties are in layout_query.cpp.

namespace lapwing {

namespace {

__extension__ typedef __int128 int128;

constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

[[nodiscard]] bool fits(int128 offset) noexcept {
    return offset >= std::numeric_limits<std::int64_t>::min() && offset <= std::numeric_limits<std::int64_t>::max();
}

[[noreturn]] void throw_offset() {
    throw RangeError{
        "Layout: an offset does not fit into 64 bits; offsets are from the base of the transfer, in bytes"};
}

void check_bytes(std::uint64_t count, std::uint64_t bytes) {
    if (bytes != 0 && count > largest / bytes)
        throw RangeError{fmt::format("Layout: {} times {} bytes are more than 2^63 - 1", count, bytes)};
}

void check_listed(std::uint64_t blocks) {
    if (blocks > Layout::max_listed_blocks)
        throw RangeError{
            fmt::format("Layout: this combination would have to be written out as a list of {} blocks, and at "
                        "most {} are; transfer its parts one by one",
                        blocks, Layout::max_listed_blocks)};
}

/// How many of the first offsets have the distance of the first two.
std::size_t progression(const Layout::Offsets& offsets) {
    std::size_t length = 2;
    while (length < offsets.size() &&
           static_cast<int128>(offsets[length]) - offsets[length - 1] == static_cast<int128>(offsets[1]) - offsets[0])
        ++length;
    return length;
}

/// Whether the offsets are groups of this length that differ only by a shift.
bool repeats(const Layout::Offsets& offsets, std::size_t group) {
    if (group >= offsets.size() || offsets.size() % group != 0) return false;
    for (std::size_t i = group; i < offsets.size(); ++i)
        if (static_cast<int128>(offsets[i]) - offsets[i - i % group] !=
            static_cast<int128>(offsets[i % group]) - offsets[0])
            return false;
    return true;
}

/// The blocks of a list with different lengths.
struct List {
    Layout::Offsets offsets;
    std::vector<std::uint64_t> starts;
    Layout::Offsets units; ///< equal ones that the blocks consist of; none where there would be too many
    std::uint64_t unit_bytes = 0;

    /// Most such lists are blocks of one length of which some were adjacent and have become one: what equal_units()
    /// does for each copy of other lists, once for all.
    void cut() {
        const std::uint64_t total = starts.back();
        const auto length = [&](std::size_t i) { return starts[i + 1] - starts[i]; };
        unit_bytes = total;
        for (std::size_t i = 0; i < offsets.size(); ++i) {
            if (length(i) % unit_bytes == 0) continue;
            unit_bytes = std::gcd(unit_bytes, length(i));
            if (total / unit_bytes > 2 * offsets.size()) return; // on average two a block
        }
        std::size_t whole = 0;
        for (std::size_t i = 0; i < offsets.size(); ++i) whole += length(i) == unit_bytes ? 1U : 0U;
        if (total / unit_bytes < detail::datatype::least_equal_units || 2 * whole < offsets.size()) return;
        units.reserve(total / unit_bytes);
        for (std::size_t i = 0; i < offsets.size(); ++i)
            for (std::uint64_t at = 0; at < length(i); at += unit_bytes)
                units.push_back(offsets[i] + static_cast<std::int64_t>(at));
    }
};

} // namespace

Layout::Levels& Layout::Levels::operator=(const Levels& other) noexcept {
    size_ = other.size_;
    std::copy_n(other.levels_.begin(), std::max<std::size_t>(size_, 1), levels_.begin());
    return *this;
}

void Layout::Levels::push_front(const Level& level) noexcept {
    std::copy_backward(levels_.begin(), levels_.begin() + static_cast<std::ptrdiff_t>(size_),
                       levels_.begin() + static_cast<std::ptrdiff_t>(size_ + 1));
    levels_[0] = level;
    ++size_;
}

void Layout::Levels::pop_front() noexcept {
    if (size_ == 1) clear();
    else erase(0);
}

void Layout::Levels::erase(std::size_t k) noexcept {
    std::copy(levels_.begin() + static_cast<std::ptrdiff_t>(k + 1),
              levels_.begin() + static_cast<std::ptrdiff_t>(size_), levels_.begin() + static_cast<std::ptrdiff_t>(k));
    --size_;
}

void Layout::Levels::clear() noexcept {
    size_ = 0;
    levels_[0] = {1, 0, nullptr, {}, true, false};
}

Layout Layout::contiguous(std::uint64_t bytes, std::int64_t offset) {
    Layout layout;
    if (bytes == 0) return layout;
    check_bytes(1, bytes);
    layout.become_block(offset, bytes);
    layout.pattern_.check_bounds();
    return layout;
}

Layout Layout::strided(std::uint64_t count, std::uint64_t block_bytes, std::int64_t stride, std::int64_t offset) {
    return contiguous(block_bytes).repeat(count, stride).shift(offset);
}

Layout Layout::strided(std::span<const Dimension> dimensions, std::uint64_t block_bytes, std::int64_t offset) {
    Layout layout = contiguous(block_bytes);
    for (std::size_t d = dimensions.size(); d-- > 0;) layout = layout.repeat(dimensions[d].count, dimensions[d].stride);
    return layout.shift(offset);
}

Layout Layout::indexed(Offsets offsets, std::uint64_t block_bytes) {
    return contiguous(block_bytes).repeat_at(std::move(offsets));
}

Layout Layout::indexed_shared(const std::shared_ptr<const Offsets>& offsets, std::uint64_t block_bytes) {
    return contiguous(block_bytes).repeat_at_shared(offsets);
}

Layout Layout::list(std::span<const ByteBlock> blocks) {
    List list;
    std::uint64_t total = 0;
    bool uniform = true;
    std::uint64_t last_bytes = 0;
    for (const ByteBlock& block : blocks) {
        if (block.bytes == 0) continue;
        check_bytes(1, block.bytes);
        const bool adjacent =
            !list.offsets.empty() && static_cast<int128>(list.offsets.back()) + last_bytes == block.offset;
        if (!adjacent) {
            // The block before this one has its length now.
            if (list.starts.size() > 1) uniform = uniform && last_bytes == list.starts[1];
            list.offsets.push_back(block.offset);
            list.starts.push_back(total);
            last_bytes = 0;
        }
        last_bytes += block.bytes;
        if (__builtin_add_overflow(total, block.bytes, &total) || total > largest) check_bytes(2, largest);
        if (!fits(static_cast<int128>(list.offsets.back()) + last_bytes)) throw_offset();
    }
    if (list.offsets.empty()) return {};
    if (list.starts.size() > 1) uniform = uniform && last_bytes == list.starts[1];
    if (uniform) return contiguous(last_bytes).repeat_at(std::move(list.offsets));

    list.starts.push_back(total);
    list.offsets.shrink_to_fit();
    list.starts.shrink_to_fit();
    list.cut();
    const auto kept = std::make_shared<const List>(std::move(list));
    Layout layout;
    layout.end_ = layout.pattern_.total = total;
    layout.pattern_.starts = kept->starts.data();
    if (!kept->units.empty()) {
        layout.pattern_.units = kept->units.data();
        layout.pattern_.unit_bytes = kept->unit_bytes;
    }
    Level level{kept->offsets.size(), 0, kept->offsets.data(), {}, true, false};
    for (std::size_t i = 1; i < kept->offsets.size() && level.ascending; ++i)
        level.ascending = kept->offsets[i] - static_cast<int128>(kept->offsets[i - 1]) >=
                          static_cast<int128>(kept->starts[i] - kept->starts[i - 1]);
    layout.pattern_.keep(kept);
    layout.pattern_.levels.push_front(level);
    layout.pattern_.summary = layout.pattern_.summarise(0, 0, level.count);
    return layout;
}

Layout Layout::concatenate(std::span<const Layout> parts) {
    const Layout* shape = nullptr;
    bool same = true;
    std::uint64_t blocks = 0;
    std::size_t count = 0;
    for (const Layout& part : parts) {
        if (part.empty()) continue;
        if (shape == nullptr) shape = &part;
        same = same && part.same_shape(*shape);
        blocks = std::min(blocks + part.block_count(), largest);
        ++count;
    }
    if (shape == nullptr) return {};
    if (count == 1) return *shape;
    if (same) {
        Offsets offsets;
        offsets.reserve(count);
        for (const Layout& part : parts) {
            if (part.empty()) continue;
            if (!fits(static_cast<int128>(part.pattern_.origin) - shape->pattern_.origin)) throw_offset();
            offsets.push_back(part.pattern_.origin - shape->pattern_.origin);
        }
        return shape->repeat_at(std::move(offsets));
    }
    check_listed(blocks);
    std::vector<ByteBlock> all;
    all.reserve(blocks);
    for (const Layout& part : parts)
        for (LayoutCursor cursor{part}; !cursor.done();) all.push_back(cursor.next());
    return list(all);
}

Layout Layout::of_ranges(std::span<const Range> ranges, std::span<const std::int64_t> extents,
                         std::uint64_t element_bytes) {
    for (const Range& range : ranges)
        if (range.empty()) return {};
    std::array<Dimension, max_dimensions> dimensions;
    check_bytes(1, element_bytes);
    int128 row = static_cast<int128>(element_bytes);
    int128 offset = 0;
    for (std::size_t d = ranges.size(); d-- > 0;) {
        const Range& range = ranges[d];
        if (range.first() < 0 || range.last() >= extents[d])
            throw RangeError{
                fmt::format("Layout of domain {}: dimension {} leaves [0, {}), the extent of the array there",
                            detail::datatype::domain_text(ranges.data(), ranges.size()), d, extents[d])};
        // Each product is of two values below 2^63 once the one before has passed.
        const int128 stride = range.size() == 1 ? 0 : row * range.stride();
        offset += row * range.first();
        if (!fits(stride) || !fits(offset)) throw_offset();
        dimensions[d] = {range.size(), static_cast<std::int64_t>(stride)};
        row *= extents[d];
        if (d > 0 && !fits(row)) throw_offset();
    }
    return strided(std::span{dimensions.data(), ranges.size()}, element_bytes, static_cast<std::int64_t>(offset));
}

Layout Layout::shift(std::int64_t distance) const {
    if (empty() || distance == 0) return *this;
    Layout layout = *this;
    if (__builtin_add_overflow(pattern_.origin, distance, &layout.pattern_.origin)) throw_offset();
    layout.pattern_.check_bounds();
    return layout;
}

Layout Layout::repeat(std::uint64_t count, std::int64_t stride) const {
    if (count == 0 || empty()) return {};
    if (count == 1) return *this;
    check_bytes(count, bytes());
    Layout layout = unsliced();
    if (layout.level_count() == 0 && static_cast<int128>(stride) == pattern_.block) {
        layout.become_block(layout.pattern_.origin, count * pattern_.block);
        layout.pattern_.check_bounds();
        return layout;
    }
    Level& outermost = layout.pattern_.levels[0];
    if (layout.level_count() > 0 && outermost.offsets == nullptr &&
        static_cast<int128>(stride) == static_cast<int128>(outermost.stride) * static_cast<int128>(outermost.count)) {
        // The outermost level goes on: the same level with more iterations.
        const Level inner = outermost;
        layout.pattern_.levels.pop_front();
        layout.pattern_.total = inner.inner.bytes;
        layout.pattern_.summary = inner.inner;
        layout.pattern_.wrap(inner.count * count, inner.stride, nullptr);
    } else {
        layout.pattern_.wrap(count, stride, nullptr);
    }
    layout.end_ = layout.pattern_.total;
    return layout;
}

Layout Layout::repeat_at(Offsets offsets) const {
    return repeat_at_shared(std::make_shared<const Offsets>(std::move(offsets)));
}

Layout Layout::repeat_at_shared(const std::shared_ptr<const Offsets>& shared) const {
    const Offsets& offsets = *shared;
    if (offsets.empty() || empty()) return {};
    check_bytes(offsets.size(), bytes());
    const auto distance = [&] {
        const int128 difference = static_cast<int128>(offsets[1]) - offsets[0];
        if (!fits(difference)) throw_offset();
        return static_cast<std::int64_t>(difference);
    };
    if (offsets.size() == 1) return shift(offsets[0]);
    const std::size_t length = progression(offsets);
    if (length == offsets.size()) return repeat(length, distance()).shift(offsets[0]);
    if (repeats(offsets, length)) {
        Offsets groups;
        groups.reserve(offsets.size() / length);
        for (std::size_t i = 0; i < offsets.size(); i += length) groups.push_back(offsets[i]);
        return repeat(length, distance()).repeat_at(std::move(groups));
    }
    Layout layout = unsliced();
    if (layout.level_count() == 0) {
        for (std::size_t i = 1; i < offsets.size(); ++i) {
            if (static_cast<int128>(offsets[i]) - offsets[i - 1] != layout.pattern_.block) continue;
            std::vector<ByteBlock> blocks;
            blocks.reserve(offsets.size());
            for (const std::int64_t offset : offsets) {
                if (!fits(static_cast<int128>(layout.pattern_.origin) + offset)) throw_offset();
                blocks.push_back({layout.pattern_.origin + offset, layout.pattern_.block});
            }
            return list(blocks);
        }
    }
    layout.pattern_.wrap(offsets.size(), 0, shared);
    layout.end_ = layout.pattern_.total;
    return layout;
}

Layout Layout::slice(std::uint64_t begin, std::uint64_t end) const {
    if (begin > end || end > bytes())
        throw RangeError{
            fmt::format("Layout::slice({}, {}): not a part of [0, {}), the bytes of the layout", begin, end, bytes())};
    if (begin == end) return {};
    Layout layout = *this;
    if (end - begin == bytes()) return layout;
    layout.end_ = begin_ + end;
    layout.begin_ = begin_ + begin;
    layout.trim();
    return layout;
}

Layout Layout::intersect(std::int64_t lower, std::int64_t upper) const {
    if (empty() || lower >= upper) return {};
    if (is_ascending()) {
        // The bytes before begin_ have lower offsets, and those from end_ on higher ones.
        const std::uint64_t begin = std::clamp(pattern_.bytes_below(lower), begin_, end_);
        const std::uint64_t end = std::clamp(pattern_.bytes_below(upper), begin_, end_);
        return slice(begin - begin_, end - begin_);
    }
    if (lower <= this->lower() && upper >= this->upper()) return *this;
    constexpr std::uint64_t most = 16 * max_listed_blocks; // each is looked at: some seconds
    if (block_count() > most)
        throw RangeError{
            fmt::format("Layout::intersect: the layout has {} blocks that do not ascend, so that each would "
                        "have to be looked at, and at most {} are; intersect its parts one by one",
                        block_count(), most)};
    std::vector<ByteBlock> inside;
    for (LayoutCursor cursor{*this}; !cursor.done();) {
        const ByteBlock block = cursor.next();
        const std::int64_t begin = std::max(block.offset, lower);
        const std::int64_t end = std::min(block.offset + static_cast<std::int64_t>(block.bytes), upper);
        if (begin >= end) continue;
        check_listed(inside.size() + 1);
        inside.push_back({begin, static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin)});
    }
    return list(inside);
}

std::vector<ByteBlock> Layout::listed() const {
    const std::uint64_t count = block_count();
    check_listed(count);
    std::vector<ByteBlock> blocks;
    blocks.reserve(count);
    for (LayoutCursor cursor{*this}; !cursor.done();) blocks.push_back(cursor.next());
    return blocks;
}

Layout Layout::unsliced() const {
    if (!is_whole()) return list(listed());
    Layout layout = *this;
    layout.pattern_.summary = pattern_.whole();
    layout.pattern_.summarised = true;
    return layout;
}

void Layout::Pattern::wrap(std::uint64_t count, std::int64_t stride, const std::shared_ptr<const Offsets>& offsets) {
    if (levels.size() == max_levels) merge_levels();
    Level level{count, stride, offsets == nullptr ? nullptr : offsets->data(), summary, true, false};
    const int128 height = static_cast<int128>(summary.upper) - summary.lower;
    const int128 join = static_cast<int128>(last_end(0)) - first_byte(0);
    int128 lowest = 0;
    int128 highest = 0;
    if (offsets == nullptr) {
        const int128 last = static_cast<int128>(stride) * static_cast<int128>(count - 1);
        lowest = std::min<int128>(0, last);
        highest = std::max<int128>(0, last);
        level.ascending = stride >= height;
        level.joined = stride == join;
    } else {
        lowest = highest = offsets->front();
        for (std::size_t i = 1; i < count; ++i) {
            const int128 distance = static_cast<int128>((*offsets)[i]) - (*offsets)[i - 1];
            level.ascending = level.ascending && distance >= height;
            level.joined = level.joined || distance == join;
            lowest = std::min<int128>(lowest, (*offsets)[i]);
            highest = std::max<int128>(highest, (*offsets)[i]);
        }
        keep(offsets);
    }
    if (!fits(lowest + summary.lower) || !fits(highest + summary.upper)) throw_offset();
    levels.push_front(level);
    joined = joined || level.joined;
    total = count * summary.bytes;
    summary = summarise(0, 0, count);
    check_bounds();
}

void Layout::Pattern::keep(std::shared_ptr<const void> list) {
    using Both = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    if (lists == nullptr) lists = std::move(list);
    else lists = std::make_shared<const Both>(std::move(lists), std::move(list));
}

void Layout::Pattern::merge_levels() {
    // The pair with the fewest iterations. There are enough levels that it need not be the innermost, which may be a
    // list.
    std::size_t k = 0;
    for (std::size_t i = 1; i + 2 < levels.size(); ++i)
        if (levels[i].count * levels[i + 1].count < levels[k].count * levels[k + 1].count) k = i;
    Level& outer = levels[k];
    const Level& inner = levels[k + 1];
    check_listed(outer.count * inner.count);
    const auto offsets = std::make_shared<Offsets>();
    offsets->reserve(outer.count * inner.count);
    for (std::uint64_t i = 0; i < outer.count; ++i)
        for (std::uint64_t j = 0; j < inner.count; ++j) offsets->push_back(add(outer.at(i), inner.at(j)));
    outer = {offsets->size(),
             0,
             offsets->data(),
             inner.inner,
             outer.ascending && inner.ascending,
             outer.joined || inner.joined};
    levels.erase(k + 1);
    keep(offsets);
}

void Layout::Pattern::check_bounds() const {
    const Summary all = whole();
    if (!fits(static_cast<int128>(origin) + all.lower) || !fits(static_cast<int128>(origin) + all.upper))
        throw_offset();
}

void Layout::become_block(std::int64_t offset, std::uint64_t bytes) noexcept {
    pattern_.levels.clear();
    pattern_.lists.reset();
    pattern_.starts = nullptr;
    pattern_.units = nullptr;
    pattern_.joined = false;
    pattern_.origin = offset;
    begin_ = 0;
    end_ = pattern_.total = pattern_.block = bytes;
    pattern_.summary = {bytes, 1, 0, static_cast<std::int64_t>(bytes)};
    pattern_.summarised = true;
}

void Layout::trim() noexcept {
    while (level_count() > 0) {
        Level& level = pattern_.levels[0];
        const std::uint64_t first = pattern_.iteration_of(0, begin_);
        const std::uint64_t last = pattern_.iteration_of(0, end_ - 1);
        const std::uint64_t before = pattern_.position_of(0, first);
        begin_ -= before;
        end_ -= before;
        if (first == last && !pattern_.is_list(0)) {
            pattern_.origin = add(pattern_.origin, level.at(first));
            pattern_.total = level.inner.bytes;
            pattern_.levels.pop_front();
            continue;
        }
        if (first == last)
            return become_block(add(add(pattern_.origin, level.at(first)), static_cast<std::int64_t>(begin_)), bytes());
        pattern_.total = pattern_.position_of(0, last + 1) - before;
        if (pattern_.starts != nullptr && level_count() == 1) pattern_.starts += first;
        if (level.offsets != nullptr) level.offsets += first;
        else pattern_.origin = add(pattern_.origin, level.at(first));
        level.count = last - first + 1;
        break;
    }
    if (level_count() == 0) return become_block(add(pattern_.origin, static_cast<std::int64_t>(begin_)), bytes());
    const Level& outermost = pattern_.levels[0];
    pattern_.summarised = outermost.offsets == nullptr || (outermost.ascending && !outermost.joined);
    if (pattern_.summarised) pattern_.summary = pattern_.summarise(0, 0, outermost.count);
    // Two blocks of neighbouring iterations that join.
    if (pattern_.joined && block_count() == 1) become_block(bounds().lower, bytes());
}

} // namespace lapwing
