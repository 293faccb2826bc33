#include "src/array/strided_copy.hpp"

#include <lapwing/patch.hpp>

#include <array>
#include <cstring>

namespace lapwing::array {

namespace {

// The size as a constant makes the copy of an element one load and one store.
template <std::size_t Bytes>
void copy_row(std::byte* to, const std::byte* from, const CopyLevel& level) noexcept {
    for (std::uint64_t k = 0; k < level.count; ++k)
        std::memcpy(to + k * level.to_stride * Bytes, from + k * level.from_stride * Bytes, Bytes);
}

void copy_row(std::byte* to, const std::byte* from, std::uint64_t bytes, const CopyLevel& level) noexcept {
    switch (bytes) {
    case 1: return copy_row<1>(to, from, level);
    case 2: return copy_row<2>(to, from, level);
    case 4: return copy_row<4>(to, from, level);
    case 8: return copy_row<8>(to, from, level);
    case 16: return copy_row<16>(to, from, level);
    default:
        for (std::uint64_t k = 0; k < level.count; ++k)
            std::memcpy(to + k * level.to_stride * bytes, from + k * level.from_stride * bytes, bytes);
    }
}

void copy_levels(std::byte* to, const std::byte* from, std::uint64_t bytes, std::span<const CopyLevel> levels) noexcept {
    if (levels.size() == 1) return copy_row(to, from, bytes, levels[0]);
    const CopyLevel& outer = levels[0];
    for (std::uint64_t k = 0; k < outer.count; ++k)
        copy_levels(to + k * outer.to_stride * bytes, from + k * outer.from_stride * bytes, bytes, levels.subspan(1));
}

} // namespace

void strided_copy(std::byte* to, const std::byte* from, std::uint64_t element_bytes, std::span<const CopyLevel> levels) {
    // From the innermost level outwards: take levels into `run` as long as they continue it on both sides; after that,
    // join each level to the one inside it where it continues that.
    std::uint64_t run = 1;
    std::size_t left = levels.size();
    for (; left > 0; --left) {
        const CopyLevel& level = levels[left - 1];
        if (level.count == 1) continue;
        if (level.to_stride != run || level.from_stride != run) break;
        run *= level.count;
    }
    if (left == 0) {
        if (run != 0) std::memcpy(to, from, run * element_bytes);
        return;
    }
    std::array<CopyLevel, max_piece_levels> joined;
    std::size_t begin = max_piece_levels;
    for (; left > 0; --left) {
        const CopyLevel& level = levels[left - 1];
        if (level.count == 1) continue;
        if (begin < max_piece_levels && level.to_stride == joined[begin].to_stride * joined[begin].count &&
            level.from_stride == joined[begin].from_stride * joined[begin].count)
            joined[begin].count *= level.count;
        else
            joined[--begin] = level;
    }
    if (run == 1)
        return copy_levels(to, from, element_bytes, {joined.data() + begin, max_piece_levels - begin});
    // The run becomes the element. The strides are in elements, so the innermost loop counts them out in bytes.
    const std::uint64_t run_bytes = run * element_bytes;
    for (std::size_t d = begin; d < max_piece_levels; ++d) {
        joined[d].to_stride *= element_bytes;
        joined[d].from_stride *= element_bytes;
    }
    const auto copy_runs = [run_bytes](auto& self, std::byte* out, const std::byte* in,
                                       std::span<const CopyLevel> rest) -> void {
        for (std::uint64_t k = 0; k < rest[0].count; ++k) {
            std::byte* const out_k = out + k * rest[0].to_stride;
            const std::byte* const in_k = in + k * rest[0].from_stride;
            if (rest.size() == 1) std::memcpy(out_k, in_k, run_bytes);
            else self(self, out_k, in_k, rest.subspan(1));
        }
    };
    copy_runs(copy_runs, to, from, {joined.data() + begin, max_piece_levels - begin});
}

} // namespace lapwing::array
