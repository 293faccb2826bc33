// assign/halves: an assignment in two halves with a computation between them, compared with the same by a non-blocking
// collective call of MPI: the start, the computation, the completion, and all of it.
#include "columns_to_rows.hpp"
#include "rounds.hpp"

#include <lapwing/array_slice.hpp>
#include <lapwing/assignment.hpp>
#include <lapwing/completion.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::bench {
namespace {

constexpr std::int64_t n = 2048;
constexpr int tests = 16; ///< in a computation

using Matrix = GlobalArray<double, 2>;

/// Arithmetic on memory of the rank's own, of a length that is found once.
class Computation {
public:
    /// Collective. About as long as a round of `transfer` takes.
    Computation(Runtime& runtime, const std::function<void()>& transfer) : values_(16 * 1024, 1.0) {
        constexpr int rounds = 5;
        transfer();
        const double transferred = together(runtime, [&] {
            for (int k = 0; k < rounds; ++k) transfer();
        });
        double swept = 0;
        {
            const Stopwatch watch;
            for (int k = 0; k < rounds * tests; ++k) sweep();
            swept = watch.seconds();
        }
        const double ratio = runtime.max(transferred / std::max(swept, 1e-9));
        sweeps_ = std::max(1, static_cast<int>(std::lround(ratio)));
    }
    /// `poll` is called now and then.
    template <class Poll>
    void run(Poll poll) {
        for (int k = 0; k < tests; ++k) {
            for (int sweep_number = 0; sweep_number < sweeps_; ++sweep_number) sweep();
            poll();
        }
    }

private:
    void sweep() {
        for (double& value : values_) value = 0.999 * value + 0.001;
        keep(values_);
    }

    std::vector<double> values_; ///< of the first or second cache
    int sweeps_ = 1;             ///< between two tests
};

enum class Phase { start, computation, completion, all };

/// The seconds of one phase in so many rounds. Each begins when all ranks are there.
template <class Start, class Compute, class Complete>
[[nodiscard]] double seconds_of(Runtime& runtime, Phase phase, std::uint64_t rounds, Start start, Compute compute,
                                Complete complete) {
    double seconds = 0;
    for (std::uint64_t k = 0; k < rounds; ++k) {
        runtime.barrier();
        const Stopwatch watch;
        auto moved = start();
        const double started = watch.seconds();
        compute(moved);
        const double computed = watch.seconds();
        complete(moved);
        const double completed = watch.seconds();
        switch (phase) {
        case Phase::start: seconds += started; break;
        case Phase::computation: seconds += computed - started; break;
        case Phase::completion: seconds += completed - computed; break;
        case Phase::all: seconds += completed; break;
        }
    }
    return seconds;
}

/// The phases beside those of MPI, and both halves around a computation beside one after the other.
void measure(Context& context, Runtime& runtime, const Matrix& columns, Matrix& rows) {
    Assignment assignment;
    assignment.add(rows.slice(), columns.slice());
    const ColumnsToRows exchange{context.world(), n};
    const double* const sent = columns.local_span().data();
    std::vector<double> received(rows.local_span().size(), -2.0);
    Computation computation{runtime, [&] { assignment.execute(); }};

    constexpr std::uint64_t rounds = 8;
    const auto in_halves = [&](Phase phase) {
        return Subject{.name = "assignment",
                       .run =
                           [&, phase](std::uint64_t count) {
                               return seconds_of(
                                   runtime, phase, count, [&] { return assignment.start(); },
                                   [&](Completion& moved) { computation.run([&] { (void)moved.test(); }); },
                                   [](Completion& moved) { moved.wait(); });
                           },
                       .iterations = rounds};
    };
    const auto by_hand = [&](Phase phase) {
        return Subject{.name = "MPI_Ialltoallw",
                       .run =
                           [&, phase](std::uint64_t count) {
                               return seconds_of(
                                   runtime, phase, count, [&] { return exchange.start(sent, received.data()); },
                                   [&](MPI_Request& request) {
                                       computation.run([&] {
                                           int done = 0;
                                           MPI_Test(&request, &done, MPI_STATUS_IGNORE);
                                       });
                                   },
                                   [](MPI_Request& request) { MPI_Wait(&request, MPI_STATUS_IGNORE); });
                           },
                       .iterations = rounds};
    };
    const std::array<std::pair<const char*, Phase>, 4> phases{{{"start", Phase::start},
                                                               {"computation", Phase::computation},
                                                               {"completion", Phase::completion},
                                                               {"all three", Phase::all}}};
    for (const auto& [name, phase] : phases)
        context.compare(std::string{"2048 x 2048, "} + name, milliseconds(), in_halves(phase), {by_hand(phase)});
    // What the halves are for.
    Subject blocking{.name = "executed, then computed",
                     .run =
                         [&](std::uint64_t count) {
                             return seconds_of(
                                 runtime, Phase::all, count, [] { return 0; }, [&](int) { assignment.execute(); },
                                 [&](int) { computation.run([] {}); });
                         },
                     .iterations = rounds};
    context.compare("2048 x 2048, beside one after the other", milliseconds(), in_halves(Phase::all),
                    {std::move(blocking)});
    runtime.barrier();
    const bool right = context.options().value_only || std::ranges::equal(rows.local_span(), received);
    if (!runtime.min(right)) throw std::runtime_error{"assign/halves: an element is not where it should be"};
}

void halves(Context& context) {
    Runtime runtime;
    context.measure_against(runtime);
    if (n % runtime.size() != 0) {
        context.skip("all cases", "the ranks do not divide 2048");
        return runtime.close();
    }
    Matrix columns{runtime, {n, n}, Block{.grid = {1, 0}}};
    Matrix rows{runtime, {n, n}, Block{.grid = {0, 1}}};
    columns.for_each_local(
        [](const Index<2>& index, double& element) { element = static_cast<double>(index[0] * n + index[1]); });
    rows.fill(-1);
    measure(context, runtime, columns, rows);
    rows.close();
    columns.close();
    runtime.close();
}

const Registration registration{
    {.name = "assign/halves",
     .summary = "an assignment in two halves around a computation, compared with MPI_Ialltoallw",
     .run = halves,
     .default_repetitions = 5}};

} // namespace
} // namespace lapwing::bench
