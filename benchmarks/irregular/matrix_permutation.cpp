// A sparse matrix with its rows and columns in another order (permute_matrix of the bale kernels): each rank has its
// part of the permutations, as of the rows.
#include "deliveries.hpp"
#include "exchange.hpp"
#include "random_numbers.hpp"
#include "shared_rows.hpp"

#include <algorithm>

namespace lapwing::bench::irregular {
namespace {

enum : std::uint64_t { row_stream = 10, column_stream };

[[nodiscard]] Edges permuted(const Edges& matrix) {
    Edges result = matrix;
    result.edge = [edge = matrix.edge, n = matrix.vertices](std::uint64_t k) {
        const std::uint64_t entry = edge(k);
        return pair_of(shuffled(n, row_stream, number_of(entry)), shuffled(n, column_stream, value_of(entry)));
    };
    return result;
}

class MatrixPermutation : public Kernel {
public:
    MatrixPermutation(Ranks ranks, const Edges& matrix)
        : ranks_{ranks},
          input_{ranks.world, Parts{matrix.vertices, ranks}, matrix},
          nonzeros_{sum(ranks.world, static_cast<std::int64_t>(input_.columns().size()))},
          result_{ranks, permuted(matrix)},
          shared_new_columns_{parts_.array<Number>(ranks, "permutation of columns")} {
        for (Number local = 0; local < parts_.own(); ++local) {
            new_rows_.push_back(shuffled(parts_.count(), row_stream, parts_.first() + local));
            new_columns_.push_back(shuffled(parts_.count(), column_stream, parts_.first() + local));
            lengths_.push_back(input_.degree(local));
        }
        std::ranges::copy(new_columns_, shared_new_columns_.local_span().begin());
        renamed_.resize(input_.columns().size());
        ranks.runtime.barrier();
    }

    void prepare(Way way) override { result_.prepare(way); }

    void run(Way way) override {
        if (sends_items(way)) by_messages(way);
        else if (way == Way::lists) by_lists();
        else by_elements();
        if (way != Way::mpi) ranks_.runtime.barrier();
    }

    std::string fault(Way way) override { return result_.fault(way); }
    double operations() const override { return static_cast<double>(nonzeros_); }

private:
    /// The new columns of this rank's nonzeros.
    void rename_by_messages() {
        const std::span<const Number> columns = input_.columns();
        const auto asked = questions_([&](auto&& to) {
            for (const Number column : columns) {
                const auto [owner, local] = parts_.place(column);
                to(owner, local);
            }
        });
        questions_.answer(
            asked, [this](Number local) { return new_columns_[local]; },
            [&](auto&& next) {
                for (std::size_t k = 0; k < columns.size(); ++k) renamed_[k] = next(parts_.owner(columns[k]));
            });
    }
    void rename_by_aggregator() {
        Aggregator aggregator{ranks_.runtime};
        for (std::size_t k = 0; k < renamed_.size(); ++k)
            aggregator.get.copy(renamed_[k], shared_new_columns_, input_.columns()[k]);
    }
    void by_messages(Way way) {
        if (way == Way::mpi) rename_by_messages();
        else rename_by_aggregator();
        const auto each = [this](auto&& to) {
            std::size_t k = 0;
            for (std::size_t row = 0; row < new_rows_.size(); ++row) {
                const auto [owner, local] = parts_.place(new_rows_[row]);
                for (const std::size_t end = k + lengths_[row]; k < end; ++k) to(owner, pair_of(local, renamed_[k]));
            }
        };
        result_.own = {parts_.own(), way == Way::mpi ? exchange_(each) : deliveries_(each)};
    }

    void by_lists() {
        SharedRows& to = result_.shared;
        shared_new_columns_.gather(input_.columns(), renamed_);
        to.lengths.scatter(new_rows_, lengths_);
        to.set_begins();
        std::vector<Number> begins(new_rows_.size());
        to.begins.gather(new_rows_, begins);
        std::vector<Number> places(renamed_.size());
        auto place = places.begin();
        for (std::size_t row = 0; row < begins.size(); ++row)
            for (Number k = 0; k < lengths_[row]; ++k) *place++ = begins[row] + k;
        to.nonzeros.scatter(places, renamed_);
    }

    /// A row is contiguous, and put as a whole.
    void by_elements() {
        SharedRows& to = result_.shared;
        for (std::size_t k = 0; k < renamed_.size(); ++k) renamed_[k] = shared_new_columns_(input_.columns()[k]);
        for (std::size_t row = 0; row < new_rows_.size(); ++row) to.lengths(new_rows_[row]) = lengths_[row];
        to.set_begins();
        std::size_t k = 0;
        for (std::size_t row = 0; row < new_rows_.size(); k += lengths_[row++]) {
            const std::int64_t begin = to.begins(new_rows_[row]).get();
            to.nonzeros({{begin, begin + lengths_[row]}}).put(std::span{renamed_}.subspan(k, lengths_[row]));
        }
    }

    Ranks ranks_;
    Rows input_;
    const Parts& parts_ = input_.parts();
    std::int64_t nonzeros_; ///< of all ranks
    MadeMatrix result_;
    std::vector<Number> new_rows_;    ///< of this rank's rows
    std::vector<Number> lengths_;     ///< of the same
    std::vector<Number> new_columns_; ///< this rank's part of the permutation
    GlobalArray<Number, 1> shared_new_columns_;
    std::vector<Number> renamed_; ///< new columns of this rank's nonzeros
    Exchange<Number> questions_{ranks_.world};
    Exchange<std::uint64_t> exchange_{ranks_.world};
    Deliveries<std::uint64_t> deliveries_{ranks_.runtime};
};

} // namespace

KernelKind matrix_permutation() {
    const auto input = [](Number rows, Number per_row) {
        return [=](Ranks ranks) {
            Edges matrix = random_edges(rows, per_row);
            matrix.loops = true;
            return std::make_unique<MatrixPermutation>(ranks, matrix);
        };
    };
    return {.name = "irregular/matrix-permutation",
            .summary = "a sparse matrix with its rows and columns in another order; fails unless each row is right",
            .operations = "nonzeros",
            .inputs = {{"200,000 rows of 10", {Way::aggregated, Way::lists}, input(200'000, 10)},
                       {"200 rows of 3", {Way::aggregated, Way::lists, Way::elements}, input(200, 3), Size::small}}};
}

} // namespace lapwing::bench::irregular
