// Kernel 4 of the HPCS graph benchmark SSCA2 (Bader, Madduri, Gilbert, Shah, Kepner, Meuse, Krishnamurthy, CTWatch
// Quarterly 2006): betweenness centrality of the vertices of an R-MAT graph, by the algorithm of Brandes (Journal of
// Mathematical Sociology, 2001), level by level from one root after the other.
#include "../irregular/deliveries.hpp"
#include "../irregular/exchange.hpp"
#include "../irregular/random_numbers.hpp"
#include "application.hpp"
#include "ssca2/graph.hpp"

#include <lapwing/global_array.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::bench::applications {
namespace {

using irregular::Edges;
using irregular::Number;
using irregular::pair_of;
using irregular::Parts;
using irregular::Rows;

constexpr std::uint64_t root_stream = 803;
constexpr std::int64_t not_found = -1;

class Betweenness : public Application {
public:
    /// From 2^log_roots of the vertices.
    Betweenness(Ranks ranks, int scale, int log_roots)
        : ranks_{ranks},
          edges_{rmat(scale)},
          graph_{ranks.world,
                 Parts{edges_.vertices, static_cast<Number>(ranks.size()), static_cast<Number>(ranks.rank())}, edges_},
          elements_{ranks, parts_, {}},
          cached_{ranks, parts_, {.mode = CacheMode::epoch}},
          own_distance_(parts_.block()),
          own_paths_(parts_.block()),
          own_dependency_(parts_.block()),
          centrality_(parts_.block()) {
        for (Number k = 0; k < Number{1} << std::min(scale, log_roots); ++k)
            roots_.push_back(irregular::shuffled(edges_.vertices, root_stream, k));
        expected_ = serial_centrality(edges_, roots_);
    }

    void prepare(Way /*way*/) override { std::ranges::fill(centrality_, 0.0); }

    void run(Way way) override {
        for (const Number root : roots_) {
            if (way == Way::elements) from_root_by_elements(root, elements_);
            else if (way == Way::cached) from_root_by_elements(root, cached_);
            else from_root_by_messages(root, way);
        }
    }

    std::string fault(Way /*way*/) override {
        const std::vector<double> all = irregular::collected<double>(ranks_.world, centrality_);
        const auto largest = std::ranges::max_element(all);
        most_central_ = {static_cast<Number>(largest - all.begin()), *largest};
        for (Number vertex = 0; vertex < edges_.vertices; ++vertex)
            if (!(std::abs(all[vertex] - expected_[vertex]) <= 1e-9 * expected_[vertex]))
                return fmt::format("the centrality of vertex {} is {:.15g}, and in a serial run {:.15g}", vertex,
                                   all[vertex], expected_[vertex]);
        return "";
    }

    /// Edges traversed, as the specification counts them.
    double operations() const override { return 7.0 * edges_.vertices * static_cast<double>(roots_.size()); }

private:
    /// What is found out about vertices.
    struct Arrays {
        Arrays(Ranks ranks, const Parts& parts, const CacheOptions& cache)
            : distance{ranks.runtime, extents(parts), Block{}, {.name = "distance", .cache = cache}},
              paths{ranks.runtime, extents(parts), Block{}, {.name = "paths", .cache = cache}},
              dependency{ranks.runtime, extents(parts), Block{}, {.name = "dependency", .cache = cache}} {}
        /// Blocks of the same vertices as the graph's.
        [[nodiscard]] static Extents<1> extents(const Parts& parts) {
            return {std::int64_t{parts.block()} * parts.ranks()};
        }

        GlobalArray<std::int64_t, 1> distance; ///< from the root
        GlobalArray<std::int64_t, 1> paths;    ///< shortest ones
        GlobalArray<double, 1> dependency;
    };

    /// Every edge to a vertex that may be on the next level is an atomic on its distance; if it is on that level,
    /// another one on the number of its paths.
    void from_root_by_elements(Number root, Arrays& arrays) {
        const std::span<std::int64_t> distance = arrays.distance.local_span();
        const std::span<std::int64_t> paths = arrays.paths.local_span();
        std::ranges::fill(distance, not_found);
        std::ranges::fill(paths, 0);
        levels_.clear();
        if (parts_.owns(root)) {
            distance[root - parts_.first()] = 0;
            paths[root - parts_.first()] = 1;
        }
        ranks_.runtime.barrier();
        std::int64_t found = 1;
        for (std::int64_t level = 0; found > 0; ++level) {
            std::vector<Number>& frontier = levels_.emplace_back();
            for (Number local = 0; local < parts_.own(); ++local)
                if (distance[local] == level) frontier.push_back(local);
            found = ranks_.runtime.sum(static_cast<std::int64_t>(frontier.size())); // all have looked
            for (const Number local : frontier)
                for (const Number next : graph_.row(local)) {
                    const std::int64_t before = arrays.distance(next).atomic().compare_swap(not_found, level + 1);
                    if (before == not_found || before == level + 1) arrays.paths(next).atomic().add(paths[local]);
                }
            ranks_.runtime.barrier();
        }
        const std::span<double> dependency = arrays.dependency.local_span();
        for (std::size_t level = levels_.size(); level-- > 0;) {
            for (const Number local : levels_[level]) {
                double sum = 0;
                for (const Number next : graph_.row(local))
                    if (arrays.distance(next) == static_cast<std::int64_t>(level) + 1)
                        sum += (1 + arrays.dependency(next)) / static_cast<double>(arrays.paths(next));
                dependency[local] = sum * static_cast<double>(paths[local]);
                if (level > 0) centrality_[local] += dependency[local];
            }
            ranks_.runtime.barrier();
        }
    }

    /// An edge from the last level to a vertex that may be on the next one.
    struct Step {
        Number to;   ///< counted from its owner's first
        Number from; ///< of all vertices
        std::int64_t paths;
    };
    /// What a vertex adds to the dependency of one before it, by the number of that one's paths.
    struct Share {
        Number to; ///< counted from its owner's first
        double share;
    };

    /// Steps go to the owners of the vertices that they lead to, which keep where they came from; then shares go back.
    void from_root_by_messages(Number root, Way way) {
        std::ranges::fill(own_distance_, not_found);
        std::ranges::fill(own_paths_, 0);
        std::ranges::fill(own_dependency_, 0.0);
        steps_taken_.clear();
        std::vector<Number> frontier;
        if (parts_.owns(root)) {
            own_distance_[root - parts_.first()] = 0;
            own_paths_[root - parts_.first()] = 1;
            frontier.push_back(root - parts_.first());
        }
        std::int64_t sent = 1;
        for (std::int64_t level = 1; sent > 0; ++level) {
            std::vector<Number> next;
            std::vector<Step>& taken = steps_taken_.emplace_back();
            const auto take = [&](const Step& step) {
                if (own_distance_[step.to] == not_found) {
                    own_distance_[step.to] = level;
                    next.push_back(step.to);
                }
                if (own_distance_[step.to] != level) return;
                own_paths_[step.to] += step.paths;
                taken.push_back(step);
            };
            sent = way == Way::mpi ? exchange_steps(frontier, take) : deliver_steps(frontier, take);
            frontier = std::move(next);
        }
        for (std::size_t level = steps_taken_.size(); level-- > 0;) {
            const auto take = [&](const Share& share) {
                own_dependency_[share.to] += share.share * static_cast<double>(own_paths_[share.to]);
            };
            if (way == Way::mpi) exchange_shares(steps_taken_[level], take);
            else deliver_shares(steps_taken_[level], take);
        }
        for (Number local = 0; local < parts_.own(); ++local)
            if (own_distance_[local] > 0) centrality_[local] += own_dependency_[local];
    }

    /// Calls `step(owner, step)` for each edge from the frontier.
    template <class Function>
    void for_each_step(std::span<const Number> frontier, const Function& step) const {
        for (const Number local : frontier)
            for (const Number next : graph_.row(local)) {
                const auto [owner, to] = parts_.place(next);
                step(owner, Step{to, parts_.first() + local, own_paths_[local]});
            }
    }
    template <class Function>
    void for_each_share(std::span<const Step> taken, const Function& share) const {
        for (const Step& step : taken) {
            const auto [owner, to] = parts_.place(step.from);
            share(owner, Share{to, (1 + own_dependency_[step.to]) / static_cast<double>(own_paths_[step.to])});
        }
    }

    // Collective: all steps or shares to their owners. Those of steps return how many all ranks have sent.
    template <class Take>
    std::int64_t deliver_steps(std::span<const Number> frontier, const Take& take) {
        const auto arrived = step_deliveries_([&](auto&& to) { for_each_step(frontier, to); });
        const std::int64_t sent = step_deliveries_.sent_by_all();
        for (const Step& step : arrived) take(step);
        return sent;
    }
    template <class Take>
    void deliver_shares(std::span<const Step> taken, const Take& take) {
        for (const Share& share : share_deliveries_([&](auto&& to) { for_each_share(taken, to); })) take(share);
    }
    template <class Take>
    std::int64_t exchange_steps(std::span<const Number> frontier, const Take& take) {
        std::int64_t sent = 0;
        for (const Number local : frontier) sent += graph_.degree(local);
        // Two words for each, which stay neighbours.
        const std::span<const std::uint64_t> words = exchange_([&](auto&& to) {
            for_each_step(frontier, [&](Number owner, const Step& step) {
                to(owner, pair_of(step.to, step.from));
                to(owner, static_cast<std::uint64_t>(step.paths));
            });
        });
        for (std::size_t k = 0; k < words.size(); k += 2)
            take(Step{irregular::number_of(words[k]), irregular::value_of(words[k]),
                      static_cast<std::int64_t>(words[k + 1])});
        return irregular::sum(ranks_.world, sent);
    }
    template <class Take>
    void exchange_shares(std::span<const Step> taken, const Take& take) {
        const std::span<const std::uint64_t> words = exchange_([&](auto&& to) {
            for_each_share(taken, [&](Number owner, const Share& share) {
                to(owner, share.to);
                to(owner, std::bit_cast<std::uint64_t>(share.share));
            });
        });
        for (std::size_t k = 0; k < words.size(); k += 2)
            take(Share{static_cast<Number>(words[k]), std::bit_cast<double>(words[k + 1])});
    }

    Ranks ranks_;
    Edges edges_;
    Rows graph_;
    const Parts& parts_ = graph_.parts();
    std::vector<Number> roots_;
    std::vector<double> expected_;
    Arrays elements_;
    Arrays cached_;
    std::vector<std::int64_t> own_distance_; ///< of the ways that send messages, as the next two
    std::vector<std::int64_t> own_paths_;
    std::vector<double> own_dependency_;
    std::vector<double> centrality_;             ///< of own vertices
    std::vector<std::vector<Number>> levels_;    ///< own vertices by their distance
    std::vector<std::vector<Step>> steps_taken_; ///< to own vertices of each level from 1 on
    std::pair<Number, double> most_central_;
    irregular::Exchange<std::uint64_t> exchange_{ranks_.world};
    irregular::Deliveries<Step> step_deliveries_{ranks_.runtime};
    irregular::Deliveries<Share> share_deliveries_{ranks_.runtime};
};

} // namespace

ApplicationKind ssca2() {
    const auto input = [](int scale, int log_roots) {
        return [=](Ranks ranks) { return std::make_unique<Betweenness>(ranks, scale, log_roots); };
    };
    const std::vector<Way> ways{Way::functions, Way::cached, Way::elements};
    return {.name = "applications/ssca2",
            .summary = "betweenness centrality, kernel 4 of SSCA2; fails unless each vertex has that of a serial run",
            .operations = "edges",
            .inputs = {{"scale 8, 32 roots", ways, input(8, 5)},
                       {"scale 8, all roots", ways, input(8, 8), Size::full},
                       {"scale 12, 64 roots", {Way::functions, Way::cached}, input(12, 6), Size::full},
                       {"scale 7, 8 roots", ways, input(7, 3), Size::small}}};
}

} // namespace lapwing::bench::applications
