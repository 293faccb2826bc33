#include "datatype/strided_copy.hpp"

#include "src/kernels/copy_choices.hpp"
#include "src/kernels/copy_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace lapwing::detail::datatype {

namespace {

/// Levels around blocks of `block_bytes`; strides in bytes.
class Nest {
public:
    Nest(std::uint64_t block_bytes, kernels::Reuse reuse) noexcept : block_bytes_{block_bytes}, reuse_{reuse} {}

    void copy(std::byte* to, const std::byte* from, std::span<const CopyLevel> levels) const noexcept {
        const CopyLevel& outer = levels[0];
        if (levels.size() == 1) return copy_run(to, from, outer, outer.count);
        // A kernel examines a run before it copies it, which is not worth it for few blocks: then the runs are those of
        // the level around, a few lines of memory at a time.
        if (const CopyLevel& inner = levels[1];
            levels.size() == 2 && inner.count < short_run && inner.count < outer.count) {
            for (std::uint64_t k = 0; k < outer.count; k += strip)
                for (std::uint64_t j = 0; j < inner.count; ++j)
                    copy_run(to + k * outer.to_stride + j * inner.to_stride,
                             from + k * outer.from_stride + j * inner.from_stride, outer,
                             std::min(strip, outer.count - k));
            return;
        }
        for (std::uint64_t k = 0; k < outer.count; ++k)
            copy(to + k * outer.to_stride, from + k * outer.from_stride, levels.subspan(1));
    }

private:
    static constexpr std::uint64_t short_run = 8;
    static constexpr std::uint64_t strip = 256;

    void copy_run(std::byte* to, const std::byte* from, const CopyLevel& level, std::uint64_t count) const noexcept {
        kernels::copy(to, from,
                      {.count = count,
                       .block_bytes = block_bytes_,
                       .to = {.stride = static_cast<std::int64_t>(level.to_stride)},
                       .from = {.stride = static_cast<std::int64_t>(level.from_stride)}},
                      reuse_);
    }

    std::uint64_t block_bytes_;
    kernels::Reuse reuse_;
};

} // namespace

void strided_copy(std::byte* to, const std::byte* from, std::uint64_t element_bytes,
                  std::span<const CopyLevel> levels) {
    // From the innermost level outwards: take levels into `block` as long as they continue it on both sides; after
    // that, join each level to the one inside it where it continues that.
    std::uint64_t block = 1;
    std::size_t left = levels.size();
    for (; left > 0; --left) {
        const CopyLevel& level = levels[left - 1];
        if (level.count == 1) continue;
        if (level.to_stride != block || level.from_stride != block) break;
        block *= level.count;
    }
    if (left == 0) {
        if (block != 0) std::memcpy(to, from, block * element_bytes);
        return;
    }
    std::array<CopyLevel, max_copy_levels> joined;
    std::size_t begin = max_copy_levels;
    std::uint64_t contiguous = block; // elements that are filled without a gap
    std::uint64_t elements = block;
    for (; left > 0; --left) {
        CopyLevel level = levels[left - 1];
        if (level.count == 1) continue;
        if (level.to_stride == contiguous) contiguous *= level.count;
        elements *= level.count;
        level.to_stride *= element_bytes;
        level.from_stride *= element_bytes;
        if (begin < max_copy_levels && level.to_stride == joined[begin].to_stride * joined[begin].count &&
            level.from_stride == joined[begin].from_stride * joined[begin].count)
            joined[begin].count *= level.count;
        else joined[--begin] = level;
    }
    if (elements == 0) return;
    // As in pipeline::copy: what exceeds the last cache has left it before anyone reads it.
    const bool large = contiguous == elements && elements * element_bytes > kernels::copy_choices().limits().last_level;
    const Nest nest{block * element_bytes, large ? kernels::Reuse::never : kernels::Reuse::soon};
    nest.copy(to, from, {joined.data() + begin, max_copy_levels - begin});
}

} // namespace lapwing::detail::datatype
