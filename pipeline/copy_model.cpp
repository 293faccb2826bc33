#include "pipeline/copy_model.hpp"

#include "pipeline/typical_time.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <unistd.h>
#include <vector>

namespace lapwing::pipeline {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <std::size_t length>
void gather_fixed(std::byte* packed, const std::byte* blocks, std::uint64_t count, std::uint64_t stride) {
    for (std::uint64_t i = 0; i < count; ++i) std::memcpy(packed + i * length, blocks + i * stride, length);
}

void gather(std::byte* packed, const std::byte* blocks, std::uint64_t count, std::uint64_t length, std::uint64_t stride) {
    switch (length) {
    case 1: return gather_fixed<1>(packed, blocks, count, stride);
    case 2: return gather_fixed<2>(packed, blocks, count, stride);
    case 4: return gather_fixed<4>(packed, blocks, count, stride);
    case 8: return gather_fixed<8>(packed, blocks, count, stride);
    case 12: return gather_fixed<12>(packed, blocks, count, stride);
    case 16: return gather_fixed<16>(packed, blocks, count, stride);
    case 24: return gather_fixed<24>(packed, blocks, count, stride);
    case 32: return gather_fixed<32>(packed, blocks, count, stride);
    default:
        for (std::uint64_t i = 0; i < count; ++i) std::memcpy(packed + i * length, blocks + i * stride, length);
    }
}

/// Typical seconds of one gather, over gathers from ever other places of `memory`.
double measure(std::byte* packed, const std::byte* memory, std::uint64_t memory_bytes, std::uint64_t count,
               std::uint64_t length, std::uint64_t stride, double seconds) {
    std::vector<double> times;
    std::uint64_t at = 0;
    const std::uint64_t extent = count * stride;
    const auto begin = Clock::now();
    for (int n = 0; n < 7 || (n < 1000 && seconds_since(begin) < seconds); ++n) {
        const auto start = Clock::now();
        gather(packed, memory + at, count, length, stride);
        asm volatile("" : : "r"(packed) : "memory");
        times.push_back(seconds_since(start));
        at = at + 2 * extent <= memory_bytes ? at + extent : 0;
    }
    return typical_time(std::move(times));
}

} // namespace

double CopyModel::block_time(double length) const noexcept {
    if (length <= 1) return block.front();
    const auto above = static_cast<std::size_t>(
        std::ranges::find_if(lengths, [&](std::uint64_t l) { return static_cast<double>(l) >= length; }) - lengths.begin());
    if (above == lengths.size()) return block.back() * length / static_cast<double>(lengths.back());
    const auto low = static_cast<double>(lengths[above - 1]);
    const auto high = static_cast<double>(lengths[above]);
    return block[above - 1] + (block[above] - block[above - 1]) * (length - low) / (high - low);
}

double CopyModel::time(const BlockShape& shape, std::uint64_t part) const noexcept {
    if (shape.blocks == 0 || shape.bytes == 0) return 0;
    const double length = static_cast<double>(shape.bytes) / static_cast<double>(shape.blocks);
    const double blocks = static_cast<double>(part) / length;
    double seconds = call + blocks * block_time(length);
    const double stride = static_cast<double>(shape.extent_bytes) / static_cast<double>(shape.blocks);
    // Lines that a block brings in: neighbours share them when they are close.
    const double own = std::ceil(length / line_bytes) + (length > line_bytes ? 0.5 : 0.0);
    const double lines = std::min(own, std::max(stride, length) / line_bytes);
    const double touched = lines * line_bytes * static_cast<double>(shape.blocks);
    // In the cache, outside it, and a gradual change between: caches are shared, and nobody empties them at once.
    const auto cache = static_cast<double>(cache_bytes);
    const double cold = std::clamp((touched - cache) / cache, 0.0, 1.0);
    constexpr double page = 4096;
    constexpr double prefetched = 512; // strides that the processor follows by itself
    const double far = std::clamp((stride - prefetched) / (page - prefetched), 0.0, 1.0);
    // Only the first line of a distant block waits for a page table walk; those behind it follow.
    const double fetch = lines * line_near + far * std::max(line_far - line_near, 0.0);
    return seconds + cold * blocks * fetch;
}

CopyModel measure_copies(double seconds) {
    CopyModel model;
    // What the first two levels keep of a program's data; the packed buffer and the transfers need the rest.
    if (const long level2 = sysconf(_SC_LEVEL2_CACHE_SIZE); level2 > 0) model.cache_bytes = static_cast<std::uint64_t>(level2) / 2;
    const std::uint64_t memory_bytes = std::max<std::uint64_t>(8 * model.cache_bytes, 16U << 20);
    const std::unique_ptr<std::byte[]> memory{new std::byte[memory_bytes]};
    constexpr std::uint64_t packed_bytes = 128 * 1024;
    std::vector<std::byte> packed(packed_bytes);
    std::memset(memory.get(), 1, memory_bytes);
    const double slice = seconds / static_cast<double>(CopyModel::lengths.size() + 4);

    model.call = measure(packed.data(), memory.get(), 1, 1, 8, 16, slice);
    constexpr std::uint64_t hot_bytes = 32 * 1024; // with the packed copy, within the first level or close to it
    for (std::size_t i = 0; i < CopyModel::lengths.size(); ++i) {
        const std::uint64_t length = CopyModel::lengths[i];
        const std::uint64_t count = std::max<std::uint64_t>(1, hot_bytes / (2 * length));
        const double time = measure(packed.data(), memory.get(), 1, count, length, 2 * length, slice);
        model.block[i] = std::max(time - model.call, 0.0) / static_cast<double>(count);
    }
    // Blocks of a line: what they cost beyond the same blocks in the cache is the line's way.
    constexpr std::uint64_t count = 1024;
    constexpr std::uint64_t line = CopyModel::line_bytes;
    const double hot = model.call + count * model.block_time(line);
    const double near = measure(packed.data(), memory.get(), memory_bytes, count, line, 2 * line, slice);
    const double far = measure(packed.data(), memory.get(), memory_bytes, count, line, 4096 + line, slice);
    model.line_near = std::max(near - hot, 0.0) / count;
    model.line_far = std::max(far - hot, model.line_near * count) / count;
    return model;
}

} // namespace lapwing::pipeline
