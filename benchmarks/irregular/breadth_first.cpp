// Breadth-first search, level by level: of the Graph500 benchmark's graph, where a level with many edges is searched
// from the vertices that have not been found (Beamer, Asanovic, Patterson, SC 2012); and of a random graph whose edges
// have a direction, always from the frontier.
#include "deliveries.hpp"
#include "exchange.hpp"
#include "random_numbers.hpp"
#include "search_tree.hpp"

#include <array>
#include <utility>

namespace lapwing::bench::irregular {
namespace {

constexpr std::uint64_t root_stream = 1;

/// A bit for each number.
class Bits {
public:
    explicit Bits(std::size_t count) : words_(count / 64) {}

    [[nodiscard]] bool test(Number number) const { return (words_[number / 64] >> number % 64 & 1) != 0; }
    void set(Number number) { words_[number / 64] |= std::uint64_t{1} << number % 64; }
    void clear() { std::ranges::fill(words_, 0); }
    [[nodiscard]] std::span<std::uint64_t> words() { return words_; }

private:
    std::vector<std::uint64_t> words_;
};

class BreadthFirst : public Kernel {
public:
    BreadthFirst(Ranks ranks, Edges edges)
        : ranks_{ranks},
          edges_{std::move(edges)},
          graph_{ranks.world, Parts{edges_.vertices, ranks}, edges_},
          shared_{parts_.array<std::int64_t>(ranks, "parents")},
          shared_bits_{ranks.runtime, {std::int64_t{parts_.block()} / 64 * ranks.size()}},
          own_(parts_.block()),
          seen_{parts_.block()},
          own_frontier_{parts_.block()},
          told_{std::size_t{parts_.block()} * ranks.size()},
          all_frontier_{std::size_t{parts_.block()} * ranks.size()},
          arcs_{sum(ranks.world, static_cast<std::int64_t>(graph_.columns().size()))} {
        if (edges_.both_ways) choose_root();
    }

    void prepare(Way way) override {
        if (sends_items(way)) std::ranges::fill(own_, no_parent);
        else shared_.fill(no_parent);
    }

    void run(Way way) override {
        seen_.clear();
        told_.clear();
        frontier_.clear();
        if (parts_.owns(root_)) find(parents(way), root_ - parts_.first(), root_);
        // Where the directions change: the parameters of the publication.
        constexpr std::int64_t alpha = 14;
        constexpr std::int64_t beta = 24;
        std::int64_t unexplored = arcs_;
        bool upwards = false;
        if (way == Way::aggregated && !edges_.both_ways) { // always from the frontier: how large it is, nobody asks
            do search_downwards(way);
            while (deliveries_.sent_by_all() != 0);
            return;
        }
        while (true) {
            std::array<std::int64_t, 2> frontier{static_cast<std::int64_t>(frontier_.size()), 0};
            for (const Number local : frontier_) frontier[1] += graph_.degree(local);
            if (way == Way::mpi) MPI_Allreduce(MPI_IN_PLACE, frontier.data(), 2, MPI_INT64_T, MPI_SUM, ranks_.world);
            else ranks_.runtime.sum(frontier); // no rank goes on before all have looked at their parents
            if (frontier[0] == 0) return;
            unexplored -= frontier[1];
            upwards =
                edges_.both_ways && (upwards ? frontier[0] * beta >= parts_.count() : frontier[1] * alpha > unexplored);
            if (upwards) search_upwards(way);
            else search_downwards(way);
        }
    }

    std::string fault(Way way) override {
        const std::vector<std::int64_t> all = collected<std::int64_t>(ranks_.world, parents(way));
        std::int64_t arcs = 0;
        for (Number local = 0; local < parts_.own(); ++local)
            if (parents(way)[local] != no_parent) arcs += graph_.degree(local);
        traversed_ = sum(ranks_.world, arcs) / (edges_.both_ways ? 2 : 1);
        return fault_of_tree(ranks_.world, edges_, root_, all);
    }

    double operations() const override { return static_cast<double>(traversed_); }

private:
    /// The first vertex with an edge in a random order.
    void choose_root() {
        Number k = 0;
        std::int64_t degree = 0;
        do {
            root_ = shuffled(parts_.count(), root_stream, k++);
            degree = sum(ranks_.world, parts_.owns(root_) ? graph_.degree(root_ - parts_.first()) : 0);
        } while (degree == 0);
    }

    [[nodiscard]] std::span<std::int64_t> parents(Way way) {
        return sends_items(way) ? std::span{own_} : shared_.local_span();
    }

    void find(std::span<std::int64_t> parents, Number local, Number parent) {
        parents[local] = parent;
        seen_.set(local);
        frontier_.push_back(local);
    }

    /// From the frontier to its neighbours, which are claimed.
    void search_downwards(Way way) {
        wanted_.clear();
        claimers_.clear();
        for (const Number local : frontier_)
            for (const Number neighbour : graph_.row(local)) {
                // A bit for each vertex is not too much where upward levels need one anyway.
                if (edges_.both_ways) {
                    if (told_.test(neighbour)) continue;
                    told_.set(neighbour);
                }
                wanted_.push_back(neighbour);
                claimers_.push_back(parts_.first() + local);
            }
        frontier_.clear();
        if (sends_items(way)) claim_by_messages(way);
        else claim(way);
    }
    void claim_by_messages(Way way) {
        const auto each = [this](auto&& to) {
            for (std::size_t k = 0; k < wanted_.size(); ++k) {
                const auto [owner, local] = parts_.place(wanted_[k]);
                to(owner, pair_of(local, static_cast<Number>(claimers_[k])));
            }
        };
        const auto claims = way == Way::mpi ? exchange_(each) : deliveries_(each);
        for (const std::uint64_t claim : claims)
            if (own_[number_of(claim)] == no_parent) find(own_, number_of(claim), value_of(claim));
    }
    void claim(Way way) {
        found_.resize(wanted_.size());
        if (way == Way::lists) shared_.compare_swap(wanted_, no_parent, claimers_, found_);
        else
            for (std::size_t k = 0; k < wanted_.size(); ++k)
                found_[k] = shared_(wanted_[k]).atomic().compare_swap(no_parent, claimers_[k]);
        ranks_.runtime.barrier();
        const std::span<const std::int64_t> now = shared_.local_span();
        for (Number local = 0; local < parts_.own(); ++local)
            if (now[local] != no_parent && !seen_.test(local)) {
                seen_.set(local);
                frontier_.push_back(local);
            }
    }

    /// From vertices that have not been found to any neighbour in the frontier.
    void search_upwards(Way way) {
        own_frontier_.clear();
        for (const Number local : frontier_) own_frontier_.set(local);
        collect_frontier(way);
        frontier_.clear();
        const std::span<std::int64_t> now = parents(way);
        for (Number local = 0; local < parts_.own(); ++local) {
            if (now[local] != no_parent) continue;
            for (const Number neighbour : graph_.row(local))
                if (all_frontier_.test(neighbour)) {
                    find(now, local, neighbour);
                    break;
                }
        }
    }
    void collect_frontier(Way way) {
        const std::span<std::uint64_t> own = own_frontier_.words();
        const std::span<std::uint64_t> all = all_frontier_.words();
        if (way == Way::mpi) {
            const auto words = static_cast<int>(own.size());
            MPI_Allgather(own.data(), words, MPI_UINT64_T, all.data(), words, MPI_UINT64_T, ranks_.world);
            return;
        }
        std::ranges::copy(own, shared_bits_.local_span().begin());
        ranks_.runtime.barrier();
        if (way != Way::elements) shared_bits_(shared_bits_.domain()).get(all);
        else
            for (std::size_t k = 0; k < all.size(); ++k) all[k] = shared_bits_(k);
    }

    Ranks ranks_;
    Edges edges_;
    Rows graph_;
    const Parts& parts_ = graph_.parts();
    GlobalArray<std::int64_t, 1> shared_;       ///< parents
    GlobalArray<std::uint64_t, 1> shared_bits_; ///< own_frontier_ of all ranks
    std::vector<std::int64_t> own_;             ///< parents of Way::mpi
    std::vector<Number> frontier_;              ///< this rank's vertices, from its first
    Bits seen_;                                 ///< this rank's vertices that have been in the frontier
    Bits own_frontier_;
    Bits told_; ///< vertices that this rank has claimed, whoever won
    Bits all_frontier_;
    std::int64_t arcs_;
    std::int64_t traversed_ = 0;
    Number root_ = 0;
    std::vector<Number> wanted_;
    std::vector<std::int64_t> claimers_; ///< of the wanted
    std::vector<std::int64_t> found_;    ///< what was there
    Exchange<std::uint64_t> exchange_{ranks_.world};
    Deliveries<std::uint64_t> deliveries_{ranks_.runtime};
};

} // namespace

KernelKind breadth_first() {
    const auto input = [](const Edges& edges) {
        return [=](Ranks ranks) { return std::make_unique<BreadthFirst>(ranks, edges); };
    };
    return {.name = "breadth-first",
            .summary = "breadth-first search of the Graph500 benchmark's graph and of a random one; fails unless the "
                       "tree is right",
            .operations = "edges",
            .inputs = {
                {.name = "20000 vertices of degree 8",
                 .ways = {Way::aggregated, Way::lists},
                 .make = input(random_edges(20'000, 8)),
                 .shows_time = true},
                {.name = "500 vertices of degree 8",
                 .ways = {Way::aggregated, Way::lists, Way::elements},
                 .make = input(random_edges(500, 8)),
                 .size = Size::small,
                 .shows_time = true},
                {"Graph500 scale 16", {Way::aggregated, Way::lists}, input(graph500(16)), Size::full},
                {"Graph500 scale 18", {Way::aggregated, Way::lists}, input(graph500(18))},
                {"Graph500 scale 20", {Way::aggregated, Way::lists}, input(graph500(20)), Size::full},
                {"Graph500 scale 8", {Way::aggregated, Way::lists, Way::elements}, input(graph500(8)), Size::small}}};
}

} // namespace lapwing::bench::irregular
