// Room: arrays
#pragma once

#include <lapwing/detail/copy_state.hpp>
#include <lapwing/detail/element_access.hpp>
#include <lapwing/detail/prefetched_indices.hpp>

#include <cstddef>
#include <vector>

namespace lapwing::detail::arrays {

/// What an array has prefetched, as its element accesses see it.
template <std::size_t N>
struct PrefetchedElements {
    explicit PrefetchedElements(prefetching::CopyState& copies) noexcept : state{copies} {}

    prefetching::CopyState& state;
    PrefetchedIndices<N> indices = {};
    bool of_node = false; ///< there are copies of elements that could be loaded
    std::vector<PlacedBox<N>> around =
        {}; ///< the local block with what of its halo is here: boxes that hold nothing else, the largest first
    PlacedBox<N> first = {}; ///< copies that reads look at before all others
};

} // namespace lapwing::detail::arrays
