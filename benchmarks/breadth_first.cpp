// breadth-first: a search through a random graph whose vertices are distributed over the ranks, level by level.
// Vertices are claimed by lists of compare_swap, compared with the same with messages to the owners, and beside one
// claim at a time. A level that is not that of a search on one rank ends the run.
#include "cached_array.hpp"

#include <fmt/format.h>

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t many_vertices = 20'000;
constexpr std::int64_t few_vertices = 500; ///< for claims one by one, which take a round trip each
constexpr std::uint64_t degree = 8;
constexpr std::int64_t unseen = -1;

using Levels = GlobalArray<std::int64_t, 1>;

/// The graph is a function, so that the claims are measured and not where its edges are kept.
std::int64_t neighbour(std::int64_t vertices, std::int64_t vertex, std::uint64_t edge) {
    return static_cast<std::int64_t>(scattered(static_cast<std::uint64_t>(vertex) * degree + edge) %
                                     static_cast<std::uint64_t>(vertices));
}

std::vector<std::int64_t> search_serially(std::int64_t vertices) {
    std::vector<std::int64_t> levels(static_cast<std::size_t>(vertices), unseen);
    levels[0] = 0;
    std::vector<std::int64_t> frontier{0};
    for (std::int64_t level = 1; !frontier.empty(); ++level) {
        std::vector<std::int64_t> next;
        for (const std::int64_t vertex : frontier)
            for (std::uint64_t edge = 0; edge < degree; ++edge) {
                const std::int64_t other = neighbour(vertices, vertex, edge);
                if (levels[static_cast<std::size_t>(other)] != unseen) continue;
                levels[static_cast<std::size_t>(other)] = level;
                next.push_back(other);
            }
        frontier = std::move(next);
    }
    return levels;
}

void check(bool correct, const char* who) {
    if (!correct)
        throw std::runtime_error{
            fmt::format("breadth-first: {}: vertices are not on the levels of a search on one rank", who)};
}

/// `claim(levels, wanted, level, found)` returns the previous level of each of the wanted vertices.
template <class Claim>
void search(Runtime& runtime, Levels& levels, Claim claim) {
    levels.fill(unseen);
    std::vector<std::int64_t> frontier;
    if (runtime.rank() == 0) {
        levels(0).atomic_write(0);
        frontier = {0};
    }
    runtime.barrier();
    std::vector<std::int64_t> wanted;
    std::vector<std::int64_t> found;
    for (std::int64_t level = 1; runtime.sum(static_cast<std::int64_t>(frontier.size())) > 0; ++level) {
        wanted.clear();
        for (const std::int64_t vertex : frontier)
            for (std::uint64_t edge = 0; edge < degree; ++edge)
                wanted.push_back(neighbour(levels.extent(0), vertex, edge));
        found.resize(wanted.size());
        claim(levels, wanted, level, found);
        frontier.clear();
        for (std::size_t k = 0; k < wanted.size(); ++k)
            if (found[k] == unseen) frontier.push_back(wanted[k]);
    }
    runtime.barrier();
}

template <class Claim>
Subject searches(const char* name, Runtime& runtime, Levels& levels, const std::vector<std::int64_t>& expected,
                 Claim claim) {
    return {.name = name, .run = [&runtime, &levels, &expected, name, claim](std::uint64_t iterations) {
                const double seconds = together(runtime, [&] {
                    for (std::uint64_t k = 0; k < iterations; ++k) search(runtime, levels, claim);
                });
                std::int64_t wrong = 0;
                for (const auto [v] : levels.local_domain())
                    wrong += levels.local(v) != expected[static_cast<std::size_t>(v)] ? 1 : 0;
                check(runtime.sum(wrong) == 0, name);
                return seconds;
            }};
}

/// The same by messages: the vertices found by a level go to their owners, who keep those that are new.
class MessageSearch {
public:
    explicit MessageSearch(MPI_Comm world) : world_{world} {
        MPI_Comm_rank(world, &rank_);
        MPI_Comm_size(world, &size_);
        for (std::int64_t v = rank_; v < many_vertices; v += size_) levels_.push_back(unseen);
        to_.resize(static_cast<std::size_t>(size_));
        for (auto* counts : {&send_counts_, &receive_counts_, &send_places_, &receive_places_})
            counts->resize(static_cast<std::size_t>(size_));
    }

    void search() {
        std::fill(levels_.begin(), levels_.end(), unseen);
        frontier_.clear();
        if (rank_ == 0) {
            levels_[0] = 0;
            frontier_ = {0};
        }
        for (std::int64_t level = 1;; ++level) {
            auto all = static_cast<std::int64_t>(frontier_.size());
            MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, world_);
            if (all == 0) return;
            exchange();
            frontier_.clear();
            for (const std::int64_t vertex : incoming_) {
                std::int64_t& seen = levels_[static_cast<std::size_t>(vertex / size_)];
                if (seen != unseen) continue;
                seen = level;
                frontier_.push_back(vertex);
            }
        }
    }
    [[nodiscard]] bool correct(const std::vector<std::int64_t>& expected) const {
        int wrong = 0;
        for (std::size_t k = 0; k < levels_.size(); ++k)
            wrong +=
                levels_[k] != expected[static_cast<std::size_t>(rank_) + k * static_cast<std::size_t>(size_)] ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, world_);
        return wrong == 0;
    }

private:
    void exchange() {
        for (auto& list : to_) list.clear();
        for (const std::int64_t vertex : frontier_)
            for (std::uint64_t edge = 0; edge < degree; ++edge) {
                const std::int64_t other = neighbour(many_vertices, vertex, edge);
                to_[static_cast<std::size_t>(other % size_)].push_back(other);
            }
        outgoing_.clear();
        for (std::size_t rank = 0; rank < to_.size(); ++rank) {
            send_places_[rank] = static_cast<int>(outgoing_.size());
            send_counts_[rank] = static_cast<int>(to_[rank].size());
            outgoing_.insert(outgoing_.end(), to_[rank].begin(), to_[rank].end());
        }
        MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, world_);
        int received = 0;
        for (std::size_t rank = 0; rank < to_.size(); ++rank) {
            receive_places_[rank] = received;
            received += receive_counts_[rank];
        }
        incoming_.resize(static_cast<std::size_t>(received));
        MPI_Alltoallv(outgoing_.data(), send_counts_.data(), send_places_.data(), MPI_INT64_T, incoming_.data(),
                      receive_counts_.data(), receive_places_.data(), MPI_INT64_T, world_);
    }

    MPI_Comm world_;
    int rank_ = 0;
    int size_ = 1;
    std::vector<std::int64_t> levels_;
    std::vector<std::int64_t> frontier_;
    std::vector<std::vector<std::int64_t>> to_;
    std::vector<std::int64_t> outgoing_;
    std::vector<std::int64_t> incoming_;
    std::vector<int> send_counts_;
    std::vector<int> receive_counts_;
    std::vector<int> send_places_;
    std::vector<int> receive_places_;
};

void breadth_first(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    const auto lists = [](Levels& array, const auto& wanted, std::int64_t level, auto& found) {
        array.compare_swap(wanted, unseen, level, found);
    };
    const auto one_by_one = [](Levels& array, const auto& wanted, std::int64_t level, auto& found) {
        for (std::size_t k = 0; k < wanted.size(); ++k) found[k] = array(wanted[k]).compare_swap(unseen, level);
    };
    const auto name = [](std::int64_t vertices) { return fmt::format("{} vertices of degree {}", vertices, degree); };
    {
        const std::vector<std::int64_t> expected = search_serially(many_vertices);
        Levels levels{runtime, {many_vertices}, Cyclic{}, {.name = "levels"}};
        MPI_Comm world = context.world();
        MessageSearch messages{world};
        Subject by_messages{.name = "MPI_Alltoallv to the owners", .run = [&](std::uint64_t iterations) {
                                const double seconds = together(world, [&] {
                                    for (std::uint64_t k = 0; k < iterations; ++k) messages.search();
                                });
                                check(messages.correct(expected), "MPI_Alltoallv");
                                return seconds;
                            }};
        context.compare(name(many_vertices), milliseconds(),
                        searches("lists of compare_swap", runtime, levels, expected, lists), {std::move(by_messages)});
    }
    {
        const std::vector<std::int64_t> expected = search_serially(few_vertices);
        Levels levels{runtime, {few_vertices}, Cyclic{}, {.name = "levels"}};
        context.compare(name(few_vertices), milliseconds(),
                        searches("lists of compare_swap", runtime, levels, expected, lists),
                        {searches("compare_swap one by one", runtime, levels, expected, one_by_one)});
    }
    runtime.close();
}

const Registration registration{
    {.name = "breadth-first",
     .summary = "search through a random graph by lists of claims; fails unless all levels are right",
     .run = breadth_first,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
