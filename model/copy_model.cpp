#include "model/copy_model.hpp"

#include "datatype/block_copy.hpp"
#include "model/typical_time.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/layout.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <unistd.h>
#include <utility>
#include <vector>

namespace lapwing::detail::model {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double page_bytes = 4096;
constexpr double line = CopyModel::line_bytes;

/// Time of a block during which the kernel runs beside the fetching of its lines.
double beside(double kernel, double fetching) {
    return std::cbrt(kernel * kernel * kernel + fetching * fetching * fetching);
}
/// The fetching's part: beside(kernel, alone(kernel, both)) == both.
double alone(double kernel, double both) {
    return both > kernel ? std::cbrt(both * both * both - kernel * kernel * kernel) : 0;
}

/// How much longer a page table walk takes because the page table entries leave the cache.
double walk_stretch(double pages, double cache_bytes) {
    constexpr double entry_bytes = 8;
    return 1 + std::min(4 * entry_bytes * pages / cache_bytes, 1.0);
}

/// Blocks of a layout copied between memory and a packed buffer; every copy starts at another position in the memory.
class Sample {
public:
    Sample(std::byte* memory, std::uint64_t memory_bytes, std::byte* packed)
        : memory_{memory}, bytes_{memory_bytes}, packed_{packed} {}

    /// Typical seconds of packing the layout, or the mean of packing and unpacking.
    double measure(const Layout& layout, bool both, double seconds) {
        double sum = 0;
        for (const bool unpacking : {false, true}) {
            if (unpacking && !both) break;
            std::vector<double> times;
            const auto begin = Clock::now();
            for (int n = 0; n < 7 || (n < 1000 && seconds_since(begin) < seconds); ++n) {
                if (layout.span() > bytes_ - at_) at_ = 0;
                LayoutCursor cursor{layout};
                const auto start = Clock::now();
                if (unpacking) datatype::unpack(memory_ + at_, cursor, packed_, layout.bytes());
                else datatype::pack(packed_, memory_ + at_, cursor, layout.bytes());
                asm volatile("" : : "r"(packed_), "r"(memory_) : "memory");
                times.push_back(seconds_since(start));
                at_ += layout.span();
            }
            sum += typical_time(std::move(times));
        }
        return both ? sum / 2 : sum;
    }

private:
    std::byte* memory_;
    std::uint64_t bytes_;
    std::byte* packed_;
    std::uint64_t at_ = 0;
};

/// Blocks about every `stride` bytes, none of them adjacent.
Layout irregular(std::uint64_t count, std::uint64_t length, std::uint64_t stride) {
    Layout::Offsets offsets;
    std::mt19937_64 random;
    for (std::uint64_t i = 0; i < count; ++i)
        offsets.push_back(static_cast<std::int64_t>(i * stride + random() % (stride - length)));
    return Layout::indexed(std::move(offsets), length);
}

/// Blocks of 1 to `2 * length - 1` bytes, about every `2 * length`.
Layout of_many_lengths(std::uint64_t count, std::uint64_t length) {
    std::vector<ByteBlock> blocks;
    std::mt19937_64 random;
    for (std::uint64_t i = 0; i < count; ++i)
        blocks.push_back({static_cast<std::int64_t>(i * 2 * length), 1 + random() % (2 * length - 1)});
    return Layout::list(blocks);
}

} // namespace

double CopyModel::block_time(double length) const noexcept {
    if (length <= 1) return block.front();
    const auto above = static_cast<std::size_t>(
        std::ranges::find_if(lengths, [&](std::uint64_t l) { return static_cast<double>(l) >= length; }) -
        lengths.begin());
    if (above == lengths.size()) return block.back() * length / static_cast<double>(lengths.back());
    const auto low = static_cast<double>(lengths[above - 1]);
    const auto high = static_cast<double>(lengths[above]);
    return block[above - 1] + (block[above] - block[above - 1]) * (length - low) / (high - low);
}

double CopyModel::time(const BlockShape& shape, std::uint64_t part) const noexcept {
    if (shape.blocks == 0 || shape.bytes == 0) return 0;
    const auto all_blocks = static_cast<double>(std::max(shape.blocks, shape.units));
    const double length = static_cast<double>(shape.bytes) / all_blocks;
    const double blocks = static_cast<double>(part) / length;
    const double listed = shape.places == Places::listed ? 1 : 0;
    const double indexed = shape.places == Places::regular ? 0 : 1;
    const double kernel = block_time(length) + indexed * offset + listed * list;

    const auto extent = static_cast<double>(shape.extent_bytes);
    const double stride = shape.blocks > 1 ? (extent - length) / (all_blocks - 1) : extent;
    // Lines that a block fetches: blocks that are close share lines, and a block begins anywhere in a line.
    const double own = 1 + (length - 1) / line;
    const double lines = std::min(own, std::max(stride, length) / line);
    const double list_lines = (indexed + listed) * 8 / line;

    // In the cache, outside it, and a gradual change between: caches are shared, and nobody empties them at once.
    // Regular strides with many factors of 2 map to few sets of the cache; beyond the reach of the TLB each page
    // costs a walk.
    const auto cache = static_cast<double>(cache_bytes);
    const auto whole_stride = static_cast<std::uint64_t>(stride);
    const auto spread = static_cast<double>(std::min<std::uint64_t>(whole_stride & (~whole_stride + 1), 128 * 1024));
    const double taken = std::max(lines * line, indexed > 0 ? 0.0 : std::min(spread, stride)) + list_lines * line;
    const double footprint = taken * all_blocks + static_cast<double>(part);
    constexpr double prefetched = 512; // strides that hardware prefetching follows
    const double apart = std::clamp((stride - prefetched) / (page_bytes - prefetched), 0.0, 1.0);
    const double pages = apart * all_blocks;
    constexpr double tlb_pages = 1536;
    const double beyond = std::max((footprint - cache) / (0.75 * cache), (pages - tlb_pages) / (3 * tlb_pages));
    const double cold = std::clamp(beyond, 0.0, 1.0);
    if (cold == 0) return call + blocks * kernel;

    // What the processor prefetches past the end of a block, up to the end of its page, is wasted.
    const double ahead = std::max(own, std::min(1.5 * own, page_bytes / line));
    const double fetched = std::min(ahead, std::max(stride, length) / line);
    // A few packed chunks are in flight together; when they leave the cache, their lines are fetched from outside too.
    const double packed =
        std::clamp((4 * static_cast<double>(part) - cache / 3) / (cache / 3), 0.0, 1.0) * length / line;
    const double far = apart * line_far * walk_stretch(pages, cache);
    const double fetching = std::max((fetched + list_lines + packed) * line_near, far);
    return call + blocks * (kernel + cold * (beside(kernel, fetching) - kernel));
}

CopyModel measure_copies(double seconds) {
    CopyModel model;
    // The second level; the last one is shared, and its benefit is measured below.
    if (const long level2 = sysconf(_SC_LEVEL2_CACHE_SIZE); level2 > 0)
        model.cache_bytes = static_cast<std::uint64_t>(level2) / 8 * 7;
    const std::uint64_t memory_bytes = std::max<std::uint64_t>(10 * model.cache_bytes, 32U << 20);
    const std::unique_ptr<std::byte[]> memory{new std::byte[memory_bytes]};
    constexpr std::uint64_t packed_bytes = 128 * 1024;
    std::vector<std::byte> packed(packed_bytes);
    std::memset(memory.get(), 1, memory_bytes);
    const double slice = seconds / static_cast<double>(2 * CopyModel::lengths.size() + 9);

    const auto strided = [](std::uint64_t count, std::uint64_t length, std::uint64_t stride) {
        return Layout::strided(count, length, static_cast<std::int64_t>(stride));
    };
    const auto hot = [&](const Layout& layout, bool both) {
        return Sample{memory.get(), layout.span(), packed.data()}.measure(layout, both, slice);
    };
    model.call = hot(strided(1, 8, 16), false);
    // In the second level of the cache, like blocks that were just computed.
    const auto block_of = [&](const Layout& layout, std::uint64_t count) {
        return std::max(hot(layout, true) - model.call, 0.0) / static_cast<double>(count);
    };
    const std::uint64_t hot_bytes = std::min(packed_bytes, model.cache_bytes / 8);
    for (std::size_t i = 0; i < CopyModel::lengths.size(); ++i) {
        const std::uint64_t length = CopyModel::lengths[i];
        const std::uint64_t count = std::max<std::uint64_t>(1, hot_bytes / length);
        model.block[i] = block_of(strided(count, length, 2 * length), count);
    }
    constexpr std::uint64_t length = 8;
    const std::uint64_t count = hot_bytes / length;
    const double indexed = block_of(irregular(count, length, 2 * length + 1), count);
    model.offset = std::max(indexed - model.block_time(length), 0.0);
    constexpr std::uint64_t word = 4;
    const double listed = block_of(of_many_lengths(hot_bytes / word, word), hot_bytes / word);
    model.list = std::max(listed - model.block_time(word) - model.offset, 0.0);

    // Short blocks from ever new positions: what they cost beyond the same blocks in the cache is fetching lines.
    const auto fetching = [&](std::uint64_t blocks, std::uint64_t stride) {
        Sample cold{memory.get(), memory_bytes, packed.data()};
        const double time = cold.measure(strided(blocks, length, stride), true, slice);
        return alone(model.block_time(length), std::max(time - model.call, 0.0) / static_cast<double>(blocks));
    };
    model.line_near = fetching(4096, CopyModel::line_bytes);
    constexpr std::uint64_t far_stride = 4096 + CopyModel::line_bytes;
    const double pages = static_cast<double>(memory_bytes) / page_bytes;
    const double far = fetching(1024, far_stride) / walk_stretch(pages, static_cast<double>(model.cache_bytes));
    model.line_far = std::max(far, model.line_near);
    return model;
}

} // namespace lapwing::detail::model
