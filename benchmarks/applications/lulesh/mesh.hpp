#pragma once

#include "hexahedron.hpp"
#include "parts.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace lapwing::bench::applications::hydro {

/// A neighbour of an element beyond the end of the mesh.
inline constexpr Number mirrored = -1; ///< beyond a plane of symmetry: the element itself
inline constexpr Number outside = -2;  ///< nothing is there

/// The lists of one rank: a cube of `side`^3 elements between (side + 1)^3 nodes, an eighth of the sphere that the
/// blast fills. Elements and nodes are numbered with x fastest and z slowest, and each rank has a block of both. The
/// program knows the mesh by these lists alone, as if it were any.
struct Mesh {
    Mesh(Number side, int ranks, int rank);

    Parts elements;
    Parts nodes;
    Parts corners; ///< eight for each element

    // Of own elements.
    std::vector<std::array<Number, 8>> nodes_of;
    std::vector<std::array<Number, 6>> neighbours; ///< before and after along each axis
    std::vector<double> volume;                    ///< at the start, and the mass: the density is 1
    // Of own nodes.
    std::vector<std::size_t> corners_begin; ///< one more than there are nodes
    std::vector<Number> corners_of;         ///< of all elements that a node is a corner of, in ascending order
    std::array<std::vector<double>, 3> position;
    std::vector<double> mass;
    std::array<std::vector<bool>, 3> on_plane; ///< of symmetry, by its normal: the node stays on it

    double volume_of_first; ///< element, at the start
};

} // namespace lapwing::bench::applications::hydro
