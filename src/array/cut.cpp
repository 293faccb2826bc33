#include <lapwing/patch.hpp>

#include <lapwing/extents.hpp>

#include <algorithm>
#include <numeric>

namespace lapwing::array {

namespace {

/// The indices of one dimension of a domain as segments: each at one process, regular in its memory and in the buffer.
/// Segments are computed from their number, so that nothing is stored.
class Segments {
public:
    struct Segment {
        int process = 0;
        std::uint64_t local = 0;    ///< place of the first element in the process's part of the dimension
        std::uint64_t position = 0; ///< of the first element in the domain
        PieceLevel level;           ///< strides in elements of this dimension
    };

    Segments() = default;
    Segments(const DimensionMap& map, const Range& range)
        : map_{&map}, first_{static_cast<std::uint64_t>(range.first())}, size_{range.size()},
          stride_{static_cast<std::uint64_t>(range.stride())}, by_block_{stride_ < map.block()} {
        if (by_block_) {
            first_block_ = first_ / map.block();
            count_ = static_cast<std::uint64_t>(range.last()) / map.block() - first_block_ + 1;
            return;
        }
        // Every block has at most one of the indices. Those that are `period_` apart lie at the same process and place in
        // the block, a fixed number of rounds apart. With block size 1 that is all that a process has.
        const uint128 round = static_cast<uint128>(map.block()) * map.by_processes.divisor();
        const uint128 period = round / greatest_common_divisor(round, stride_);
        period_ = period < size_ ? static_cast<std::uint64_t>(period) : size_;
        count_ = period_;
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    [[nodiscard]] Segment operator[](std::uint64_t k) const noexcept {
        const std::uint64_t processes = map_->by_processes.divisor();
        const std::uint64_t size = map_->block();
        Segment segment;
        if (by_block_) {
            const std::uint64_t block = first_block_ + k;
            const std::uint64_t begin = block * size;
            segment.position = begin <= first_ ? 0 : (begin - first_ - 1) / stride_ + 1;
            const std::uint64_t index = first_ + segment.position * stride_;
            segment.process = static_cast<int>(block % processes);
            segment.local = block / processes * size + (index - begin);
            segment.level = {std::min((begin + size - 1 - index) / stride_ + 1, size_ - segment.position), stride_, 1};
            return segment;
        }
        segment.position = k;
        const std::uint64_t index = first_ + k * stride_;
        const std::uint64_t block = index / size;
        segment.process = static_cast<int>(block % processes);
        segment.local = block / processes * size + index % size;
        segment.level.count = (size_ - k - 1) / period_ + 1;
        segment.level.buffer_stride = period_;
        if (segment.level.count > 1) {
            const std::uint64_t next = (index + period_ * stride_) / size;
            segment.level.owner_stride = (next / processes - block / processes) * size;
        }
        return segment;
    }

private:
    static uint128 greatest_common_divisor(uint128 a, uint128 b) noexcept {
        while (b != 0) {
            a %= b;
            std::swap(a, b);
        }
        return a;
    }

    const DimensionMap* map_ = nullptr;
    std::uint64_t first_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t stride_ = 1;
    bool by_block_ = false;
    std::uint64_t first_block_ = 0;
    std::uint64_t period_ = 1;
    std::uint64_t count_ = 0;
};

} // namespace

void cut(std::span<const DimensionMap> dimensions, std::span<const Range> domain, std::uint64_t buffer_offset,
         std::span<const std::uint64_t> buffer_strides, PieceVisitor& visitor) {
    const std::size_t count = dimensions.size();
    std::array<Segments, max_dimensions> segments;
    for (std::size_t d = 0; d < count; ++d) {
        if (domain[d].empty()) return;
        segments[d] = Segments{dimensions[d], domain[d]};
    }

    // All combinations of a segment per dimension, the last dimension fastest. What the dimensions before d add up to is
    // kept, so that a step costs one segment.
    struct Sum {
        int owner = 0;
        std::uint64_t owner_offset = 0;
        std::uint64_t buffer_offset = 0;
    };
    std::array<Sum, max_dimensions + 1> sums{};
    sums[0].buffer_offset = buffer_offset;
    std::array<std::uint64_t, max_dimensions> k{};
    std::array<PieceLevel, max_dimensions> levels;
    for (std::size_t d = 0;;) {
        const Segments::Segment segment = segments[d][k[d]];
        const DimensionMap& dimension = dimensions[d];
        sums[d + 1] = {sums[d].owner + segment.process * dimension.rank_stride,
                       sums[d].owner_offset + segment.local * dimension.local_stride,
                       sums[d].buffer_offset + segment.position * buffer_strides[d]};
        levels[d] = {segment.level.count, segment.level.owner_stride * dimension.local_stride,
                     segment.level.buffer_stride * buffer_strides[d]};
        if (d + 1 < count) {
            k[++d] = 0;
            continue;
        }
        visitor.visit({sums[count].owner, sums[count].owner_offset, sums[count].buffer_offset, {levels.data(), count}});
        while (++k[d] == segments[d].count()) {
            if (d == 0) return;
            --d;
        }
    }
}

} // namespace lapwing::array
