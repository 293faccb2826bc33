// Room: distribution
#pragma once

#include <lapwing/rank.hpp>

#include <cstdint>

namespace lapwing {

/// Where an element is.
struct Location {
    Rank owner{-1};           ///< Rank{-1}: the index is not stored (above the diagonal of a lower triangle, say)
    std::uint64_t offset = 0; ///< place in the owner's part, in elements
    /// How many elements, starting with this one, are contiguous at this owner as the last index increases. At least 1.
    /// A larger number makes bulk patches faster; a number that is too large makes them wrong.
    std::uint64_t contiguous = 1;

    friend constexpr bool operator==(const Location&, const Location&) = default;
};

} // namespace lapwing
