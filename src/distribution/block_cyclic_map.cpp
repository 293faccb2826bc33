#include <lapwing/detail/block_cyclic_map.hpp>

#include "src/distribution/ceil_divide.hpp"
#include "src/distribution/process_grid.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace lapwing::detail::distribution {

namespace {

/// Checks the grid that the program gives and fills in what it leaves open.
std::array<int, max_dimensions> complete_grid(const char* name, std::span<const std::int64_t> extents, int ranks,
                                              std::span<const int> given) {
    std::array<int, max_dimensions> grid{};
    const std::span<int> used{grid.data(), extents.size()};
    if (!given.empty() && given.size() != extents.size())
        throw RangeError{
            fmt::format("{}{{.grid = {{{}}}}}: {} numbers for {} dimensions; give one per dimension, or none", name,
                        fmt::join(given, ", "), given.size(), extents.size())};
    std::int64_t product = 1;
    bool open = given.empty();
    for (std::size_t d = 0; d < given.size(); ++d) {
        if (given[d] < 0)
            throw RangeError{
                fmt::format("{}{{.grid = {{{}}}}}: {} processes in dimension {}; give at least 1, or 0 to have "
                            "it chosen",
                            name, fmt::join(given, ", "), given[d], d)};
        used[d] = given[d];
        if (given[d] == 0) open = true;
        // Stops growing above the number of ranks, where it is an error anyway.
        else if (product <= ranks) product *= given[d];
    }
    if (open ? ranks % product != 0 : product != ranks)
        throw RangeError{
            fmt::format("{}{{.grid = {{{}}}}}: the product of the processes {} the {} ranks of the team; use "
                        "0 where the number may be chosen",
                        name, fmt::join(given, ", "), open ? "must divide" : "must be", ranks)};
    if (open) choose_grid(used, ranks, extents);
    return grid;
}

} // namespace

std::uint64_t DimensionMap::capacity() const noexcept {
    return std::min(extent, ceil_divide(blocks(), by_processes.divisor()) * block());
}

bool DimensionMap::has_gaps() const noexcept {
    if (margin != 0) return true;
    // One block each; a shorter last block is laid out like the others: see add_margins().
    if (one_round()) return split == 0 && blocks() > 1 && extent % block() != 0;
    return block() > 1 && (blocks() % by_processes.divisor() != 0 || extent % block() != 0);
}

std::uint64_t DimensionMap::count(int process) const noexcept {
    const auto p = static_cast<std::uint64_t>(process);
    const std::uint64_t dealt = by_processes.divisor();
    const std::uint64_t all = blocks();
    if (p >= all) return 0;
    const std::uint64_t own_blocks = ceil_divide(all - p, dealt);
    // Only the last block of all may be shorter.
    const std::uint64_t last_block = extent - (all - 1) * block();
    return (all - 1) % dealt == p ? (own_blocks - 1) * block() + last_block : own_blocks * block();
}

std::uint64_t DimensionMap::range_count(int process) const noexcept {
    const auto p = static_cast<std::uint64_t>(process);
    const std::uint64_t all = blocks();
    if (p >= all) return 0;
    return block() == 1 ? 1 : ceil_divide(all - p, by_processes.divisor());
}

Range DimensionMap::range(int process, std::uint64_t k) const noexcept {
    const auto p = static_cast<std::uint64_t>(process);
    const std::uint64_t dealt = by_processes.divisor();
    if (block() == 1) return Range::strided(process, count(process), processes());
    const std::uint64_t first = (p + k * dealt) * block();
    return Range::strided(static_cast<std::int64_t>(first), std::min(block(), extent - first), 1);
}

std::uint64_t make_dimensions(std::span<DimensionMap> dimensions, const char* name,
                              std::span<const std::int64_t> extents, int ranks, std::span<const int> grid,
                              std::span<const std::int64_t> blocks, Dealing dealing) {
    for (std::size_t d = 0; d < extents.size(); ++d)
        if (extents[d] < 0)
            throw RangeError{
                fmt::format("{}: extent {} of dimension {} is outside [0, 2^63 - 1]; pass the number of elements in "
                            "each dimension",
                            name, extents[d], d)};
    if (dealing == Dealing::blocks) {
        if (blocks.size() != extents.size())
            throw RangeError{fmt::format("{}{{.block = {{{}}}}}: {} sizes for {} dimensions; give one per dimension",
                                         name, fmt::join(blocks, ", "), blocks.size(), extents.size())};
        for (std::size_t d = 0; d < blocks.size(); ++d)
            if (blocks[d] < 1)
                throw RangeError{fmt::format("{}{{.block = {{{}}}}}: the size {} of dimension {} must be at least 1",
                                             name, fmt::join(blocks, ", "), blocks[d], d)};
    }
    const std::array<int, max_dimensions> processes = complete_grid(name, extents, ranks, grid);

    std::uint64_t capacity = 1;
    bool overflow = false;
    int rank_stride = 1;
    for (std::size_t d = dimensions.size(); d-- > 0;) {
        DimensionMap& dimension = dimensions[d];
        dimension.extent = static_cast<std::uint64_t>(extents[d]);
        dimension.rank_stride = rank_stride;
        rank_stride *= processes[d];
        const std::uint64_t whole = std::max<std::uint64_t>(dimension.extent, 1);
        // A single process has everything in one block, so neighbours are adjacent in memory whatever the block size.
        std::uint64_t block = 1;
        if (dealing == Dealing::one_block || processes[d] == 1)
            block = ceil_divide(whole, static_cast<std::uint64_t>(processes[d]));
        else if (dealing == Dealing::blocks) block = std::min(static_cast<std::uint64_t>(blocks[d]), whole);
        dimension.by_block = Reciprocal{block};
        dimension.by_processes = Reciprocal{static_cast<std::uint64_t>(processes[d])};
        if (dimension.one_round()) { // whole blocks, then perhaps a shorter one, then none
            dimension.split = dimension.extent / block;
            dimension.many = block;
            dimension.few = dimension.extent % block == 0 ? block : dimension.extent % block;
        } else if (block == 1) {
            dimension.split = dimension.extent % dimension.by_processes.divisor();
            dimension.few = dimension.extent / dimension.by_processes.divisor();
            dimension.many = dimension.few + 1;
        } else {
            dimension.few = dimension.many = dimension.capacity();
        }
        // A segment without elements still has strides, which must not be 0 for the dimensions before.
        overflow |= __builtin_mul_overflow(capacity, std::max<std::uint64_t>(dimension.capacity(), 1), &capacity);
    }
    const bool empty = std::any_of(extents.begin(), extents.end(), [](std::int64_t extent) { return extent == 0; });
    if (empty) return 0;
    if (overflow)
        throw RangeError{
            fmt::format("{}: the largest part of extents ({}) over {} ranks has more than 2^64 - 1 elements", name,
                        fmt::join(extents, ", "), ranks)};
    return capacity;
}

std::uint64_t add_margins(std::span<DimensionMap> dimensions, std::uint64_t depth, std::uint64_t& origin) {
    std::uint64_t capacity = 1;
    bool overflow = false;
    bool empty = false;
    origin = 0;
    for (std::size_t d = dimensions.size(); d-- > 0;) {
        DimensionMap& dimension = dimensions[d];
        dimension.margin = dimension.processes() > 1 ? depth : 0;
        origin += dimension.margin * capacity;
        std::uint64_t room = 0;
        overflow |= __builtin_mul_overflow(dimension.margin, 2, &room);
        overflow |= __builtin_add_overflow(room, std::max<std::uint64_t>(dimension.capacity(), 1), &room);
        overflow |= __builtin_mul_overflow(capacity, room, &capacity);
        dimension.split = 0;
        dimension.many = dimension.few = room;
        empty |= dimension.extent == 0;
    }
    if (empty) {
        origin = 0;
        return 0;
    }
    if (overflow)
        throw RangeError{fmt::format("the largest part with a halo of {} elements on each side has more than 2^64 - 1 "
                                     "elements; ask for a smaller one",
                                     depth)};
    return capacity;
}

} // namespace lapwing::detail::distribution
