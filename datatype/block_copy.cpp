#include "datatype/block_copy.hpp"

#include "datatype/close_runs.hpp"
#include "datatype/common_nest.hpp"
#include "datatype/equal_units.hpp"
#include "src/kernels/copy_choices.hpp"
#include "src/kernels/copy_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace lapwing::detail::datatype {
namespace {

/// Calls `copy(packed, offset, run)` for each run of equal blocks in the next `bytes` bytes.
template <class Copy>
void for_each_run(LayoutCursor& cursor, std::uint64_t bytes, Copy&& copy) {
    datatype::UnitOffsets units;
    std::uint64_t packed = 0;
    while (packed < bytes) {
        const BlockRun run = cursor.next_run(bytes - packed);
        if (run.starts == nullptr) {
            copy(packed, run.offset,
                 kernels::Run{
                     .count = run.count, .block_bytes = run.block_bytes, .stride = run.stride, .offsets = run.offsets});
        } else {
            for (std::uint64_t i = 0; i < run.count;) {
                const std::uint64_t at = packed + run.starts[i] - run.starts[0];
                const datatype::EqualUnits equal =
                    datatype::equal_units(run.offsets + i, run.starts + i, run.count - i, units);
                if (equal.units > 0) {
                    copy(at, run.offset,
                         kernels::Run{.count = equal.units, .block_bytes = equal.unit_bytes, .offsets = units.data()});
                    i += equal.blocks;
                    continue;
                }
                for (const std::uint64_t end = i + equal.blocks; i < end; ++i) {
                    const ByteBlock block = run[i];
                    copy(packed + run.starts[i] - run.starts[0], block.offset,
                         kernels::Run{.count = 1, .block_bytes = block.bytes});
                }
            }
        }
        packed += run.bytes();
    }
}

/// Consecutive blocks.
kernels::Placement packed_blocks(const kernels::Run& run) {
    return {.stride = static_cast<std::int64_t>(run.block_bytes)};
}

void gather_next(std::byte* packed, const std::byte* base, LayoutCursor& cursor, std::uint64_t bytes,
                 kernels::Reuse reuse) noexcept {
    CloseRuns close{reuse};
    for_each_run(cursor, bytes, [&](std::uint64_t at, std::int64_t offset, const kernels::Run& run) {
        if (run.count == 1 && run.offsets == nullptr) std::memcpy(packed + at, base + offset, run.block_bytes);
        else if (CloseRuns::may_be_close(run.count, run.block_bytes, run))
            close.copy(packed + at, base + offset,
                       {.count = run.count,
                        .block_bytes = run.block_bytes,
                        .to = packed_blocks(run),
                        .from = {.stride = run.stride}});
        else kernels::gather(packed + at, base + offset, run, reuse);
    });
}

/// Whether two layouts are lists of short blocks, hardly any two of which have the same length in both.
bool meet_in_odd_blocks(const Layout& a, const Layout& b) {
    constexpr std::uint64_t short_bytes = 256;
    const auto lists_short_blocks = [](const Layout& layout, const BlockRun& run) {
        return run.offsets != nullptr && layout.bytes() <= short_bytes * layout.block_count();
    };
    const BlockRun of_a = LayoutCursor{a}.peek_run();
    const BlockRun of_b = LayoutCursor{b}.peek_run();
    return lists_short_blocks(a, of_a) && lists_short_blocks(b, of_b) &&
           (of_a.starts != nullptr || of_b.starts != nullptr || of_a.block_bytes != of_b.block_bytes);
}

kernels::Placement placement(const BlockRun& run) { return {.stride = run.stride, .offsets = run.offsets}; }

} // namespace

void pack(std::byte* packed, const std::byte* base, LayoutCursor& cursor, std::uint64_t bytes) noexcept {
    gather_next(packed, base, cursor, bytes, kernels::Reuse::soon); // it is sent
}

void unpack(std::byte* base, LayoutCursor& cursor, const std::byte* packed, std::uint64_t bytes) noexcept {
    CloseRuns close;
    for_each_run(cursor, bytes, [&](std::uint64_t at, std::int64_t offset, const kernels::Run& run) {
        if (run.count == 1 && run.offsets == nullptr) std::memcpy(base + offset, packed + at, run.block_bytes);
        else if (CloseRuns::may_be_close(run.count, run.block_bytes, run))
            close.copy(base + offset, packed + at,
                       {.count = run.count,
                        .block_bytes = run.block_bytes,
                        .to = {.stride = run.stride},
                        .from = packed_blocks(run)});
        else kernels::scatter(base + offset, packed + at, run);
    });
}

void copy(std::byte* to, const Layout& target, const std::byte* from, const Layout& source) {
    // One block each: nothing to look for.
    if (target.is_contiguous() && source.is_contiguous() && source.bytes() == target.bytes()) {
        if (!source.empty()) std::memcpy(to + target.lower(), from + source.lower(), source.bytes());
        return;
    }
    // Data that exceeds the last-level cache has left it before anyone reads it. Code that goes around the caches
    // exists only where the target's lines are written whole, one after another or like those of a transposed matrix:
    // short blocks that are scattered would write lines in parts.
    const kernels::Reuse reuse =
        source.bytes() > kernels::copy_choices().limits().last_level ? kernels::Reuse::never : kernels::Reuse::soon;
    if (const CommonNest nest{target, source}; nest.transposes()) return nest.transpose(to, from, reuse);
    // One side is a single block: the list of blocks on the other goes through the kernels as when it is packed.
    if (target.is_contiguous() && source.bytes() == target.bytes()) {
        LayoutCursor cursor{source};
        return gather_next(to + target.lower(), from, cursor, source.bytes(), reuse);
    }
    if (source.is_contiguous() && source.bytes() == target.bytes()) {
        LayoutCursor cursor{target};
        return unpack(to, cursor, from + source.lower(), target.bytes());
    }
    // Through memory that stays in the first-level cache.
    if (meet_in_odd_blocks(source, target)) {
        std::array<std::byte, 8192> packed; // not initialised: all that is read has been written
        LayoutCursor here{source};
        LayoutCursor there{target};
        for (std::uint64_t left = std::min(source.bytes(), target.bytes()); left > 0;) {
            const std::uint64_t bytes = std::min<std::uint64_t>(left, packed.size());
            pack(packed.data(), from, here, bytes);
            unpack(to, there, packed.data(), bytes);
            left -= bytes;
        }
        return;
    }
    CloseRuns close;
    LayoutZip zip{source, target};
    while (!zip.done()) {
        const PairRun run = zip.next_run();
        if (run.source.count == 1 && run.source.offsets == nullptr && run.target.offsets == nullptr)
            std::memcpy(to + run.target.offset, from + run.source.offset, run.source.block_bytes);
        else
            close.copy(to + run.target.offset, from + run.source.offset,
                       {.count = run.source.count,
                        .block_bytes = run.source.block_bytes,
                        .to = placement(run.target),
                        .from = placement(run.source)});
    }
}

} // namespace lapwing::detail::datatype
