// Finds an order of the rows and one of the columns of a sparse matrix in which it is upper triangular (toposort of the
// bale kernels): a row with a single nonzero, and that one's column, get the last place and are removed, and so on. A
// row knows how many nonzeros it has and the sum of their columns, which at the end is the column of the last.
#include "deliveries.hpp"
#include "exchange.hpp"
#include "random_numbers.hpp"
#include "shared_rows.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace lapwing::bench::irregular {
namespace {

enum : std::uint64_t { entry_stream = 20, row_stream, column_stream };
constexpr Number no_place = 0xFFFF'FFFF;

/// Upper triangular, with a full diagonal and `degree` nonzeros a row beside it; then rows and columns are shuffled.
[[nodiscard]] Edges shuffled_triangle(Number n, Number degree, bool transposed) {
    return {.vertices = n,
            .count = std::uint64_t{n} * (degree + 1),
            .edge =
                [=](std::uint64_t k) {
                    const auto row = static_cast<Number>(k / (degree + 1));
                    const Number right = k % (degree + 1) == 0 ? 0 : random_below(n - row, entry_stream, k);
                    const Number new_row = shuffled(n, row_stream, row);
                    const Number new_column = shuffled(n, column_stream, row + right);
                    return transposed ? pair_of(new_column, new_row) : pair_of(new_row, new_column);
                },
            .both_ways = false,
            .loops = true};
}

/// What is left of a row, as one number, so that an addition takes a nonzero away.
constexpr std::int64_t one_nonzero = std::int64_t{1} << 48;
[[nodiscard]] constexpr std::int64_t nonzero(Number column) { return one_nonzero + column; }
[[nodiscard]] constexpr bool is_single(std::int64_t left) { return left / one_nonzero == 1; }
[[nodiscard]] constexpr Number column_of(std::int64_t left) { return static_cast<Number>(left % one_nonzero); }

class TopologicalSort : public Kernel {
public:
    TopologicalSort(Ranks ranks, Number n, Number degree)
        : ranks_{ranks},
          rows_{ranks.world, Parts{n, ranks}, shuffled_triangle(n, degree, false)},
          columns_{ranks.world, rows_.parts(), shuffled_triangle(n, degree, true)},
          nonzeros_{sum(ranks.world, static_cast<std::int64_t>(rows_.columns().size()))},
          shared_left_{parts_.array<std::int64_t>(ranks, "rows")},
          shared_column_places_{parts_.array<Number>(ranks, "places of columns")},
          counter_{ranks.runtime, {1}},
          left_(parts_.block()),
          row_places_(parts_.block()),
          column_places_(parts_.block()) {}

    void prepare(Way way) override {
        placed_ = 0;
        std::ranges::fill(row_places_, no_place);
        std::ranges::fill(column_places_, no_place);
        if (way != Way::mpi) {
            shared_column_places_.fill(no_place);
            counter_.fill(0);
        }
        const std::span<std::int64_t> left = sends_items(way) ? std::span{left_} : shared_left_.local_span();
        single_.clear();
        for (Number local = 0; local < parts_.own(); ++local) {
            left[local] = 0;
            for (const Number column : rows_.row(local)) left[local] += nonzero(column);
            if (is_single(left[local])) single_.push_back(local);
        }
    }

    void run(Way way) override {
        while (true) {
            const std::optional<Number> last = places_for_single_rows(way);
            if (!last) return;
            place_single_rows(way, *last);
            single_.clear();
            if (sends_items(way)) remove_by_messages(way);
            else remove(way);
        }
    }

    std::string fault(Way way) override {
        const auto own_columns =
            sends_items(way) ? std::span<const Number>{column_places_} : shared_column_places_.local_span();
        const std::vector<Number> rows = collected<Number>(ranks_.world, row_places_);
        const std::vector<Number> columns = collected(ranks_.world, own_columns);
        for (const auto& places : {rows, columns}) {
            std::vector<bool> taken(parts_.count());
            for (Number k = 0; k < parts_.count(); ++k) {
                if (places[k] >= parts_.count() || taken[places[k]])
                    return fmt::format("the place {} of row or column {} is taken or none", places[k], k);
                taken[places[k]] = true;
            }
        }
        for (Number local = 0; local < parts_.own(); ++local)
            for (const Number column : rows_.row(local))
                if (const Number row = parts_.first() + local; rows[row] > columns[column])
                    return fmt::format("row {} gets the place {}, and a nonzero in column {} the place {}", row,
                                       rows[row], column, columns[column]);
        return {};
    }

    double operations() const override { return static_cast<double>(nonzeros_); }

private:
    /// Collective: the last of the places of this rank's single rows, which go downwards from it; nullopt if no rank
    /// has such rows.
    [[nodiscard]] std::optional<Number> places_for_single_rows(Way way) {
        const auto own = static_cast<std::int64_t>(single_.size());
        std::int64_t before = 0;
        if (way == Way::mpi) {
            const std::int64_t all = sum(ranks_.world, own);
            if (all == 0) return {};
            MPI_Exscan(&own, &before, 1, MPI_INT64_T, MPI_SUM, ranks_.world);
            if (ranks_.rank() == 0) before = 0; // undefined there
            before += placed_;
            placed_ += all;
        } else {
            if (ranks_.runtime.sum(own) == 0) return {};
            before = counter_(0).atomic().fetch_add(own);
        }
        return parts_.count() - 1 - static_cast<Number>(before);
    }

    void place_single_rows(Way way, Number last) {
        const std::span<const std::int64_t> left = sends_items(way) ? std::span{left_} : shared_left_.local_span();
        single_columns_.clear();
        places_.clear();
        for (const Number local : single_) {
            single_columns_.push_back(column_of(left[local]));
            places_.push_back(last--);
            row_places_[local] = places_.back();
        }
    }

    /// Tells the owners of the columns their places; these tell the owners of the columns' rows.
    void remove_by_messages(Way way) {
        const auto each_column = [this](auto&& to) {
            for (std::size_t k = 0; k < places_.size(); ++k) {
                const auto [owner, local] = parts_.place(single_columns_[k]);
                to(owner, pair_of(local, places_[k]));
            }
        };
        const auto placed = way == Way::mpi ? columns_exchange_(each_column) : deliveries_(each_column);
        for (const std::uint64_t pair : placed) column_places_[number_of(pair)] = value_of(pair);
        const auto each_row = [&](auto&& to) {
            for (const std::uint64_t pair : placed)
                for (const Number row : columns_.row(number_of(pair))) {
                    const auto [owner, local] = parts_.place(row);
                    to(owner, pair_of(local, parts_.first() + number_of(pair)));
                }
        };
        const auto removed = way == Way::mpi ? rows_exchange_(each_row) : deliveries_(each_row);
        for (const std::uint64_t pair : removed) {
            std::int64_t& left = left_[number_of(pair)];
            left -= nonzero(value_of(pair));
            if (is_single(left)) single_.push_back(number_of(pair));
        }
    }

    /// Owners find the columns that have got a place, and the rows that have become single.
    void remove(Way way) {
        if (way == Way::lists) shared_column_places_.scatter(single_columns_, places_);
        else
            for (std::size_t k = 0; k < places_.size(); ++k) shared_column_places_(single_columns_[k]) = places_[k];
        ranks_.runtime.barrier();
        touched_rows_.clear();
        taken_.clear();
        const std::span<const Number> now = shared_column_places_.local_span();
        for (Number local = 0; local < parts_.own(); ++local) {
            if (now[local] == column_places_[local]) continue;
            column_places_[local] = now[local];
            for (const Number row : columns_.row(local)) {
                touched_rows_.push_back(row);
                taken_.push_back(-nonzero(parts_.first() + local));
            }
        }
        if (way == Way::lists) {
            before_.resize(taken_.size());
            shared_left_.fetch(Atomic::add, touched_rows_, taken_, before_);
        } else {
            for (std::size_t k = 0; k < taken_.size(); ++k) shared_left_(touched_rows_[k]).atomic().add(taken_[k]);
        }
        ranks_.runtime.barrier();
        const std::span<const std::int64_t> left = shared_left_.local_span();
        for (Number local = 0; local < parts_.own(); ++local)
            if (is_single(left[local]) && row_places_[local] == no_place) single_.push_back(local);
    }

    Ranks ranks_;
    Rows rows_;
    Rows columns_; ///< the transpose
    const Parts& parts_ = rows_.parts();
    std::int64_t nonzeros_; ///< of all ranks
    GlobalArray<std::int64_t, 1> shared_left_;
    GlobalArray<Number, 1> shared_column_places_;
    GlobalArray<std::int64_t, 1> counter_; ///< how many rows have a place
    std::vector<std::int64_t> left_;       ///< of this rank's rows, of Way::mpi
    std::vector<Number> row_places_;       ///< the result
    std::vector<Number> column_places_;    ///< the same of Way::mpi; else what is known already
    std::int64_t placed_ = 0;              ///< of Way::mpi
    std::vector<Number> single_;           ///< own rows that have become single
    std::vector<Number> single_columns_;   ///< of those
    std::vector<Number> places_;           ///< of the same
    std::vector<Number> touched_rows_;
    std::vector<std::int64_t> taken_; ///< from these
    std::vector<std::int64_t> before_;
    Exchange<std::uint64_t> columns_exchange_{ranks_.world};
    Exchange<std::uint64_t> rows_exchange_{ranks_.world};
    Deliveries<std::uint64_t> deliveries_{ranks_.runtime};
};

} // namespace

KernelKind topological_sort() {
    const auto input = [](Number rows, Number degree) {
        return [=](Ranks ranks) { return std::make_unique<TopologicalSort>(ranks, rows, degree); };
    };
    return {.name = "irregular/topological-sort",
            .summary = "orders in which a shuffled matrix is upper triangular again; fails unless it is",
            .operations = "nonzeros",
            .inputs = {{"200,000 rows of 4", {Way::aggregated, Way::lists}, input(200'000, 3)},
                       {"200 rows of 3", {Way::aggregated, Way::lists, Way::elements}, input(200, 2), Size::small}}};
}

} // namespace lapwing::bench::irregular
