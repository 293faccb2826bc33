#include <lapwing/detail/layout_cursor.hpp>

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace lapwing {

void LayoutCursor::seek(std::uint64_t position) noexcept {
    const Layout& layout = *layout_;
    position_ = layout.begin_ + position;
    const std::size_t levels = layout.level_count();
    innermost_ = levels == 0 ? 0 : levels - 1;
    base_[0] = layout.pattern_.origin;
    index_[0] = 0;
    in_block_ = position_;
    if (position_ == layout.pattern_.total) {
        // There is no block after the last byte; nothing reads its place.
        in_block_ = 0;
        return;
    }
    for (std::size_t k = 0; k < levels; ++k) {
        index_[k] = layout.pattern_.iteration_of(k, in_block_);
        in_block_ -= layout.pattern_.position_of(k, index_[k]);
        if (k + 1 < levels) base_[k + 1] = Layout::add(base_[k], layout.pattern_.levels[k].at(index_[k]));
    }
}

void LayoutCursor::carry() noexcept {
    const Layout& layout = *layout_;
    std::size_t k = innermost_;
    index_[k] = 0;
    while (k > 0) {
        --k;
        if (++index_[k] < layout.pattern_.levels[k].count) {
            for (; k < innermost_; ++k) base_[k + 1] = Layout::add(base_[k], layout.pattern_.levels[k].at(index_[k]));
            return;
        }
        index_[k] = 0;
    }
}

void LayoutCursor::skip(std::uint64_t bytes) noexcept {
    if (bytes == 0) return;
    const std::uint64_t rest = block_bytes() - in_block_;
    if (bytes <= rest) return step(bytes);
    const Layout& layout = *layout_;
    const std::uint64_t last = layout.pattern_.levels[innermost_].count;
    if (layout.pattern_.block != 0) {
        // Whole blocks of the innermost level, the usual case, need no search.
        const std::uint64_t blocks = (in_block_ + bytes) / layout.pattern_.block;
        if (blocks <= last - index_[innermost_]) {
            position_ += bytes;
            in_block_ = (in_block_ + bytes) - blocks * layout.pattern_.block;
            index_[innermost_] += blocks;
            if (index_[innermost_] != last) return;
            // Into the next iteration: what is left is less than one block, and all blocks are of one size.
            return carry();
        }
    } else if (in_block_ == 0 && bytes == layout.pattern_.starts[last] - layout.pattern_.starts[index_[innermost_]]) {
        position_ += bytes;
        return carry();
    }
    seek(position() + bytes);
}

BlockRun LayoutCursor::peek_run(std::uint64_t limit) const noexcept {
    limit = std::min(limit, remaining());
    if (limit == 0) return {};
    const Layout& layout = *layout_;
    const Layout::Level& level = layout.pattern_.levels[innermost_];
    const std::uint64_t index = index_[innermost_];
    if (layout.pattern_.units != nullptr) {
        const std::uint64_t at = layout.pattern_.starts[index] + in_block_;
        const std::uint64_t count =
            std::min(layout.pattern_.starts[level.count] - at, limit) / layout.pattern_.unit_bytes;
        if (count > 1 && at % layout.pattern_.unit_bytes == 0)
            return {base_[innermost_],
                    layout.pattern_.unit_bytes,
                    count,
                    0,
                    layout.pattern_.units + at / layout.pattern_.unit_bytes,
                    nullptr};
    }
    const std::uint64_t rest = block_bytes() - in_block_;
    if (in_block_ != 0 || limit < rest)
        return {block_offset() + static_cast<std::int64_t>(in_block_), std::min(rest, limit), 1, 0, nullptr, nullptr};

    if (layout.pattern_.starts != nullptr) {
        const std::uint64_t* const starts = layout.pattern_.starts + index;
        std::uint64_t count = level.count - index;
        if (starts[count] - starts[0] > limit)
            count = static_cast<std::uint64_t>(std::upper_bound(starts + 1, starts + count, starts[0] + limit) -
                                               (starts + 1));
        if (count == 1) return {block_offset(), rest, 1, 0, nullptr, nullptr};
        return {base_[innermost_], 0, count, 0, level.offsets + index, starts};
    }
    const std::uint64_t count = std::min(level.count - index, limit / layout.pattern_.block);
    if (level.offsets != nullptr && count > 1)
        return {base_[innermost_], layout.pattern_.block, count, 0, level.offsets + index, nullptr};
    return {block_offset(), layout.pattern_.block, count, count == 1 ? 0 : level.stride, nullptr, nullptr};
}

LayoutZip::LayoutZip(const Layout& source, const Layout& target) : source_{source}, target_{target} {
    if (source.bytes() != target.bytes())
        throw RangeError{
            fmt::format("the layouts of a transfer differ in size: {} bytes at the source, {} at the target; "
                        "both sides must hold the same number of bytes",
                        source.bytes(), target.bytes())};
}

BlockPair LayoutZip::next(std::uint64_t limit) noexcept {
    limit = std::min(limit, remaining());
    if (limit == 0) return {};
    const auto at = [](const LayoutCursor& cursor) {
        return cursor.block_offset() + static_cast<std::int64_t>(cursor.in_block_);
    };
    BlockPair pair{at(source_), at(target_), 0};
    for (;;) {
        const std::uint64_t bytes =
            std::min({source_.block_bytes() - source_.in_block_, target_.block_bytes() - target_.in_block_, limit});
        source_.step(bytes);
        target_.step(bytes);
        pair.bytes += bytes;
        limit -= bytes;
        if (limit == 0) return pair;
        // Both go on where they were: a block of one ended, and its next one is adjacent.
        const auto so_far = static_cast<std::int64_t>(pair.bytes);
        if (at(source_) != pair.source + so_far || at(target_) != pair.target + so_far) return pair;
    }
}

PairRun LayoutZip::next_run(std::uint64_t limit) noexcept {
    const auto one_size = [](BlockRun run) {
        if (run.starts == nullptr) return run;
        const ByteBlock block = run[0];
        return BlockRun{block.offset, block.bytes, 1, 0, nullptr, nullptr};
    };
    BlockRun source = one_size(source_.peek_run(limit));
    BlockRun target = one_size(target_.peek_run(limit));
    if (source.count == 0) return {};
    const std::uint64_t bytes = std::min(source.block_bytes, target.block_bytes);
    const auto cut = [bytes](BlockRun& run) {
        if (run.block_bytes == bytes) return;
        const std::uint64_t units = run.block_bytes / bytes;
        run = {run[0].offset, bytes, units, static_cast<std::int64_t>(bytes), nullptr, nullptr};
    };
    cut(source);
    cut(target);
    source.count = target.count = std::min(source.count, target.count);
    source_.skip(source.count * bytes);
    target_.skip(source.count * bytes);
    return {source, target};
}

} // namespace lapwing
