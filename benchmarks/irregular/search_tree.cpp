#include "search_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace lapwing::bench::irregular {
namespace {

using Levels = std::vector<std::int64_t>;

/// Rules 1 and 2: levels are counted from the root along the tree.
std::string fill_levels(Number root, std::span<const std::int64_t> parents, Levels& levels) {
    if (parents[root] != root) return fmt::format("the root {} has the parent {}", root, parents[root]);
    levels[root] = 0;
    std::vector<std::size_t> way;
    for (std::size_t vertex = 0; vertex < levels.size(); ++vertex) {
        if (parents[vertex] == no_parent) continue;
        std::size_t at = vertex;
        for (; levels[at] < 0; at = static_cast<std::size_t>(parents[at])) {
            if (parents[at] < 0 || static_cast<std::size_t>(parents[at]) >= levels.size())
                return fmt::format("vertex {} has the parent {}", at, parents[at]);
            if (way.size() == levels.size()) return fmt::format("vertex {} is in, or below, a cycle", vertex);
            way.push_back(at);
        }
        for (std::int64_t level = levels[at]; !way.empty(); way.pop_back()) levels[way.back()] = ++level;
    }
    return {};
}

} // namespace

std::string fault_of_tree(MPI_Comm world, const Edges& edges, Number root, std::span<const std::int64_t> parents) {
    Levels levels(edges.vertices, -1);
    if (std::string fault = fill_levels(root, parents, levels); !fault.empty()) return fault;
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    std::string fault;
    std::vector<unsigned char> joined(edges.vertices); // with its parent, by an edge
    const auto follow = [&](Number from, Number to) {
        if (levels[from] >= 0 && (levels[to] < 0 || levels[to] > levels[from] + 1))
            fault =
                fmt::format("an edge leads from {} on level {} to {} on level {}", from, levels[from], to, levels[to]);
        if (parents[to] == from) joined[to] = 1;
    };
    edges.for_each(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(size), [&](Number from, Number to) {
        follow(from, to);
        if (edges.both_ways) follow(to, from);
    });
    MPI_Allreduce(MPI_IN_PLACE, joined.data(), static_cast<int>(joined.size()), MPI_UNSIGNED_CHAR, MPI_MAX, world);
    for (Number vertex = 0; vertex < edges.vertices; ++vertex)
        if (vertex != root && levels[vertex] >= 0 && joined[vertex] == 0)
            return fmt::format("no edge joins {} with its parent {}", vertex, parents[vertex]);
    return fault;
}

} // namespace lapwing::bench::irregular
