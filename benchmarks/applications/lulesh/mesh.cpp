#include "mesh.hpp"

namespace lapwing::bench::applications::hydro {
namespace {

constexpr double edge_of_cube = 1.125;

using Place = std::array<Number, 3>; ///< counted along each axis

[[nodiscard]] Place place_of(Number number, Number side) {
    return {number % side, number / side % side, number / (side * side)};
}
[[nodiscard]] Number number_of(const Place& place, Number side) {
    return (place[2] * side + place[1]) * side + place[0];
}
/// 0 or 1: the side of an element that a corner is on.
[[nodiscard]] Number offset(std::size_t axis, std::size_t corner) { return hydro::side[axis][corner] > 0 ? 1 : 0; }

[[nodiscard]] double coordinate(Number count, Number side) {
    return edge_of_cube * static_cast<double>(count) / static_cast<double>(side);
}

/// Of an element at the start.
[[nodiscard]] double first_volume(const Place& element, Number side) {
    CornerVectors positions;
    for (std::size_t axis = 0; axis < 3; ++axis)
        for (std::size_t corner = 0; corner < 8; ++corner)
            positions[axis][corner] = coordinate(element[axis] + offset(axis, corner), side);
    return volume_of(positions);
}

void add_element(Mesh& mesh, Number number, Number side) {
    const Place element = place_of(number, side);
    std::array<Number, 8>& nodes = mesh.nodes_of.emplace_back();
    for (std::size_t corner = 0; corner < 8; ++corner) {
        Place node = element;
        for (std::size_t axis = 0; axis < 3; ++axis) node[axis] += offset(axis, corner);
        nodes[corner] = number_of(node, side + 1);
    }
    std::array<Number, 6>& neighbours = mesh.neighbours.emplace_back();
    for (std::size_t axis = 0; axis < 3; ++axis) {
        Place before = element;
        Place after = element;
        --before[axis];
        ++after[axis];
        neighbours[2 * axis] = before[axis] < 0 ? mirrored : number_of(before, side);
        neighbours[2 * axis + 1] = after[axis] == side ? outside : number_of(after, side);
    }
    mesh.volume.push_back(first_volume(element, side));
}

void add_node(Mesh& mesh, Number number, Number side) {
    const Place node = place_of(number, side + 1);
    double mass = 0;
    // As the upper corner of an element comes first in the order of the elements.
    for (std::size_t k = 0; k < 8; ++k) {
        const std::array<std::size_t, 8> descending{6, 7, 5, 4, 2, 3, 1, 0};
        const std::size_t corner = descending[k];
        Place element = node;
        bool inside = true;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            element[axis] -= offset(axis, corner);
            inside = inside && element[axis] >= 0 && element[axis] < side;
        }
        if (!inside) continue;
        mesh.corners_of.push_back(8 * number_of(element, side) + static_cast<Number>(corner));
        mass += first_volume(element, side) / 8;
    }
    mesh.corners_begin.push_back(mesh.corners_of.size());
    mesh.mass.push_back(mass);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        mesh.position[axis].push_back(coordinate(node[axis], side));
        mesh.on_plane[axis].push_back(node[axis] == 0);
    }
}

} // namespace

Mesh::Mesh(Number side, int ranks, int rank)
    : elements{side * side * side, ranks, rank},
      nodes{(side + 1) * (side + 1) * (side + 1), ranks, rank},
      corners{elements.count, ranks, rank, 8},
      corners_begin{0},
      volume_of_first{first_volume({0, 0, 0}, side)} {
    for (Number k = 0; k < elements.own(); ++k) add_element(*this, elements.first() + k, side);
    for (Number k = 0; k < nodes.own(); ++k) add_node(*this, nodes.first() + k, side);
}

} // namespace lapwing::bench::applications::hydro
