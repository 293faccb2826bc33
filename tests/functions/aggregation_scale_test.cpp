// Aggregation where there are very many ranks: an aggregator as it is, on as many simulated ranks.
//
// Given a number of ranks, it prints what they need: ten thousand take a minute.
#include "tests/support/session.hpp"
#include "tests/window/simulated_job.hpp"

#include <lapwing/aggregator.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/runtime.hpp>

#include "support/catch.hpp"
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace {

using lapwing::Aggregator;
using lapwing::GlobalArray;
using lapwing::Runtime;
using test::Measured;
using test::measured;

constexpr const char* adds = "adds at random, and a release";
constexpr const char* gets = "gets at random";

/// Of each rank.
constexpr std::int64_t elements = 16;

struct Aggregation {
    std::vector<Measured> costs;
    std::int64_t wrong = 0;

    [[nodiscard]] const Measured& operator[](std::string_view name) const {
        for (const Measured& one : costs)
            if (one.name == name) return one;
        throw std::out_of_range{std::string{name}};
    }
};

/// Of ten thousand ranks one in ten sends, or their memory were more than a machine's. In rows of a hundred these are
/// ten columns, so that what they send goes over the same ranks.
bool sends(int rank, int ranks) { return ranks < 5000 || rank % 100 < 10; }

/// Each rank that sends adds to `accesses` elements, and reads as many.
Aggregation aggregate(int ranks, int accesses) {
    setenv("LAPWING_PATH", "service", 1);
    setenv("LAPWING_PROFILE", "none", 1);
    setenv("LAPWING_SERVICE_PACKET", "2048", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1000000", 1); // waits give up the processor at every look
    Aggregation result;
    result.costs = test::run_simulated({.ranks = ranks}, [&](int rank) {
        Runtime runtime;
        const std::int64_t n = elements * ranks;
        GlobalArray<std::int64_t, 1> counts{runtime, {n}};
        counts.fill(0);
        GlobalArray<std::int64_t, 1> squares{runtime, {n}};
        for (auto [i] : squares.local_domain()) squares.local(i) = i * i;
        runtime.barrier();
        std::minstd_rand random{static_cast<unsigned>(rank) + 1};
        const int own = sends(rank, ranks) ? accesses : 0;
        const auto draw = [&] { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
        measured(adds, [&] {
            Aggregator aggregator{runtime};
            for (int k = 0; k < own; ++k) aggregator.add.copy(counts(draw()), 1);
            runtime.release();
        });
        runtime.barrier();
        std::int64_t wrong = 0;
        std::vector<std::int64_t> read(static_cast<std::size_t>(own));
        std::vector<std::int64_t> drawn(read.size());
        measured(gets, [&] {
            Aggregator aggregator{runtime};
            for (std::size_t k = 0; k < read.size(); ++k) {
                drawn[k] = draw();
                aggregator.get.copy(read[k], squares(drawn[k]));
            }
            aggregator.flush();
        });
        for (std::size_t k = 0; k < read.size(); ++k) wrong += read[k] == drawn[k] * drawn[k] ? 0 : 1;
        std::int64_t sum = 0;
        for (const std::int64_t count : counts.local_span()) sum += count;
        if (runtime.sum(sum) != runtime.sum(std::int64_t{own})) ++wrong;
        result.wrong += wrong;
    });
    return result;
}

} // namespace

TEST_CASE("aggregators of a thousand ranks send to few of them, and keep little") {
    const int ranks = 1000;
    const Aggregation done = aggregate(ranks, 3000);
    CHECK(done.wrong == 0);
    for (const char* const name : {adds, gets}) {
        INFO(name);
        CHECK(done[name].most.most_memory < 1 << 20);
        // 6000 calls go over two hops; each message, and each answer, has several.
        CHECK(done[name].most.sent < 2000);
    }
}

int main(int argc, char** argv) {
    const int ranks = argc > 1 ? std::atoi(argv[1]) : 0;
    if (ranks <= 0) return test::run_test_cases(argc, argv);
    const int accesses = argc > 2 ? std::atoi(argv[2]) : 2000;
    const Aggregation done = aggregate(ranks, accesses);
    std::int64_t most = 0;
    for (const Measured& one : done.costs) most = std::max(most, one.most.most_memory);
    for (const Measured& one : done.costs)
        fmt::print("{} ranks, {} {}: at most {} bytes of memory a rank, {} messages of {} bytes sent, {} steps\n",
                   ranks, accesses, one.name, one.most.most_memory, one.most.sent, one.most.sent_bytes, one.steps);
    return done.wrong == 0 && most < 1 << 20 ? 0 : 1;
}
