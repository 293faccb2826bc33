// Room: arrays
#pragma once

#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/detail/reciprocal.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

/// What an access to one element reads, prepared so that a local element costs one comparison a dimension, and so does
/// a node neighbour's where the node's elements are one dense box; else two multiplications more in a dimension that is
/// distributed.
namespace lapwing::detail::arrays {

/// Indices that are one box, and neighbours in memory as they are neighbours in the box; else empty.
template <std::size_t N>
class DenseBox {
public:
    DenseBox() noexcept = default;
    /// `box` has strides of 1; `strides` are those of the memory, in elements, the last one 1.
    DenseBox(const Domain<N>& box, const std::array<std::uint64_t, N>& strides) noexcept : stride_{strides} {
        if (box.empty()) return;
        for (std::size_t d = 0; d < N; ++d) {
            first_[d] = box.range(d).first();
            extent_[d] = box.range(d).size();
        }
    }

    [[nodiscard]] bool empty() const noexcept { return extent_[0] == 0; }
    [[nodiscard]] const Index<N>& first() const noexcept { return first_; }
    [[nodiscard]] std::uint64_t extent(std::size_t d) const noexcept { return extent_[d]; }
    [[nodiscard]] Domain<N> domain() const {
        std::array<Range, N> ranges;
        for (std::size_t d = 0; d < N; ++d) ranges[d] = Range::strided(first_[d], extent_[d], 1);
        return Domain<N>{ranges};
    }
    /// Of the memory, in elements.
    [[nodiscard]] const std::array<std::uint64_t, N>& strides() const noexcept { return stride_; }
    [[nodiscard]] bool holds(const Index<N>& index) const noexcept { return holds(index, extent_[0]); }
    /// The same as if it had so many of the first indices.
    [[nodiscard]] bool holds(const Index<N>& index, std::uint64_t first_extent) const noexcept {
        // Below the first index the difference wraps around to more than any extent.
        if (from_first(index, 0) >= first_extent) [[unlikely]]
            return false;
        for (std::size_t d = 1; d < N; ++d)
            if (from_first(index, d) >= extent_[d]) [[unlikely]]
                return false;
        return true;
    }
    /// Place in memory, in elements after the box's first, of an index that the box holds.
    [[nodiscard]] std::uint64_t offset(const Index<N>& index) const noexcept {
        std::uint64_t sum = from_first(index, N - 1);
        for (std::size_t d = 0; d + 1 < N; ++d) sum += from_first(index, d) * stride_[d];
        return sum;
    }

private:
    [[nodiscard]] std::uint64_t from_first(const Index<N>& index, std::size_t d) const noexcept {
        return static_cast<std::uint64_t>(index[d]) - static_cast<std::uint64_t>(first_[d]);
    }

    Index<N> first_{};
    std::array<std::uint64_t, N> extent_{};
    std::array<std::uint64_t, N> stride_{};
};

/// Such a box and where its elements are.
template <std::size_t N>
struct PlacedBox {
    DenseBox<N> box;
    std::byte* first = nullptr; ///< not null if the box holds anything

    /// The address of an element, or null if the box does not hold it.
    template <class T>
    [[nodiscard, gnu::always_inline]] T* find(const Index<N>& index) const noexcept {
        return reinterpret_cast<T*>(find(index, sizeof(T)));
    }
    [[nodiscard, gnu::always_inline]] std::byte* find(const Index<N>& index, std::size_t element_bytes) const noexcept {
        if (!box.holds(index)) [[unlikely]]
            return nullptr;
        if (first == nullptr) __builtin_unreachable(); // spares the caller the test for null
        return first + box.offset(index) * element_bytes;
    }
};

/// The elements of consecutive ranks whose parts begin at equal distances, where those ranks are a box of the process
/// grid, and their rows are of one length. Others find nothing here: the map then says where each is. There is one for
/// the ranks of this node, in memory, and one for all ranks of a window, in the order of its page table.
///
/// The place of an element is then linear in its index and in the quotients by which the map deals it (see
/// DimensionMap). With i the index in a dimension, b the block, P the processes, S and A the distances between
/// neighbour elements of a part and between the parts of neighbour processes, the place in that dimension is
///     i S + q (A - b S)                    one block a process: q = i / b is the process
///     i S + q (A - b S) + r (b S - P A)    several: r = q / P is the round
/// and where parts lie one after another as their indices do, A = b S, no division is left at all. Where there are some
/// of the processes of a dimension of several rounds, the process q - r P says whether the element is among theirs.
template <std::size_t N>
class LinearElements {
public:
    LinearElements() noexcept = default;
    /// Of the `count` ranks from `first_rank` on, whose parts begin at `begin` and then at equal distances, in bytes.
    LinearElements(const BlockCyclicMap<N>& map, int first_rank, int count, std::uint64_t begin, std::uint64_t distance,
                   std::size_t element_bytes) noexcept {
        // Ranks without a place in the grid are the last ones.
        int processes = 1;
        for (const distribution::DimensionMap& dimension : map.dimensions()) processes *= dimension.processes();
        const int last = std::min(first_rank + count, processes) - 1;
        if (last < first_rank) return;

        std::array<Dimension, N> dimensions{};
        int box_size = 1;
        std::uint64_t element = element_bytes; // distance of neighbours in the dimension
        for (std::size_t d = N; d-- > 0;) {
            const distribution::DimensionMap& from = map.dimensions()[d];
            const int low = from.process_of(first_rank);
            const int high = from.process_of(last);
            if (low > high) return;
            box_size *= high - low + 1;
            dimensions[d] = make(from, low, high, element, distance);
            if (d == 0) continue;
            const std::uint64_t room = from.room(static_cast<std::uint64_t>(low));
            if (room != from.room(static_cast<std::uint64_t>(high))) return;
            element *= room;
        }
        // The box between the first and the last rank holds these ranks only if it holds as many.
        if (box_size != last - first_rank + 1) return;
        begin_ = begin + map.origin() * element_bytes;
        dimensions_ = dimensions;
        serves_ = true;
    }
    /// Of the ranks of this node.
    LinearElements(const BlockCyclicMap<N>& map, const transport::MemoryMap& memory,
                   std::size_t element_bytes) noexcept {
        if (memory.node_index != nullptr || memory.node_count == 0) return;
        const auto distance = static_cast<std::uint64_t>(memory.node_count > 1 ? memory.bases[1] - memory.bases[0] : 0);
        for (int i = 1; i < memory.node_count; ++i)
            if (static_cast<std::uint64_t>(memory.bases[i] - memory.bases[i - 1]) != distance) return;
        *this = LinearElements{
            map,      memory.node_first, memory.node_count, reinterpret_cast<std::uint64_t>(memory.bases[0]),
            distance, element_bytes};
    }

    /// Whether find() finds all elements of these ranks.
    [[nodiscard]] bool serves() const noexcept { return serves_; }
    /// Whether find() looks at an element, which may still be of another rank.
    [[nodiscard, gnu::always_inline]] bool holds(const Index<N>& index) const noexcept {
        for (std::size_t d = 0; d < N; ++d)
            if (static_cast<std::uint64_t>(index[d]) - dimensions_[d].first >= dimensions_[d].extent) return false;
        return true;
    }
    /// The place of an element; false if it is of another rank, out of bounds, or the map is not served.
    [[nodiscard, gnu::always_inline]] bool find(const Index<N>& index, std::uint64_t& place) const noexcept {
        std::uint64_t sum = begin_;
        for (std::size_t d = 0; d < N; ++d) {
            const Dimension& dimension = dimensions_[d];
            const std::uint64_t i = static_cast<std::uint64_t>(index[d]) - dimension.first;
            if (i >= dimension.extent) [[unlikely]]
                return false;
            sum += i * dimension.stride;
            if (dimension.divisions == 0) continue;
            const std::uint64_t block = dimension.by_block.quotient(i);
            sum += block * dimension.block_stride;
            if (dimension.divisions <= 1) [[likely]]
                continue;
            const std::uint64_t round = dimension.by_processes.quotient(block);
            sum += round * dimension.round_stride;
            if (dimension.divisions == 2) [[likely]]
                continue;
            if (block - round * dimension.by_processes.divisor() - dimension.first_process >= dimension.processes)
                return false;
            sum -= dimension.before;
        }
        place = sum;
        return true;
    }
    /// The address of an element, if these places are addresses; null if it is not found.
    template <class T>
    [[nodiscard, gnu::always_inline]] T* find(const Index<N>& index) const noexcept {
        std::uint64_t place = 0;
        if (!find(index, place)) [[unlikely]]
            return nullptr;
        T* const address = reinterpret_cast<T*>(place);
        if (address == nullptr) __builtin_unreachable(); // spares the caller the test for null
        return address;
    }

    /// The same elements where no division is needed: a box, and the address of its first element.
    [[nodiscard]] std::pair<DenseBox<N>, std::byte*> dense(std::size_t element_bytes) const noexcept {
        if (!serves_ || dimensions_[N - 1].stride != element_bytes) return {};
        std::array<Range, N> ranges;
        std::array<std::uint64_t, N> strides{};
        for (std::size_t d = 0; d < N; ++d) {
            const Dimension& dimension = dimensions_[d];
            if (dimension.divisions != 0 || dimension.stride % element_bytes != 0) return {};
            ranges[d] = {static_cast<std::int64_t>(dimension.first),
                         static_cast<std::int64_t>(dimension.first + dimension.extent)};
            strides[d] = dimension.stride / element_bytes;
        }
        return {DenseBox<N>{Domain<N>{ranges}, strides}, reinterpret_cast<std::byte*>(begin_)};
    }

private:
    /// One dimension. Strides are in bytes, modulo 2^64.
    struct Dimension {
        std::uint64_t first = 0; ///< of the indices
        std::uint64_t extent = 0;
        std::uint64_t stride = 0;
        int divisions = 0; ///< that an address needs: 0, 1 by the block, 2, or 3 with a look at the process
        distribution::Reciprocal by_block;
        std::uint64_t block_stride = 0;
        distribution::Reciprocal by_processes;
        std::uint64_t round_stride = 0;
        std::uint64_t first_process = 0; ///< where there are not all
        std::uint64_t processes = 0;
        std::uint64_t before = 0; ///< distance from the segment of process 0 to that of the first of them
    };

    [[nodiscard]] static Dimension make(const distribution::DimensionMap& from, int low, int high,
                                        std::uint64_t element, std::uint64_t part_distance) noexcept {
        const std::uint64_t process = static_cast<std::uint64_t>(from.rank_stride) * part_distance;
        const std::uint64_t block = from.block();
        Dimension to;
        if (from.one_round()) {
            to.first = std::min(from.extent, static_cast<std::uint64_t>(low) * block);
            to.extent = std::min(from.extent, (static_cast<std::uint64_t>(high) + 1) * block) - to.first;
        } else {
            to.extent = from.extent;
        }
        to.stride = element;
        to.by_block = from.by_block;
        to.block_stride = process - block * element;
        to.by_processes = from.by_processes;
        to.round_stride = block * element - from.by_processes.divisor() * process;
        if (!from.one_round() && high - low + 1 < from.processes()) {
            to.divisions = 3;
            to.first_process = static_cast<std::uint64_t>(low);
            to.processes = static_cast<std::uint64_t>(high - low + 1);
            to.before = to.first_process * process;
        } else if (block == 1) { // the block is the index
            to.stride += to.block_stride;
            to.by_block = to.by_processes;
            to.block_stride = to.round_stride;
            to.divisions = from.one_round() || to.round_stride == 0 ? 0 : 1;
        } else if (from.one_round()) {
            to.divisions = low == high || to.block_stride == 0 ? 0 : 1;
        } else {
            to.divisions = 2;
        }
        return to;
    }

    std::array<Dimension, N> dimensions_{}; ///< of no extent if the map is not served
    std::uint64_t begin_ = 0;               ///< the place of index 0, if the formula held for it
    bool serves_ = false;
};

} // namespace lapwing::detail::arrays
