// EP: pairs of Gaussian deviates by the polar method, their sums, and how many lie in each square annulus. The threads
// communicate to add up their sums only.
#include "nas.hpp"

#include <lapwing/upc.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <tuple>
#include <vector>

namespace lapwing::nas {
namespace {

constexpr std::uint64_t seed = 271828183;
constexpr std::int64_t batch_pairs = std::int64_t{1}
                                     << 16; // NPB's batches, whose random numbers start at a place of their own
constexpr int annuli = 10;

struct Expected {
    int log2_pairs;
    double sum_x;
    double sum_y;
    double accepted; ///< pairs inside the circle
};
[[nodiscard]] Expected expected_of(Class size) {
    switch (size) {
    case Class::S: return {24, -3.247834652034740e3, -6.958407078382297e3, 13176389};
    case Class::W: return {25, -2.863319731645753e3, -6.320053679109499e3, 26354769};
    case Class::A: return {28, -4.295875165629892e3, -1.580732573678431e4, 210832767};
    case Class::B: return {30, 4.033815542441498e4, -2.660669192809235e4, 843345606};
    case Class::T: return {18, 1.873198969612163e2, -3.797408336054129e2, 205458};
    }
    return {};
}
[[nodiscard]] std::int64_t batches_of(Class size) {
    return (std::int64_t{1} << expected_of(size).log2_pairs) / batch_pairs;
}

/// The sums of both deviates, then the counts.
using Tally = std::array<double, 2 + annuli>;

[[nodiscard]] Random start_of_batch(std::int64_t batch) {
    Random random{seed};
    random.skip(static_cast<std::uint64_t>(2 * batch_pairs * batch));
    return random;
}

/// Calls found(x, y) with the two deviates that a point of the unit square gives, when it does.
template <class Found>
[[gnu::always_inline]] inline void polar_method(double first, double second, Found found) {
    const double x = 2 * first - 1;
    const double y = 2 * second - 1;
    const double square = x * x + y * y;
    if (square > 1) return;
    const double factor = std::sqrt(-2 * std::log(square) / square);
    found(x * factor, y * factor);
}
[[nodiscard]] std::size_t annulus_of(double x, double y) {
    return static_cast<std::size_t>(std::max(std::abs(x), std::abs(y)));
}

/// A thread's part, in memory of its own: the optimised variant and MPI's.
[[nodiscard]] Tally tally_of(const Share& batches) {
    double sum_x = 0;
    double sum_y = 0;
    std::array<std::int64_t, annuli> counts{};
    Random random = start_of_batch(batches.first); // batches that follow each other are one sequence
    std::array<double, 2048> numbers;              // few enough to stay in the first cache
    static_assert(2 * batch_pairs % numbers.size() == 0);
    for (std::int64_t done = 0; done < 2 * batch_pairs * batches.size();
         done += static_cast<std::int64_t>(numbers.size())) {
        random.fill(numbers);
        for (std::size_t i = 0; i < numbers.size(); i += 2)
            polar_method(numbers[i], numbers[i + 1], [&](double x, double y) {
                ++counts[annulus_of(x, y)];
                sum_x += x;
                sum_y += y;
            });
    }
    Tally tally{sum_x, sum_y};
    std::ranges::copy(counts, tally.begin() + 2);
    return tally;
}

[[nodiscard]] Tally run_mpi(std::int64_t batches) {
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    Tally tally = tally_of(share_of(batches, rank, ranks));
    MPI_Allreduce(MPI_IN_PLACE, tally.data(), static_cast<int>(tally.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return tally;
}

[[nodiscard]] Tally run_optimised(std::int64_t batches) {
    return upc::allv_reduce(tally_of(share_of(batches, upc::mythread(), upc::threads())), [](Tally a, const Tally& b) {
        for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
        return a;
    });
}

/// As one writes it first: batches dealt by upc_forall, counts in a shared array, totals under a lock.
class Naive {
public:
    [[nodiscard]] Tally run(std::int64_t batches) {
        const int me = upc::mythread();
        double sum_x = 0;
        double sum_y = 0;
        const std::int64_t counts = me * annuli;
        std::vector<double> numbers(2 * batch_pairs);
        upc::forall(0, batches, [&](std::int64_t batch) {
            Random random = start_of_batch(batch);
            for (double& number : numbers) number = random.next();
            for (std::size_t i = 0; i < numbers.size(); i += 2)
                polar_method(numbers[i], numbers[i + 1], [&](double x, double y) {
                    counts_[counts + static_cast<std::int64_t>(annulus_of(x, y))] += 1;
                    sum_x += x;
                    sum_y += y;
                });
        });
        {
            const std::lock_guard guard{lock_};
            totals_[0] += sum_x;
            totals_[1] += sum_y;
            for (int l = 0; l < annuli; ++l) totals_[2 + l] += counts_[counts + l];
        }
        upc::barrier();
        Tally tally;
        for (std::size_t i = 0; i < tally.size(); ++i) tally[i] = totals_[static_cast<std::int64_t>(i)];
        return tally;
    }

private:
    upc::SharedArray<double, annuli> counts_{static_cast<std::size_t>(annuli * upc::threads())};
    upc::SharedArray<double, upc::indefinite> totals_{std::tuple_size_v<Tally>};
    upc::Lock lock_;
};

} // namespace

HeapNeeds embarrassingly_parallel_heap(Class /*size*/, int /*ranks*/) {
    return {.blocks = std::uint64_t{1} << 16, .local = std::uint64_t{1} << 16};
}

Result embarrassingly_parallel(Class size, Variant variant) {
    const Expected expected = expected_of(size);
    const std::int64_t batches = batches_of(size);
    Tally tally{};
    double seconds = 0;
    switch (variant) {
    case Variant::mpi_overlapped:
    case Variant::mpi: seconds = seconds_of(variant, [&] { tally = run_mpi(batches); }); break;
    case Variant::optimised: seconds = seconds_of(variant, [&] { tally = run_optimised(batches); }); break;
    case Variant::naive_rows:
    case Variant::naive_mapped:
    case Variant::naive: {
        Naive naive;
        seconds = seconds_of(variant, [&] { tally = naive.run(batches); });
        break;
    }
    }

    double accepted = 0;
    for (std::size_t i = 2; i < tally.size(); ++i) accepted += tally[i];
    const auto close = [](double value, double reference) { return std::abs((value - reference) / reference) <= 1e-8; };
    return {
        .seconds = seconds,
        .million_operations = std::ldexp(1.0, expected.log2_pairs + 1) * 1e-6,
        // Beyond NPB's two sums: every pair that is inside must be counted.
        .verified = close(tally[0], expected.sum_x) && close(tally[1], expected.sum_y) && accepted == expected.accepted,
        .detail = fmt::format("sums {:.15e} {:.15e}, expected {:.15e} {:.15e}; {:.0f} Gaussian pairs, expected {:.0f}",
                              tally[0], tally[1], expected.sum_x, expected.sum_y, accepted, expected.accepted)};
}

} // namespace lapwing::nas
