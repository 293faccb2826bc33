// Room: arrays
#pragma once

#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/detail/hot_pages.hpp>
#include <lapwing/detail/reciprocal.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lapwing::detail::arrays {

/// Where the elements of other nodes are, for arrays that are cached: prepared so that it costs one multiplication a
/// dimension that is distributed in one block per process or by single indices, and two where blocks are dealt. Serves
/// nodes whose ranks are numbered one after the other; others find nothing here.
template <std::size_t N>
class RemoteElements {
public:
    struct Place {
        int owner = 0;
        std::uint64_t offset = 0; ///< in elements
    };

    RemoteElements() noexcept = default;
    /// `near_served`: NodeElements finds all elements of this node.
    RemoteElements(const BlockCyclicMap<N>& map, const transport::MemoryMap& memory, bool near_served) noexcept {
        if (memory.node_index != nullptr) return;
        std::array<Dimension, N> dimensions{};
        for (std::size_t d = 0; d < N; ++d) {
            const distribution::DimensionMap& from = map.dimensions()[d];
            Dimension& to = dimensions[d];
            to.extent = from.extent;
            to.rank_stride = from.rank_stride;
            to.run = from.processes() > 1 ? 1 : from.extent;
            to.split = from.split;
            to.many = from.many;
            to.few = from.few;
            if (from.processes() == 1) continue; // as dealt to one process: no division at all
            if (from.block() == 1) {
                to.divide = from.by_processes;
                continue;
            }
            to.divide = from.by_block;
            to.run = from.block();
            to.dealing = from.one_round() ? Dealing::one_block : Dealing::blocks;
            to.by_processes = from.by_processes;
        }
        dimensions_ = dimensions;
        origin_ = map.origin();
        if (near_served)
            for (std::size_t d = 0; d < N; ++d) extents_[d] = dimensions[d].extent;
        first_ = memory.node_first;
        count_ = static_cast<unsigned>(memory.node_count);
    }

    /// Whether an element, which NodeElements has not found, is surely of another node.
    [[nodiscard]] bool holds(const Index<N>& index) const noexcept {
        for (std::size_t d = 0; d < N; ++d)
            if (static_cast<std::uint64_t>(index[d]) >= extents_[d]) return false;
        return true;
    }
    /// Finds an element; false if it is of this node, out of bounds, or the map is not served.
    [[nodiscard]] bool find(const Index<N>& index, Place& place) const noexcept {
        int owner = 0;
        std::uint64_t offset = origin_;
        std::uint64_t stride = 1;
        for (std::size_t d = N; d-- > 0;) {
            const Dimension& dimension = dimensions_[d];
            const auto i = static_cast<std::uint64_t>(index[d]);
            if (i >= dimension.extent) [[unlikely]]
                return false;
            auto [process, local] = dimension.divide.divide(i);
            if (dimension.dealing == Dealing::single_indices) {
                std::swap(process, local);
            } else if (dimension.dealing == Dealing::blocks) {
                const auto [round, dealt_to] = dimension.by_processes.divide(process);
                process = dealt_to;
                local += round * dimension.run;
            }
            // Strides of the last dimension are 1.
            owner += d == N - 1 ? static_cast<int>(process) : static_cast<int>(process) * dimension.rank_stride;
            offset += d == N - 1 ? local : local * stride;
            if (d != 0) stride *= process < dimension.split ? dimension.many : dimension.few;
        }
        place = {owner, offset};
        return static_cast<unsigned>(owner - first_) >= count_;
    }

    /// Whether so many neighbours in a row lie one after another that a run of them is worth being entered.
    [[nodiscard]] bool has_rows() const noexcept { return dimensions_[N - 1].run >= worth_a_run; }
    /// An element that find() has found, with its neighbours in the row; `element_bytes` each. Only if has_rows().
    [[nodiscard]] window::HotPageElement<N> with_neighbours(const Index<N>& index, const Place& place,
                                                            std::uint64_t element_bytes) const noexcept {
        const Dimension& last = dimensions_[N - 1];
        const auto i = static_cast<std::uint64_t>(index[N - 1]);
        const std::uint64_t before = last.run == last.extent ? i : last.divide.divide(i).remainder;
        return {.index = index,
                .rank = place.owner,
                .offset = place.offset * element_bytes,
                .before = before,
                .after = std::min(last.run - before, last.extent - i)};
    }

private:
    static constexpr std::uint64_t worth_a_run = 8; ///< to enter one takes as long as a few hits without it

    using Dealing = distribution::Dealing;
    struct Dimension {
        std::uint64_t extent = 0;
        distribution::Reciprocal divide;
        int rank_stride = 1;
        std::uint64_t run = 1; ///< indices that lie one after another
        distribution::Dealing dealing = distribution::Dealing::single_indices;
        distribution::Reciprocal by_processes; ///< for blocks
        std::uint64_t split = 0;               ///< as in DimensionMap
        std::uint64_t many = 0;
        std::uint64_t few = 0;
    };

    std::array<std::uint64_t, N> extents_{}; ///< 0 if holds() cannot tell
    std::array<Dimension, N> dimensions_{};
    std::uint64_t origin_ = 0;
    int first_ = 0;
    unsigned count_ = 0;
};

} // namespace lapwing::detail::arrays
