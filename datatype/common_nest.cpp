#include "datatype/common_nest.hpp"

#include <algorithm>
#include <numeric>

namespace lapwing {

CommonNest::CommonNest(const Layout& target, const Layout& source) noexcept
    : to_first_{target.pattern_.origin}, from_first_{source.pattern_.origin} {
    if (!target.is_whole() || !source.is_whole() || target.pattern_.block == 0 || source.pattern_.block == 0 ||
        target.bytes() != source.bytes())
        return;
    block_bytes_ = std::gcd(target.pattern_.block, source.pattern_.block);
    if (!detail::kernels::transposes(block_bytes_)) return;

    /// The levels of one side, from the innermost: the parts of a block are one, too.
    struct Walk {
        const Layout& layout;
        std::size_t left;
        std::uint64_t count;
        std::int64_t stride;
        const std::int64_t* offsets = nullptr;

        Walk(const Layout& of, std::uint64_t bytes) noexcept
            : layout{of},
              left{of.level_count()},
              count{of.pattern_.block / bytes},
              stride{static_cast<std::int64_t>(bytes)} {}
        [[nodiscard]] bool next() noexcept {
            while (count == 1) {
                if (left == 0) return false;
                const Layout::Level& level = layout.pattern_.levels[--left];
                count = level.count;
                stride = level.offsets == nullptr ? level.stride : 0;
                offsets = level.offsets;
                // One iteration: at its offset.
                if (count == 1 && level.at(0) != 0) return false;
            }
            return true;
        }
        /// Takes `some` iterations of the level off, which divide it.
        void take(std::uint64_t some) noexcept {
            count /= some;
            stride *= static_cast<std::int64_t>(some);
            if (count == 1) offsets = nullptr;
        }
    };
    Walk to{target, block_bytes_};
    Walk from{source, block_bytes_};
    std::uint64_t elements = block_bytes_;
    while (to.next() && from.next()) {
        const std::uint64_t some = std::min(to.count, from.count);
        const auto cut = [some](const Walk& side) {
            return side.count % some != 0 || (side.offsets != nullptr && side.count != some);
        };
        if (cut(to) || cut(from) || count_ == most_levels) {
            count_ = 0;
            return;
        }
        add({some, to.stride, from.stride, to.offsets, from.offsets});
        elements *= some;
        to.take(some);
        from.take(some);
    }
    if (elements != target.bytes()) count_ = 0; // levels that are no such ones
    find_plane();
}

void CommonNest::add(const Level& level) noexcept {
    const bool regular = level.to_offsets == nullptr && level.from_offsets == nullptr;
    if (count_ > 0 && regular) {
        Level& inner = levels_[count_ - 1];
        const auto inside = static_cast<std::int64_t>(inner.count);
        if (inner.to_offsets == nullptr && inner.from_offsets == nullptr &&
            level.to_stride == inner.to_stride * inside && level.from_stride == inner.from_stride * inside) {
            inner.count *= level.count;
            return;
        }
    }
    levels_[count_++] = level;
}

void CommonNest::find_plane() noexcept {
    const auto block = static_cast<std::int64_t>(block_bytes_);
    const auto begin = levels_.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(count_);
    const auto regular = [](const Level& level) {
        return level.to_offsets == nullptr && level.from_offsets == nullptr;
    };
    const auto to =
        std::find_if(begin, end, [&](const Level& level) { return regular(level) && level.to_stride == block; });
    const auto from =
        std::find_if(begin, end, [&](const Level& level) { return regular(level) && level.from_stride == block; });
    constexpr std::uint64_t least_elements = 32; // a plane of fewer does not repay its call
    if (to == end || from == end || to == from || to->count * from->count < least_elements || to->count < 4 ||
        from->count < 4)
        return;
    along_to_ = static_cast<std::size_t>(to - begin);
    along_from_ = static_cast<std::size_t>(from - begin);
}

void CommonNest::transpose(std::byte* to, const std::byte* from, detail::kernels::Reuse reuse) const noexcept {
    transpose_levels(to + to_first_, from + from_first_, count_, reuse);
}

void CommonNest::transpose_levels(std::byte* to, const std::byte* from, std::size_t outer,
                                  detail::kernels::Reuse reuse) const noexcept {
    while (outer > 0 && (outer - 1 == along_to_ || outer - 1 == along_from_)) --outer;
    if (outer == 0) {
        const Level& rows = levels_[along_to_];
        const Level& columns = levels_[along_from_];
        detail::kernels::transpose(to, columns.to_stride, from, rows.from_stride, rows.count, columns.count,
                                   block_bytes_, reuse);
        return;
    }
    const auto at = [](const std::int64_t* offsets, std::int64_t stride, std::uint64_t k) {
        return offsets != nullptr ? offsets[k] : stride * static_cast<std::int64_t>(k);
    };
    const auto step = [&](const Level& level, std::uint64_t k, std::byte*& there, const std::byte*& here) {
        there += at(level.to_offsets, level.to_stride, k);
        here += at(level.from_offsets, level.from_stride, k);
    };
    const Level& level = levels_[outer - 1];
    std::size_t inner = outer - 1;
    while (inner > 0 && (inner - 1 == along_to_ || inner - 1 == along_from_)) --inner;
    // Two levels around the planes, as when blocks are distributed cyclically in both dimensions: in squares, so that
    // the pages of both sides stay in the TLB.
    std::size_t more = inner > 0 ? inner - 1 : 0;
    while (more > 0 && (more - 1 == along_to_ || more - 1 == along_from_)) --more;
    if (inner > 0 && more == 0) {
        constexpr std::uint64_t square = 16;
        const Level& second = levels_[inner - 1];
        for (std::uint64_t top = 0; top < level.count; top += square)
            for (std::uint64_t left = 0; left < second.count; left += square)
                for (std::uint64_t i = top; i < std::min(level.count, top + square); ++i)
                    for (std::uint64_t j = left; j < std::min(second.count, left + square); ++j) {
                        std::byte* there = to;
                        const std::byte* here = from;
                        step(level, i, there, here);
                        step(second, j, there, here);
                        transpose_levels(there, here, 0, reuse);
                    }
        return;
    }
    for (std::uint64_t k = 0; k < level.count; ++k) {
        std::byte* there = to;
        const std::byte* here = from;
        step(level, k, there, here);
        transpose_levels(there, here, outer - 1, reuse);
    }
}

} // namespace lapwing
