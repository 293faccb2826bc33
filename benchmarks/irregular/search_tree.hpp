#pragma once

#include "graph.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lapwing::bench::irregular {

/// A vertex's parent in a search, itself for the root; no_parent where the search has not been.
inline constexpr std::int64_t no_parent = -1;

/// Collective. What is wrong with the tree of a breadth-first search from `root`; empty if nothing. `parents`: of all
/// vertices, on every rank. The rules are those of the Graph500 specification (version 2.0, "Validation"):
/// 1. the tree has no cycles;
/// 2. each edge of the tree connects vertices whose levels differ by one;
/// 3. each edge of the graph connects vertices whose levels differ by at most one, or neither of which is in the tree
///    (where edges have a direction: no edge leads further than to the next level);
/// 4. so the tree spans what can be reached;
/// 5. a vertex and its parent are joined by an edge of the graph.
[[nodiscard]] std::string fault_of_tree(MPI_Comm world, const Edges& edges, Number root,
                                        std::span<const std::int64_t> parents);

} // namespace lapwing::bench::irregular
