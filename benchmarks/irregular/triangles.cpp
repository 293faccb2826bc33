// Counts the triangles of an undirected graph (triangle of the bale kernels). Each edge is kept at its end of lower
// degree, so that no vertex has many; two edges that leave a vertex are a triangle if another one joins their ends.
#include "deliveries.hpp"
#include "exchange.hpp"
#include "shared_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lapwing::bench::irregular {
namespace {

constexpr std::size_t batch = std::size_t{1} << 18; ///< questions of a rank at a time, about

/// The edges from each own vertex to those of higher degree, or of the same and a higher number.
struct Upwards {
    Rows rows;                     ///< the neighbours by number
    std::vector<Number> by_degree; ///< the same in rows by degree

    Upwards(MPI_Comm world, const Rows& graph) : Upwards{graph, degrees(world, graph)} {}

private:
    static std::vector<Number> degrees(MPI_Comm world, const Rows& graph) {
        std::vector<Number> own(graph.parts().block());
        for (Number local = 0; local < graph.parts().own(); ++local) own[local] = graph.degree(local);
        return collected<Number>(world, own);
    }
    Upwards(const Rows& graph, const std::vector<Number>& degrees) : rows{graph.parts(), entries(graph, degrees)} {
        for (Number local = 0; local < graph.parts().own(); ++local) {
            std::vector<Number> row{rows.row(local).begin(), rows.row(local).end()};
            std::ranges::sort(row, {}, [&](Number vertex) { return pair_of(degrees[vertex], vertex); });
            by_degree.insert(by_degree.end(), row.begin(), row.end());
        }
    }
    static std::vector<std::uint64_t> entries(const Rows& graph, const std::vector<Number>& degrees) {
        std::vector<std::uint64_t> kept;
        for (Number local = 0; local < graph.parts().own(); ++local) {
            const Number vertex = graph.parts().first() + local;
            for (const Number other : graph.row(local))
                if (pair_of(degrees[vertex], vertex) < pair_of(degrees[other], other))
                    kept.push_back(pair_of(local, other));
        }
        return kept;
    }
};

[[nodiscard]] std::int64_t common(std::span<const Number> one, std::span<const Number> other) {
    std::int64_t count = 0;
    for (auto a = one.begin(), b = other.begin(); a != one.end() && b != other.end();) {
        count += *a == *b ? 1 : 0;
        const bool advance = *a <= *b;
        b += *b <= *a ? 1 : 0;
        a += advance ? 1 : 0;
    }
    return count;
}

class Triangles : public Kernel {
public:
    Triangles(Ranks ranks, Edges edges)
        : ranks_{ranks},
          edges_{std::move(edges)},
          upwards_{ranks.world, Rows{ranks.world, Parts{edges_.vertices, ranks}, edges_}},
          shared_{ranks, rows_},
          edge_count_{sum(ranks.world, static_cast<std::int64_t>(rows_.columns().size()))} {
        shared_.copy(rows_);
    }

    void prepare(Way) override { found_ = 0; }

    void run(Way way) override {
        std::int64_t own = 0;
        if (way == Way::mpi) {
            own = count_by_messages(way);
            MPI_Allreduce(&own, &found_, 1, MPI_INT64_T, MPI_SUM, ranks_.world);
            return;
        }
        if (way == Way::aggregated) own = count_by_messages(way);
        else if (way == Way::lists) own = count_by_lists();
        else
            for (Number local = 0; local < parts_.own(); ++local) own += count_by_elements(local);
        found_ = ranks_.runtime.sum(own);
    }

    std::string fault(Way) override {
        if (expected_ < 0) expected_ = count_serially();
        return found_ == expected_ ? std::string{} : fmt::format("{} triangles instead of {}", found_, expected_);
    }
    double operations() const override { return static_cast<double>(edge_count_); }

private:
    /// The end of the next own vertices that have about a batch of questions together.
    template <class Questions>
    [[nodiscard]] Number end_of_batch(Number begin, const Questions& questions) const {
        std::size_t count = 0;
        while (begin < parts_.own() && count < batch) count += questions(begin++);
        return begin;
    }

    /// Asks the owner of one neighbour whether it has an edge to the other, for each two neighbours of a vertex.
    [[nodiscard]] std::int64_t count_by_messages(Way way) {
        std::int64_t count = 0;
        Number begin = 0;
        std::int64_t left = 0;
        do {
            const Number end = end_of_batch(begin, [this](Number local) {
                const std::size_t degree = rows_.degree(local);
                return degree * (degree - 1) / 2;
            });
            const auto each = [&](auto&& to) {
                for (Number vertex = begin; vertex < end; ++vertex) {
                    const auto row = std::span{upwards_.by_degree}.subspan(rows_.begin(vertex), rows_.degree(vertex));
                    for (std::size_t k = 0; k < row.size(); ++k) {
                        const auto [owner, local] = parts_.place(row[k]);
                        for (const Number other : row.subspan(k + 1)) to(owner, pair_of(local, other));
                    }
                }
            };
            const auto asked = way == Way::mpi ? exchange_(each) : deliveries_(each);
            for (const std::uint64_t edge : asked)
                count += std::ranges::binary_search(rows_.row(number_of(edge)), value_of(edge)) ? 1 : 0;
            begin = end;
            left = std::int64_t{parts_.own()} - begin;
            left = way == Way::mpi ? sum(ranks_.world, left) : ranks_.runtime.sum(left);
        } while (left != 0);
        return count;
    }

    /// Reads the neighbours of each neighbour.
    [[nodiscard]] std::int64_t count_by_elements(Number local) {
        std::int64_t count = 0;
        for (const Number neighbour : rows_.row(local)) {
            const std::int64_t begin = shared_.begins(neighbour).get();
            others_.resize(shared_.lengths(neighbour));
            if (others_.empty()) continue;
            shared_.nonzeros({{begin, begin + static_cast<std::int64_t>(others_.size())}}).get(others_);
            count += common(rows_.row(local), others_);
        }
        return count;
    }

    [[nodiscard]] std::int64_t count_by_lists() {
        std::int64_t count = 0;
        for (Number first = 0; first < parts_.own();) {
            const Number end = end_of_batch(
                first, [this](Number local) { return std::size_t{rows_.degree(local)} * rows_.degree(local); });
            const auto neighbours = rows_.columns().subspan(rows_.begin(first), rows_.begin(end) - rows_.begin(first));
            std::vector<Number> begins(neighbours.size());
            std::vector<Number> lengths(neighbours.size());
            shared_.begins.gather(neighbours, begins);
            shared_.lengths.gather(neighbours, lengths);
            std::vector<Number> places;
            for (std::size_t k = 0; k < neighbours.size(); ++k)
                for (Number place = begins[k]; place < begins[k] + lengths[k]; ++place) places.push_back(place);
            others_.resize(places.size());
            shared_.nonzeros.gather(places, others_);
            std::size_t k = 0;
            std::size_t place = 0;
            for (Number local = first; local < end; ++local)
                for (Number edge = 0; edge < rows_.degree(local); place += lengths[k++], ++edge)
                    count += common(rows_.row(local), std::span{others_}.subspan(place, lengths[k]));
            first = end;
        }
        return count;
    }

    /// Of the whole graph, by rank 0: of each edge from a lower to a higher vertex the common neighbours above both.
    [[nodiscard]] std::int64_t count_serially() {
        std::int64_t count = 0;
        if (ranks_.rank() == 0) {
            const Rows graph{MPI_COMM_SELF, Parts{edges_.vertices, 1, 0}, edges_};
            const auto above = [&](Number vertex, Number bound) {
                const auto row = graph.row(vertex);
                return std::span<const Number>{std::ranges::upper_bound(row, bound), row.end()};
            };
            for (Number vertex = 0; vertex < edges_.vertices; ++vertex)
                for (const Number other : above(vertex, vertex))
                    count += common(above(vertex, other), above(other, other));
        }
        MPI_Bcast(&count, 1, MPI_INT64_T, 0, ranks_.world);
        return count;
    }

    Ranks ranks_;
    Edges edges_;
    Upwards upwards_;
    const Rows& rows_ = upwards_.rows;
    const Parts& parts_ = rows_.parts();
    SharedRows shared_;
    std::int64_t edge_count_;
    std::int64_t found_ = 0;
    std::int64_t expected_ = -1; ///< not known yet
    std::vector<Number> others_; ///< neighbours of neighbours
    Exchange<std::uint64_t> exchange_{ranks_.world};
    Deliveries<std::uint64_t> deliveries_{ranks_.runtime};
};

} // namespace

KernelKind triangles() {
    const auto input = [](int scale) {
        return [=](Ranks ranks) { return std::make_unique<Triangles>(ranks, graph500(scale)); };
    };
    return {.name = "irregular/triangles",
            .summary = "counts the triangles of the Graph500 benchmark's graph; fails unless the number is right",
            .operations = "edges",
            .inputs = {{"Graph500 scale 13", {Way::aggregated, Way::lists}, input(13)},
                       {"Graph500 scale 6", {Way::aggregated, Way::lists, Way::elements}, input(6), Size::small}}};
}

} // namespace lapwing::bench::irregular
