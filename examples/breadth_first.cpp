// Breadth-first search from one vertex of a graph whose vertices are distributed over the ranks: level by level each
// rank claims the neighbours of its part of the frontier, all in one message an owner, and continues from those that it
// won. Ends with a check against the same search on one rank.
//
//     mpirun -n 4 breadth_first
#include <lapwing/lapwing.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::int64_t vertices = 5000;
constexpr std::int64_t unseen = -1;

/// A graph that every rank can compute: a ring with shortcuts. Not all of it need be reached.
std::array<std::int64_t, 3> neighbours(std::int64_t vertex) {
    return {(vertex * 7 + 3) % vertices, (vertex * vertex + 11) % vertices, (vertex + vertices / 3) % vertices};
}

} // namespace

int main() {
    lapwing::Runtime runtime;
    lapwing::GlobalArray<std::int64_t, 1> level_of{runtime, {vertices}, lapwing::Cyclic{}};
    level_of.fill(unseen);

    std::vector<std::int64_t> frontier; // that this rank has claimed
    if (runtime.rank() == 0) {
        level_of(0).atomic().exchange(0);
        frontier = {0};
    }
    runtime.barrier();
    for (std::int64_t level = 1; runtime.sum(static_cast<std::int64_t>(frontier.size())) > 0; ++level) {
        std::vector<std::int64_t> wanted;
        for (const std::int64_t vertex : frontier)
            for (const std::int64_t neighbour : neighbours(vertex)) wanted.push_back(neighbour);
        std::vector<std::int64_t> found(wanted.size());
        level_of.compare_swap(wanted, unseen, level, found); // of all ranks that want a vertex one finds it unseen
        frontier.clear();
        for (std::size_t k = 0; k < wanted.size(); ++k)
            if (found[k] == unseen) frontier.push_back(wanted[k]);
    }
    runtime.barrier();

    int wrong = 0;
    if (runtime.rank() == 0) {
        std::vector<std::int64_t> expected(vertices, unseen);
        expected[0] = 0;
        std::int64_t reached = 0;
        for (std::vector<std::int64_t> now{0}; !now.empty();) {
            std::vector<std::int64_t> after;
            for (const std::int64_t vertex : now) {
                ++reached;
                for (const std::int64_t neighbour : neighbours(vertex)) {
                    std::int64_t& level = expected[static_cast<std::size_t>(neighbour)];
                    if (level != unseen) continue;
                    level = expected[static_cast<std::size_t>(vertex)] + 1;
                    after.push_back(neighbour);
                }
            }
            now = after;
        }
        std::vector<std::int64_t> levels(vertices);
        level_of(level_of.domain()).get(levels);
        wrong = levels == expected ? 0 : 1;
        std::printf("%lld of %lld vertices reached, %s as on one rank\n", static_cast<long long>(reached),
                    static_cast<long long>(vertices), wrong == 0 ? "on the same levels" : "NOT on the same levels");
    }
    runtime.barrier(); // rank 0 has read the others' parts
    return wrong;
}
