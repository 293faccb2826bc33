// Room: datatype
#pragma once

#include <lapwing/layout.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace lapwing {

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// Consecutive blocks of a layout, or equal units of them, in a form that a copy kernel can take in one call:
///
/// | form | block i is at | bytes of block i |
/// |---|---|---|
/// | `offsets` null | offset + i * stride | block_bytes |
/// | `offsets` set, `starts` null | offset + offsets[i] | block_bytes |
/// | `starts` set | offset + offsets[i] | starts[i + 1] - starts[i]; packed it begins at starts[i] - starts[0] |
struct BlockRun {
    std::int64_t offset = 0;
    std::uint64_t block_bytes = 0;
    std::uint64_t count = 0;
    std::int64_t stride = 0;
    const std::int64_t* offsets = nullptr;
    const std::uint64_t* starts = nullptr;

    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return starts != nullptr ? starts[count] - starts[0] : count * block_bytes;
    }
    [[nodiscard]] ByteBlock operator[](std::uint64_t i) const noexcept {
        return {offset + (offsets != nullptr ? offsets[i] : static_cast<std::int64_t>(i) * stride),
                starts != nullptr ? starts[i + 1] - starts[i] : block_bytes};
    }
};

/// A position in a layout that goes through its bytes in order. Never allocates. The layout must outlive it.
///
/// Moving on by a block costs O(1) amortised, seek() O(levels + log n) where a level is a list of n.
class LayoutCursor {
public:
    explicit LayoutCursor(const Layout& layout) noexcept : layout_{&layout} { seek(0); }
    explicit LayoutCursor(const Layout&&) = delete;

    [[nodiscard]] const Layout& layout() const noexcept { return *layout_; }
    /// Bytes of the layout before and after the cursor.
    [[nodiscard]] std::uint64_t position() const noexcept { return position_ - layout_->begin_; }
    [[nodiscard]] std::uint64_t remaining() const noexcept { return layout_->end_ - position_; }
    [[nodiscard]] bool done() const noexcept { return remaining() == 0; }

    /// Goes to byte `position` of the layout, at most layout().bytes().
    void seek(std::uint64_t position) noexcept;
    /// Moves on by at most remaining() bytes.
    void skip(std::uint64_t bytes) noexcept;

    /// The bytes from here on that are contiguous in memory, at most `limit`, and moves past them; without bytes at
    /// the end. From the start, and without a limit, these are the maximal blocks.
    [[nodiscard]] ByteBlock next(std::uint64_t limit = no_limit) noexcept {
        limit = std::min(limit, remaining());
        if (limit == 0) return {};
        ByteBlock block{block_offset() + static_cast<std::int64_t>(in_block_), 0};
        for (;;) {
            const std::uint64_t bytes = std::min(block_bytes() - in_block_, limit);
            step(bytes);
            block.bytes += bytes;
            limit -= bytes;
            // An outer iteration may begin where the one before ended.
            if (limit == 0 || !layout_->pattern_.joined ||
                block_offset() != block.offset + static_cast<std::int64_t>(block.bytes))
                return block;
        }
    }

    /// As many blocks from here on as can be described in one go, at most `limit` bytes, and moves past them. A block
    /// that the cursor, the end of the layout or the limit cuts is a run of its own. So that runs stay long, neighbours
    /// are not joined across levels, and a list whose blocks consist of equal units is given in those; without blocks
    /// at the end.
    [[nodiscard]] BlockRun next_run(std::uint64_t limit = no_limit) noexcept {
        const BlockRun run = peek_run(limit);
        skip(run.bytes());
        return run;
    }
    /// The same without moving.
    [[nodiscard]] BlockRun peek_run(std::uint64_t limit = no_limit) const noexcept;

private:
    friend class LayoutZip;

    [[nodiscard]] std::int64_t block_offset() const noexcept {
        return Layout::add(base_[innermost_], layout_->pattern_.levels[innermost_].at(index_[innermost_]));
    }
    [[nodiscard]] std::uint64_t block_bytes() const noexcept {
        const std::uint64_t* starts = layout_->pattern_.starts;
        return starts == nullptr ? layout_->pattern_.block
                                 : starts[index_[innermost_] + 1] - starts[index_[innermost_]];
    }
    /// Moves on within the block, or to its end, which is the start of the next.
    void step(std::uint64_t bytes) noexcept {
        position_ += bytes;
        in_block_ += bytes;
        if (in_block_ != block_bytes()) return;
        in_block_ = 0;
        if (++index_[innermost_] == layout_->pattern_.levels[innermost_].count) carry();
    }
    /// The innermost level is at its end: moves on in the levels around it.
    void carry() noexcept;

    const Layout* layout_;
    std::uint64_t position_ = 0; ///< in the pattern of the layout, of which the layout may be a part
    std::uint64_t in_block_ = 0;
    std::size_t innermost_ = 0; ///< with no level at all, level 0 stands for one iteration
    std::array<std::uint64_t, Layout::max_levels> index_;
    std::array<std::int64_t, Layout::max_levels> base_; ///< offset of the iteration of the levels before each
};

/// Bytes that are contiguous in the source and in the target: one put or get.
struct BlockPair {
    std::int64_t source = 0;
    std::int64_t target = 0;
    std::uint64_t bytes = 0;

    friend constexpr bool operator==(const BlockPair&, const BlockPair&) = default;
};

/// Consecutive copies of the same size, `source[i]` to `target[i]`: the count and the block size of both are equal, and
/// neither has `starts`.
struct PairRun {
    BlockRun source;
    BlockRun target;
};

/// Goes through two layouts of the same number of bytes together: byte k of the source with byte k of the target. Never
/// allocates. The layouts must outlive it.
class LayoutZip {
public:
    /// RangeError when the numbers of bytes differ.
    LayoutZip(const Layout& source, const Layout& target);
    LayoutZip(const Layout&& source, const Layout& target) = delete;
    LayoutZip(const Layout& source, const Layout&& target) = delete;
    LayoutZip(const Layout&& source, const Layout&& target) = delete;

    [[nodiscard]] std::uint64_t position() const noexcept { return source_.position(); }
    [[nodiscard]] std::uint64_t remaining() const noexcept { return source_.remaining(); }
    [[nodiscard]] bool done() const noexcept { return source_.done(); }
    void seek(std::uint64_t position) noexcept {
        source_.seek(position);
        target_.seek(position);
    }

    /// The bytes from here on that are contiguous on both sides, at most `limit`, and moves past them; without bytes
    /// at the end.
    [[nodiscard]] BlockPair next(std::uint64_t limit = no_limit) noexcept;
    /// As many equal copies from here on as can be described in one go, at most `limit` bytes, and moves past them.
    /// A block that is longer on one side than on the other counts there as several with the shorter one's stride.
    [[nodiscard]] PairRun next_run(std::uint64_t limit = no_limit) noexcept;

private:
    LayoutCursor source_;
    LayoutCursor target_;
};

} // namespace lapwing
