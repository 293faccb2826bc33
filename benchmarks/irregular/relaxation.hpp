#pragma once

#include "deliveries.hpp"
#include "exchange.hpp"
#include "graph.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lapwing::bench::irregular {

/// The value of a vertex that none has been found for.
inline constexpr Number no_value = 0xFFFF'FFFF;

/// What a Relaxation computes.
struct RelaxationProblem {
    Edges edges; ///< undirected
    /// The value that a vertex begins with, or no_value.
    std::function<Number(Number vertex)> begin;
    /// What an edge adds; null: nothing.
    std::function<Number(Number from, Number to)> weight = nullptr;
    /// Of a bucket of values, all of which are relaxed before larger ones.
    Number width = no_value;
    /// All values, from the whole graph on one rank.
    std::function<std::vector<Number>(const Rows& graph)> solve_serially;
};

/// Each vertex gets the smallest value of value + weight over its edges, until none changes: shortest paths by
/// delta-stepping (Meyer, Sanders, Journal of Algorithms 49, 2003), and connected components by the smallest number.
class Relaxation : public Kernel {
public:
    Relaxation(Ranks ranks, RelaxationProblem problem);

    void prepare(Way way) override;
    void run(Way way) override;
    [[nodiscard]] std::string fault(Way way) override;
    /// The edges whose vertices have got a value.
    [[nodiscard]] double operations() const override { return static_cast<double>(traversed_); }

private:
    [[nodiscard]] Number weight(std::size_t edge) const { return weights_.empty() ? 0 : weights_[edge]; }
    [[nodiscard]] std::size_t bucket_of(Number local) const { return values_[local] / problem_.width; }
    void put_in_bucket(Number local);
    /// Collective: the number of the first bucket in use; that of no_value if all are empty.
    [[nodiscard]] std::size_t first_bucket(Way way);
    /// Relaxes what belongs in a bucket, which may grow meanwhile: first the edges that are shorter than its width, at
    /// the end the others.
    void empty_bucket(Way way, std::size_t bucket);
    /// Adds the edges of a vertex to what relax() does.
    void collect(Number local, bool shorter);
    void relax(Way way);

    Ranks ranks_;
    RelaxationProblem problem_;
    Rows graph_;
    const Parts& parts_ = graph_.parts();
    std::vector<Number> weights_;   ///< of the edges in graph_.columns(); empty if there are none
    GlobalArray<Number, 1> shared_; ///< values of Lapwing's ways
    std::vector<Number> values_;    ///< where items are sent; else those that are in buckets already
    std::vector<Number> relaxed_;   ///< the values with which vertices were relaxed
    std::vector<std::vector<Number>> buckets_;
    std::vector<Number> active_;
    std::vector<Number> settled_; ///< vertices of the bucket
    std::vector<Number> targets_; ///< ends of edges, and their new values
    std::vector<Number> offers_;
    std::vector<Number> before_;
    std::vector<Number> expected_; ///< of all vertices; empty: not known yet
    std::int64_t traversed_ = 0;
    Exchange<std::uint64_t> exchange_{ranks_.world};
    Deliveries<std::uint64_t> deliveries_{ranks_.runtime};
};

} // namespace lapwing::bench::irregular
