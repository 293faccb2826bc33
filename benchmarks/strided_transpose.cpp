// strided/transpose: a matrix in blocks of rows is transposed by plans, one for each pair of ranks, as Transpose of the
// Parallel Research Kernels does it; compared with blocks that are packed by hand and sent as plain messages.
#include "rounds.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lapwing::bench {
namespace {

[[nodiscard]] double value_at(std::size_t row, std::size_t column) {
    return static_cast<double>(row * 10007 % 8191 * 8192 + column);
}

/// A matrix of n x n, of which each rank has as many rows, before and after.
class Transpose {
public:
    Transpose(Context& context, Runtime& runtime, std::size_t n)
        : world_{context.world()},
          runtime_{runtime},
          rank_{static_cast<std::size_t>(runtime.rank().value)},
          ranks_{static_cast<std::size_t>(runtime.size())},
          n_{n},
          part_{n / ranks_},
          window_{runtime, part_ * n * sizeof(double)},
          source_(part_ * n),
          by_hand_(part_ * n),
          packed_(part_ * n),
          received_(part_ * n) {
        for (std::size_t i = 0; i < part_; ++i)
            for (std::size_t j = 0; j < n_; ++j) source_[i * n_ + j] = value_at(rank_ * part_ + i, j);
        const auto row_bytes = static_cast<std::int64_t>(n_ * sizeof(double));
        for (std::size_t step = 1; step <= ranks_; ++step) { // its own block last, while the others travel
            const std::size_t to = (rank_ + step) % ranks_;
            const std::array<Layout::Dimension, 2> columns{
                {{part_, static_cast<std::int64_t>(sizeof(double))}, {part_, row_bytes}}};
            plans_.push_back(Plan::put(
                window_,
                Layout::strided(columns, sizeof(double), static_cast<std::int64_t>(to * part_ * sizeof(double))),
                Rank{static_cast<int>(to)}, Offset{0},
                Layout::strided(part_, part_ * sizeof(double), row_bytes,
                                static_cast<std::int64_t>(rank_ * part_ * sizeof(double)))));
        }
    }

    void by_plans() {
        std::vector<Completion> under_way;
        for (Plan& plan : plans_) under_way.push_back(plan.start(static_cast<const void*>(source_.data())));
        for (Completion& one : under_way) one.wait();
        runtime_.barrier();
    }
    void by_messages() {
        std::vector<MPI_Request> receives(ranks_ - 1);
        std::vector<MPI_Request> sends(ranks_ - 1);
        const std::size_t block = part_ * part_;
        for (std::size_t step = 1; step < ranks_; ++step) {
            const std::size_t from = (rank_ + ranks_ - step) % ranks_;
            MPI_Irecv(&received_[from * block], static_cast<int>(block), MPI_DOUBLE, static_cast<int>(from), 0, world_,
                      &receives[step - 1]);
        }
        for (std::size_t step = 1; step < ranks_; ++step) {
            const std::size_t to = (rank_ + step) % ranks_;
            transpose(&source_[to * part_], &packed_[to * block], part_);
            MPI_Isend(&packed_[to * block], static_cast<int>(block), MPI_DOUBLE, static_cast<int>(to), 0, world_,
                      &sends[step - 1]);
        }
        transpose(&source_[rank_ * part_], &by_hand_[rank_ * part_], n_);
        for (std::size_t arrived = 0; arrived + 1 < ranks_; ++arrived) {
            int index = 0;
            MPI_Waitany(static_cast<int>(receives.size()), receives.data(), &index, MPI_STATUS_IGNORE);
            const std::size_t from = (rank_ + ranks_ - static_cast<std::size_t>(index) - 1) % ranks_;
            for (std::size_t j = 0; j < part_; ++j)
                std::copy_n(&received_[from * block + j * part_], part_, &by_hand_[j * n_ + from * part_]);
        }
        MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
    }
    /// Collective.
    void check(bool also_by_hand) {
        runtime_.barrier();
        const auto result = window_.local_as<double>();
        bool right = true;
        for (std::size_t j = 0; j < part_; ++j)
            for (std::size_t i = 0; i < n_; ++i) {
                const double expected = value_at(i, rank_ * part_ + j);
                right = right && result[j * n_ + i] == expected && (!also_by_hand || by_hand_[j * n_ + i] == expected);
            }
        if (!runtime_.min(right)) throw std::runtime_error{"strided/transpose: an element is not where it should be"};
    }
    void close() {
        plans_.clear();
        window_.close();
    }

private:
    /// A block of the source, in tiles that stay in the first cache.
    void transpose(const double* from, double* to, std::size_t row) const {
        constexpr std::size_t tile = 32;
        for (std::size_t i = 0; i < part_; i += tile)
            for (std::size_t j = 0; j < part_; j += tile)
                for (std::size_t jj = j; jj < std::min(part_, j + tile); ++jj)
                    for (std::size_t ii = i; ii < std::min(part_, i + tile); ++ii)
                        to[jj * row + ii] = from[ii * n_ + jj];
    }

    MPI_Comm world_;
    Runtime& runtime_;
    std::size_t rank_, ranks_, n_, part_;
    Window window_; ///< the result by plans
    std::vector<double> source_, by_hand_, packed_, received_;
    std::vector<Plan> plans_;
};

void transpose(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    for (const std::size_t n : {std::size_t{512}, std::size_t{2048}}) {
        const std::string name = std::to_string(n) + " x " + std::to_string(n);
        if (n % static_cast<std::size_t>(runtime.size()) != 0) {
            context.skip(name, "the ranks do not divide it");
            continue;
        }
        Transpose matrix{context, runtime, n};
        context.compare(name, milliseconds(), rounds_of(runtime, "plans", [&] { matrix.by_plans(); }),
                        {rounds_of(runtime, "packed by hand, MPI_Isend", [&] { matrix.by_messages(); })});
        matrix.check(!context.options().value_only);
        matrix.close();
    }
    runtime.close();
}

const Registration registration{
    {.name = "strided/transpose",
     .summary = "a matrix in blocks of rows transposed by plans, compared with blocks packed by hand and messages",
     .run = transpose,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
