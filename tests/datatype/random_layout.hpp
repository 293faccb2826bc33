// Random layouts beside what they mean: the offset of every byte, written out by the definition.
#pragma once

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace test {

/// The offset of each byte of a sequence, in order.
using Flat = std::vector<std::int64_t>;

struct Sample {
    lapwing::Layout layout;
    Flat flat;
};

[[nodiscard]] inline Flat shifted(const Flat& flat, std::int64_t distance) {
    Flat result = flat;
    for (std::int64_t& offset : result) offset += distance;
    return result;
}

inline void append(Flat& flat, const Flat& more) { flat.insert(flat.end(), more.begin(), more.end()); }

/// The maximal blocks of a sequence, by their definition.
[[nodiscard]] inline std::vector<lapwing::ByteBlock> blocks_of(const Flat& flat) {
    std::vector<lapwing::ByteBlock> blocks;
    for (const std::int64_t offset : flat) {
        if (!blocks.empty() && blocks.back().offset + static_cast<std::int64_t>(blocks.back().bytes) == offset)
            ++blocks.back().bytes;
        else blocks.push_back({offset, 1});
    }
    return blocks;
}

/// What a cursor sees, byte by byte.
[[nodiscard]] inline Flat flatten(const lapwing::Layout& layout) {
    Flat flat;
    for (lapwing::LayoutCursor cursor{layout}; !cursor.done();) {
        const lapwing::ByteBlock block = cursor.next();
        for (std::uint64_t i = 0; i < block.bytes; ++i) flat.push_back(block.offset + static_cast<std::int64_t>(i));
    }
    return flat;
}

class RandomLayouts {
public:
    explicit RandomLayouts(unsigned seed) : random_{seed} {}

    [[nodiscard]] std::int64_t number(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>{low, high}(random_);
    }
    [[nodiscard]] std::uint64_t size(std::uint64_t low, std::uint64_t high) {
        return std::uniform_int_distribution<std::uint64_t>{low, high}(random_);
    }

    /// At most a few thousand bytes. Strides are often those that make neighbours meet or overlap.
    [[nodiscard]] Sample make(int depth) {
        Sample sample = depth == 0 ? leaf() : wrap(make(depth - 1));
        if (number(0, 3) == 0) {
            const std::int64_t distance = number(-40, 40);
            sample = {sample.layout.shift(distance), shifted(sample.flat, distance)};
        }
        return sample;
    }

    [[nodiscard]] Sample slice(const Sample& sample) {
        const std::uint64_t begin = size(0, sample.flat.size());
        const std::uint64_t end = size(begin, sample.flat.size());
        return {sample.layout.slice(begin, end), Flat(sample.flat.begin() + static_cast<std::ptrdiff_t>(begin),
                                                      sample.flat.begin() + static_cast<std::ptrdiff_t>(end))};
    }

private:
    [[nodiscard]] Sample leaf() {
        Sample sample;
        switch (number(0, 3)) {
        case 0: {
            const std::uint64_t bytes = size(0, 9);
            sample.layout = lapwing::Layout::contiguous(bytes, 3);
            add(sample.flat, 3, bytes);
            break;
        }
        case 1: {
            const std::uint64_t count = size(0, 6);
            const std::uint64_t bytes = size(1, 6);
            const std::int64_t stride = number(-9, 12);
            sample.layout = lapwing::Layout::strided(count, bytes, stride, -2);
            for (std::uint64_t i = 0; i < count; ++i)
                add(sample.flat, -2 + static_cast<std::int64_t>(i) * stride, bytes);
            break;
        }
        case 2: {
            const std::uint64_t bytes = size(1, 4);
            lapwing::Layout::Offsets offsets = increasing(static_cast<std::int64_t>(bytes));
            for (const std::int64_t offset : offsets) add(sample.flat, offset, bytes);
            sample.layout = lapwing::Layout::indexed(std::move(offsets), bytes);
            break;
        }
        default: {
            std::vector<lapwing::ByteBlock> blocks;
            for (const std::int64_t offset : increasing(number(0, 4))) {
                blocks.push_back({offset, size(0, 5)});
                add(sample.flat, offset, blocks.back().bytes);
            }
            sample.layout = lapwing::Layout::list(blocks);
        }
        }
        return sample;
    }

    [[nodiscard]] Sample wrap(const Sample& inner) {
        Sample sample;
        const std::int64_t span = static_cast<std::int64_t>(inner.layout.span());
        switch (number(0, 4)) {
        case 0:
        case 1: {
            const std::uint64_t count = size(0, 4);
            const std::int64_t stride = number(0, 1) == 0 ? span + number(-2, 2) : number(-30, 30);
            sample.layout = inner.layout.repeat(count, stride);
            for (std::uint64_t i = 0; i < count; ++i)
                append(sample.flat, shifted(inner.flat, static_cast<std::int64_t>(i) * stride));
            break;
        }
        case 2: {
            lapwing::Layout::Offsets offsets = increasing(span);
            for (const std::int64_t offset : offsets) append(sample.flat, shifted(inner.flat, offset));
            sample.layout = inner.layout.repeat_at(std::move(offsets));
            break;
        }
        case 3: sample = slice(inner); break;
        default: {
            std::vector<lapwing::Layout> parts;
            const bool same = number(0, 1) == 0;
            for (std::int64_t k = number(0, 3); k > 0; --k) {
                const Sample part = same ? inner : leaf();
                const std::int64_t distance = number(-50, 50);
                parts.push_back(part.layout.shift(distance));
                append(sample.flat, shifted(part.flat, distance));
            }
            sample.layout = lapwing::Layout::concatenate(parts);
        }
        }
        return sample;
    }

    /// Mostly increasing by about a block, so that neighbours meet; sometimes anything.
    [[nodiscard]] lapwing::Layout::Offsets increasing(std::int64_t block) {
        lapwing::Layout::Offsets offsets;
        const bool wild = number(0, 2) == 0;
        std::int64_t offset = number(-5, 5);
        for (std::int64_t k = number(0, 6); k > 0; --k) {
            offsets.push_back(offset);
            offset += wild ? number(-20, 20) : block + number(0, 2);
        }
        return offsets;
    }

    static void add(Flat& flat, std::int64_t offset, std::uint64_t bytes) {
        for (std::uint64_t i = 0; i < bytes; ++i) flat.push_back(offset + static_cast<std::int64_t>(i));
    }

    std::mt19937_64 random_;
};

} // namespace test
