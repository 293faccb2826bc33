// Room: array
#pragma once

#include <lapwing/detail/copy_state.hpp>
#include <lapwing/detail/needed_domains.hpp>
#include <lapwing/detail/prefetched_indices.hpp>

#include <cstddef>

namespace lapwing::array {

/// What an array has prefetched, as its element accesses see it.
template <std::size_t N>
struct PrefetchedElements {
    prefetching::CopyState& state;
    PrefetchedIndices<N> indices;
    bool of_node = false; ///< there are copies of elements that could be loaded
};

} // namespace lapwing::array
