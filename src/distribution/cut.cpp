#include <lapwing/detail/sections.hpp>

#include <lapwing/extents.hpp>

#include <algorithm>
#include <numeric>

namespace lapwing::detail::distribution {

namespace {

/// The indices of one dimension of a domain, cut into slices: each is at one process, and regular both in its memory
/// and in the buffer. A slice is computed from its number, so nothing is stored.
class Slices {
public:
    struct Slice {
        int process = 0;
        std::uint64_t local = 0;    ///< place of the first element in the process's segment of the dimension
        std::uint64_t position = 0; ///< of the first element in the domain
        SectionLevel blocks;        ///< from block to block; strides in elements of this dimension
        SectionLevel in_block;
    };

    Slices() = default;
    Slices(const DimensionMap& map, const Range& range)
        : map_{&map},
          first_{static_cast<std::uint64_t>(range.first())},
          size_{range.size()},
          stride_{static_cast<std::uint64_t>(range.stride())},
          by_block_{stride_ < map.block()} {
        const std::uint64_t block = map.block();
        const auto last = static_cast<std::uint64_t>(range.last());
        first_block_ = map.by_block.quotient(first_);
        last_block_ = map.by_block.quotient(last);
        if (first_block_ == last_block_) {
            by_block_ = true;
            count_ = edges_before_ = 1;
            return;
        }
        // Blocks that are `period_` apart are at the same process and contain the same part of the domain, a fixed
        // number of rounds apart.
        const uint128 round = static_cast<uint128>(block) * map.by_processes.divisor();
        const uint128 common = stride_ == 1 ? 1 : greatest_common_divisor(round, stride_);
        const uint128 rounds = stride_ / common;
        if (!by_block_) {
            // Every block contains at most one of the indices, so the indices are counted, not the blocks. With block
            // size 1 a process has a single slice.
            count_ = period_ = static_cast<std::uint64_t>(std::min<uint128>(round / common, size_));
            return;
        }
        // Blocks at the ends that are only partly in the domain are slices of their own.
        const bool begins_inside = first_ - first_block_ * block >= stride_;
        const bool ends_inside = last + stride_ < (last_block_ + 1) * block;
        edges_before_ = begins_inside ? 1 : 0;
        whole_ = last_block_ + 1 - first_block_ - edges_before_ - (ends_inside ? 1 : 0);
        period_ = static_cast<std::uint64_t>(std::min<uint128>(map.by_processes.divisor() * rounds, whole_));
        count_ = edges_before_ + period_ + (ends_inside ? 1 : 0);
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    [[nodiscard]] Slice operator[](std::uint64_t k) const noexcept {
        const std::uint64_t processes = map_->by_processes.divisor();
        const std::uint64_t size = map_->block();
        if (by_block_) {
            if (k < edges_before_) return of_block(first_block_);
            const std::uint64_t group = k - edges_before_;
            if (group >= period_) return of_block(last_block_);
            Slice slice = of_block(first_block_ + k);
            slice.blocks.count = (whole_ - group - 1) / period_ + 1;
            if (slice.blocks.count > 1) {
                slice.blocks.owner_stride = period_ / processes * size;
                slice.blocks.buffer_stride = period_ * size / stride_;
            }
            return slice;
        }
        Slice slice;
        slice.position = k;
        const std::uint64_t index = first_ + k * stride_;
        const std::uint64_t block = index / size;
        slice.process = static_cast<int>(block % processes);
        slice.local = block / processes * size + index % size;
        slice.blocks.count = (size_ - k - 1) / period_ + 1;
        slice.blocks.buffer_stride = period_;
        if (slice.blocks.count > 1) {
            const std::uint64_t next = (index + period_ * stride_) / size;
            slice.blocks.owner_stride = (next / processes - block / processes) * size;
        }
        return slice;
    }

private:
    static uint128 greatest_common_divisor(uint128 a, uint128 b) noexcept {
        while (b != 0) {
            a %= b;
            std::swap(a, b);
        }
        return a;
    }

    /// The part of a block that is in the domain.
    [[nodiscard]] Slice of_block(std::uint64_t block) const noexcept {
        const std::uint64_t size = map_->block();
        const std::uint64_t begin = block * size;
        Slice slice;
        slice.position = begin <= first_ ? 0 : (begin - first_ - 1) / stride_ + 1;
        const std::uint64_t index = first_ + slice.position * stride_;
        const Reciprocal::Result dealt = map_->by_processes.divide(block);
        slice.process = static_cast<int>(dealt.remainder);
        slice.local = dealt.quotient * size + (index - begin);
        slice.in_block = {std::min((begin + size - 1 - index) / stride_ + 1, size_ - slice.position), stride_, 1};
        return slice;
    }

    const DimensionMap* map_ = nullptr;
    std::uint64_t first_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t stride_ = 1;
    bool by_block_ = false; ///< whether a block may have more than one of the indices
    std::uint64_t first_block_ = 0;
    std::uint64_t last_block_ = 0;
    std::uint64_t edges_before_ = 0; ///< slices before those of whole blocks: 0 or 1
    std::uint64_t whole_ = 0;        ///< blocks of which the domain has the same as of those a period away
    std::uint64_t period_ = 0;       ///< in blocks, or, where each has one index at most, in indices
    std::uint64_t count_ = 0;
};

/// A section of one slice per dimension, which are added from the last dimension to the first: how long the owner's
/// rows are depends on its place in the dimensions that follow.
class SectionOfSlices {
public:
    SectionOfSlices(std::uint64_t owner_offset, std::uint64_t buffer_offset) noexcept
        : section_{.owner_offset = owner_offset, .buffer_offset = buffer_offset, .levels = {}} {}

    void add(const Slices::Slice& slice, const DimensionMap& dimension, std::uint64_t buffer_stride) noexcept {
        section_.owner += slice.process * dimension.rank_stride;
        section_.owner_offset += slice.local * row_;
        section_.buffer_offset += slice.position * buffer_stride;
        for (const SectionLevel& level : {slice.in_block, slice.blocks})
            if (level.count > 1)
                levels_[--outermost_] = {level.count, level.owner_stride * row_, level.buffer_stride * buffer_stride};
        row_ *= dimension.room(static_cast<std::uint64_t>(slice.process));
    }
    void visit(SectionVisitor& visitor) {
        section_.levels = std::span{levels_}.subspan(outermost_);
        visitor.visit(section_);
    }

private:
    Section section_;
    std::uint64_t row_ = 1; ///< elements of the owner's in the dimensions that were added
    std::size_t outermost_ = max_section_levels;
    std::array<SectionLevel, max_section_levels> levels_;
};

} // namespace

void cut(std::span<const DimensionMap> dimensions, std::uint64_t origin, std::span<const Range> domain,
         std::uint64_t buffer_offset, std::span<const std::uint64_t> buffer_strides, SectionVisitor& visitor) {
    const std::size_t count = dimensions.size();
    for (std::size_t d = 0; d < count; ++d)
        if (domain[d].empty()) return;

    // Most domains are at one process.
    SectionOfSlices only{origin, buffer_offset};
    for (std::size_t d = count;;) {
        if (d-- == 0) return only.visit(visitor);
        const Slices slices{dimensions[d], domain[d]};
        if (slices.count() > 1) break;
        only.add(slices[0], dimensions[d], buffer_strides[d]);
    }

    // All combinations of one slice per dimension, the last dimension fastest. The slices of the earlier dimensions are
    // kept, so that each step computes one.
    std::array<Slices, max_dimensions> slices;
    for (std::size_t d = 0; d < count; ++d) slices[d] = Slices{dimensions[d], domain[d]};
    std::array<Slices::Slice, max_dimensions> chosen;
    std::array<std::uint64_t, max_dimensions> k{};
    for (std::size_t d = 0;;) {
        chosen[d] = slices[d][k[d]];
        if (d + 1 < count) {
            k[++d] = 0;
            continue;
        }
        SectionOfSlices section{origin, buffer_offset};
        for (std::size_t e = count; e-- > 0;) section.add(chosen[e], dimensions[e], buffer_strides[e]);
        section.visit(visitor);
        while (++k[d] == slices[d].count()) {
            if (d == 0) return;
            --d;
        }
    }
}

} // namespace lapwing::detail::distribution
