// Room: array
#pragma once

#include <lapwing/block_cyclic_map.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/reciprocal.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

/// What an access to one element reads, prepared so that an own element costs one comparison a dimension, and a node
/// neighbour's one multiplication a dimension that is distributed.
namespace lapwing::array {

/// The own indices, where they are one box that is dense in own memory; else empty.
template <std::size_t N>
class OwnBox {
public:
    OwnBox() noexcept = default;
    /// `box` has strides of 1; `strides` are those of the memory, in elements, the last one 1.
    OwnBox(const Domain<N>& box, const std::array<std::uint64_t, N>& strides) noexcept : stride_{strides} {
        if (box.empty()) return;
        for (std::size_t d = 0; d < N; ++d) {
            first_[d] = box.range(d).first();
            extent_[d] = box.range(d).size();
        }
    }

    [[nodiscard]] bool holds(const Index<N>& index) const noexcept {
        // Below the first index the difference wraps around to more than any extent.
        for (std::size_t d = 0; d < N; ++d)
            if (from_first(index, d) >= extent_[d]) [[unlikely]]
                return false;
        return true;
    }
    /// Place in own memory, in elements, of an index that the box holds.
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

/// The elements of the ranks of this node. Serves maps in which a dimension needs one division (one block per process, or
/// single indices dealt), on nodes whose ranks are numbered one after the other; others find nothing here.
template <std::size_t N>
class NodeElements {
public:
    NodeElements() noexcept = default;
    NodeElements(const BlockCyclicMap<N>& map, const window::MemoryMap& memory) noexcept {
        if (memory.node_index != nullptr) return;
        for (std::size_t d = 0; d < N; ++d) {
            const DimensionMap& from = map.dimensions()[d];
            Dimension& to = dimensions_[d];
            to = {from.extent, {}, from.local_stride, from.rank_stride, true};
            if (from.processes() == 1) continue; // as dealt to one process: no division at all
            if (from.block() == 1) {
                to.divide = from.by_processes;
            } else if (from.one_round()) {
                to.divide = from.by_block;
                to.dealt = false;
            } else {
                return;
            }
        }
        bases_ = memory.bases;
        first_ = memory.node_first;
        count_ = static_cast<unsigned>(memory.node_count);
    }

    /// Address of an element, or null if it is not of this node, out of bounds, or the map is not served.
    template <class T>
    [[nodiscard]] T* find(const Index<N>& index) const noexcept {
        int owner = 0;
        std::uint64_t offset = 0;
        for (std::size_t d = 0; d < N; ++d) {
            const Dimension& dimension = dimensions_[d];
            const auto i = static_cast<std::uint64_t>(index[d]);
            if (i >= dimension.extent) [[unlikely]]
                return nullptr;
            auto [process, local] = dimension.divide.divide(i);
            if (dimension.dealt) std::swap(process, local);
            // Strides of the last dimension are 1.
            owner += d == N - 1 ? static_cast<int>(process) : static_cast<int>(process) * dimension.rank_stride;
            offset += d == N - 1 ? local : local * dimension.local_stride;
        }
        const auto neighbour = static_cast<unsigned>(owner - first_);
        if (neighbour >= count_) return nullptr;
        std::byte* const base = bases_[neighbour];
        if (base == nullptr) __builtin_unreachable(); // every part of a window that Lapwing allocates is mapped
        return reinterpret_cast<T*>(base) + offset;
    }

private:
    struct Dimension {
        std::uint64_t extent = 0;
        Reciprocal divide;
        std::uint64_t local_stride = 1;
        int rank_stride = 1;
        bool dealt = true; ///< the remainder is the process and the quotient the place, not the other way round
    };

    std::array<Dimension, N> dimensions_{};
    std::byte* const* bases_ = nullptr;
    int first_ = 0;
    unsigned count_ = 0;
};

} // namespace lapwing::array
