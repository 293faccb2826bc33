// The transpose of a sparse matrix whose rows are spread over the ranks (transpose_matrix of the bale kernels).
#include "deliveries.hpp"
#include "exchange.hpp"
#include "shared_rows.hpp"

#include <utility>

namespace lapwing::bench::irregular {
namespace {

[[nodiscard]] Edges transposed(const Edges& matrix) {
    Edges result = matrix;
    result.edge = [edge = matrix.edge](std::uint64_t k) {
        const std::uint64_t entry = edge(k);
        return pair_of(value_of(entry), number_of(entry));
    };
    return result;
}

class MatrixTranspose : public Kernel {
public:
    MatrixTranspose(Ranks ranks, const Edges& matrix)
        : ranks_{ranks},
          input_{ranks.world, Parts{matrix.vertices, ranks}, matrix},
          nonzeros_{sum(ranks.world, static_cast<std::int64_t>(input_.columns().size()))},
          result_{ranks, transposed(matrix)} {
        for (Number local = 0; local < parts_.own(); ++local)
            rows_.insert(rows_.end(), input_.degree(local), parts_.first() + local);
        places_.resize(rows_.size());
        begins_.resize(rows_.size());
    }

    void prepare(Way way) override { result_.prepare(way); }

    void run(Way way) override {
        const std::span<const Number> columns = input_.columns();
        if (sends_items(way)) {
            const auto each = [&](auto&& to) {
                for (std::size_t k = 0; k < columns.size(); ++k) {
                    const auto [owner, local] = parts_.place(columns[k]);
                    to(owner, pair_of(local, rows_[k]));
                }
            };
            result_.own = {parts_.own(), way == Way::mpi ? exchange_(each) : deliveries_(each)};
            return;
        }
        // A nonzero's place in its new row is how many are there before it.
        SharedRows& to = result_.shared;
        if (way == Way::lists) to.lengths.fetch(Atomic::add, columns, 1, places_);
        else
            for (std::size_t k = 0; k < columns.size(); ++k) places_[k] = to.lengths(columns[k]).atomic().fetch_add(1);
        to.set_begins();
        if (way == Way::lists) {
            to.begins.gather(columns, begins_);
            for (std::size_t k = 0; k < columns.size(); ++k) places_[k] += begins_[k];
            to.nonzeros.scatter(places_, rows_);
        } else {
            for (std::size_t k = 0; k < columns.size(); ++k) to.nonzeros(to.begins(columns[k]) + places_[k]) = rows_[k];
        }
        ranks_.runtime.barrier();
    }

    std::string fault(Way way) override { return result_.fault(way); }
    double operations() const override { return static_cast<double>(nonzeros_); }

private:
    Ranks ranks_;
    Rows input_;
    const Parts& parts_ = input_.parts();
    std::int64_t nonzeros_; ///< of all ranks
    MadeMatrix result_;
    std::vector<Number> rows_;   ///< of this rank's nonzeros
    std::vector<Number> places_; ///< of the same in the transpose
    std::vector<Number> begins_;
    Exchange<std::uint64_t> exchange_{ranks_.world};
    Deliveries<std::uint64_t> deliveries_{ranks_.runtime};
};

} // namespace

KernelKind matrix_transpose() {
    const auto input = [](Number rows, Number per_row) {
        return [=](Ranks ranks) {
            Edges matrix = random_edges(rows, per_row);
            matrix.loops = true;
            return std::make_unique<MatrixTranspose>(ranks, matrix);
        };
    };
    return {.name = "irregular/matrix-transpose",
            .summary = "transpose of a sparse matrix; fails unless each row is right",
            .operations = "nonzeros",
            .inputs = {{"200,000 rows of 10", {Way::aggregated, Way::lists}, input(200'000, 10)},
                       {"200 rows of 3", {Way::aggregated, Way::lists, Way::elements}, input(200, 3), Size::small}}};
}

} // namespace lapwing::bench::irregular
