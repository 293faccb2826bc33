#include "src/kernels/copy_kernels.hpp"

#include "src/kernels/copy_choices.hpp"
#include "src/kernels/kernel_set.hpp"

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace lapwing::detail::kernels {
namespace {

/// One side and the class that chooses among its loops.
struct Side {
    Placement placement;
    Place place;
    StrideClass stride;
};

std::uint64_t distance_of(std::int64_t stride) noexcept {
    return stride < 0 ? -static_cast<std::uint64_t>(stride) : static_cast<std::uint64_t>(stride);
}

Side side_of(const Placement& placement, std::uint64_t block_bytes, const KernelSet& set) noexcept {
    if (placement.offsets != nullptr) return {placement, Place::indexed, StrideClass::indexed};
    const std::uint64_t distance = distance_of(placement.stride);
    constexpr std::uint64_t page_bytes = 4096;
    constexpr std::uint64_t longest_vector = 64; // what is further apart needs no closer look
    const StrideClass stride = distance > 0 && distance % page_bytes == 0 ? StrideClass::pages
                               : distance > page_bytes                    ? StrideClass::far
                               : distance <= longest_vector && set.permuted_blocks(block_bytes, placement.stride) >= 2
                                   ? StrideClass::close
                                   : StrideClass::near;
    return {placement, Place::strided, stride};
}

bool is_contiguous(const Placement& placement, std::uint64_t block_bytes) noexcept {
    return placement.offsets == nullptr && placement.stride == static_cast<std::int64_t>(block_bytes);
}

/// The kernel of `method`, or the nearest one that there is: tables come from other machines and other instruction
/// sets.
Kernel kernel_for(const KernelSet& set, Place to, Place from, BlockClass block, StrideClass stride,
                  Method method) noexcept {
    const bool ahead = method == Method::permute_ahead || method == Method::lookup_ahead;
    // Where blocks are not close, a permutation would take none at a time.
    const bool permutes = method == Method::permute || method == Method::permute_ahead;
    if (permutes && stride != StrideClass::close) method = ahead ? Method::moves_ahead : Method::moves;
    if (const Kernel kernel = set.find(to, from, block, method)) return kernel;
    if (ahead) {
        if (const Kernel kernel = set.find(to, from, block, Method::moves_ahead)) return kernel;
    }
    return set.find(to, from, block, Method::moves);
}

/// Bytes of the cache lines that a side touches. For offsets a guess from a few of them.
std::uint64_t touched_bytes(const Placement& placement, std::uint64_t count, std::uint64_t block_bytes) noexcept {
    constexpr std::uint64_t line = 64;
    const std::uint64_t apart = (block_bytes + line - 1) / line * line; // of a block that shares no line with others
    if (placement.offsets == nullptr) return count * std::clamp(distance_of(placement.stride), block_bytes, apart);
    const auto [lowest, highest] =
        std::minmax({placement.offsets[0], placement.offsets[count / 2], placement.offsets[count - 1]});
    return std::clamp(static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest), count * block_bytes,
                      count * apart);
}

/// Gathers into a small buffer that stays in the first-level cache, and from there past the caches into the target.
void gather_streamed(const KernelSet& set, Kernel kernel, std::byte* to, const std::byte* from, Placement placement,
                     std::uint64_t count, std::uint64_t block_bytes) noexcept {
    constexpr std::uint64_t buffer_bytes = 4096;
    alignas(64) std::array<std::byte, buffer_bytes> buffer;
    // Whole cache lines at a time: the target's lines are then written once each.
    const std::uint64_t misalignment = reinterpret_cast<std::uintptr_t>(to) % 64;
    std::uint64_t held = 0;
    std::uint64_t room = buffer_bytes - misalignment;
    while (count > 0) {
        const std::uint64_t some = std::min(count, (room - held) / block_bytes);
        if (some > 0) {
            kernel(buffer.data() + held, {.stride = static_cast<std::int64_t>(block_bytes)}, from, placement, some,
                   block_bytes);
            held += some * block_bytes;
            count -= some;
            if (placement.offsets != nullptr) placement.offsets += some;
            else from += placement.stride * static_cast<std::int64_t>(some);
        }
        // The rest of a line is completed in the next round.
        const std::uint64_t out = count == 0 ? held : held - (reinterpret_cast<std::uintptr_t>(to) + held) % 64;
        set.stream(to, buffer.data(), out);
        to += out;
        held -= out;
        std::memmove(buffer.data(), buffer.data() + out, held);
        room = buffer_bytes;
    }
    // Streaming stores on x86 may reach other processors after plain stores that follow them, so a release store would
    // not publish them: C++'s orders know nothing of them. Elsewhere they are plain stores, and this is nothing.
    hwy::FlushStream();
}

void run_kernel(std::byte* to, const Placement& to_placement, const std::byte* from, const Placement& from_placement,
                std::uint64_t count, std::uint64_t block_bytes, Reuse reuse) noexcept {
    if (count == 0 || block_bytes == 0) return;
    const bool to_contiguous = is_contiguous(to_placement, block_bytes);
    const bool from_contiguous = is_contiguous(from_placement, block_bytes);
    if (to_contiguous && from_contiguous) {
        std::memcpy(to, from, count * block_bytes);
        return;
    }
    const KernelSet& set = kernel_set();
    const CopyChoices& choices = copy_choices();
    const Side target = to_contiguous ? Side{to_placement, Place::contiguous, StrideClass::close}
                                      : side_of(to_placement, block_bytes, set);
    const Side source = from_contiguous ? Side{from_placement, Place::contiguous, StrideClass::close}
                                        : side_of(from_placement, block_bytes, set);
    CopyCase where{.movement = to_contiguous     ? Movement::gather
                               : from_contiguous ? Movement::scatter
                                                 : Movement::copy,
                   .block = block_class(block_bytes),
                   .stride = std::max(target.stride, source.stride),
                   .size = choices.size_class(touched_bytes(to_placement, count, block_bytes) +
                                              touched_bytes(from_placement, count, block_bytes)),
                   .reuse = reuse};
    Method method = choices.method(where);
    if (method == Method::streamed) {
        if (to_contiguous && block_bytes <= 1024) {
            // The buffer is small and used again at once.
            where.size = SizeClass::level1;
            where.reuse = Reuse::soon;
            const Kernel kernel =
                kernel_for(set, target.place, source.place, where.block, where.stride, choices.method(where));
            gather_streamed(set, kernel, to, from, from_placement, count, block_bytes);
            return;
        }
        method = Method::moves;
    }
    kernel_for(set, target.place, source.place, where.block, where.stride, method)(to, to_placement, from,
                                                                                   from_placement, count, block_bytes);
}

} // namespace

void gather(std::byte* to, const std::byte* from, const Run& run, Reuse reuse) noexcept {
    run_kernel(to, {.stride = static_cast<std::int64_t>(run.block_bytes)}, from, {run.stride, run.offsets}, run.count,
               run.block_bytes, reuse);
}

void scatter(std::byte* to, const std::byte* from, const Run& run, Reuse reuse) noexcept {
    run_kernel(to, {run.stride, run.offsets}, from, {.stride = static_cast<std::int64_t>(run.block_bytes)}, run.count,
               run.block_bytes, reuse);
}

void copy(std::byte* to, const std::byte* from, const PairedRun& run, Reuse reuse) noexcept {
    run_kernel(to, run.to, from, run.from, run.count, run.block_bytes, reuse);
}

void transpose(std::byte* to, std::int64_t to_row, const std::byte* from, std::int64_t from_row, std::uint64_t rows,
               std::uint64_t columns, std::uint64_t element_bytes, Reuse reuse) noexcept {
    const auto which = static_cast<std::size_t>(std::countr_zero(element_bytes)) - 1;
    kernel_set().transposes[which][reuse == Reuse::never ? 1 : 0](to, to_row, from, from_row, rows, columns);
}

} // namespace lapwing::detail::kernels
