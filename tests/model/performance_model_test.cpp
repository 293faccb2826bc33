// The performance model on synthetic platforms whose answer is known, and with the tables of Zhang's thesis.
#include "model/loggp_platform.hpp"
#include "model/platform_type.hpp"
#include "model/run_time_prediction.hpp"
#include "model/simulated_cache.hpp"
#include "model/speed_up.hpp"
#include "tools/measure_rates.hpp"

#include "support/catch.hpp"

#include <lapwing/error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::model;
using Catch::Contains;

namespace {

constexpr double us = 1e-6;

/// Reads of a microsecond, 2 as a vector… : each pattern has a time of its own.
AccessPlatform platform() {
    AccessPlatform result;
    result.rates.of(AccessPattern::baseline, false) = RateCurve{100 * us};
    result.rates.of(AccessPattern::baseline, true) = RateCurve{50 * us};
    result.rates.of(AccessPattern::vector, false) = RateCurve{1 * us};
    result.rates.of(AccessPattern::vector, true) = RateCurve{2 * us};
    result.rates.of(AccessPattern::coalesce, false) = RateCurve{10 * us};
    result.rates.of(AccessPattern::coalesce, true) = RateCurve{20 * us};
    result.rates.of(AccessPattern::local, false) = RateCurve{0.1 * us};
    result.rates.of(AccessPattern::local, true) = RateCurve{0.2 * us};
    return result;
}

/// Tables 6.1 to 6.4 of the thesis, with 12 threads: MuPC without its cache.
AccessPlatform mupc(double baseline_read, double baseline_write, double vector_read) {
    AccessPlatform result;
    result.rates.of(AccessPattern::baseline, false) = RateCurve{baseline_read * us};
    result.rates.of(AccessPattern::baseline, true) = RateCurve{baseline_write * us};
    result.rates.of(AccessPattern::vector, false) = RateCurve{vector_read * us};
    result.rates.of(AccessPattern::local, false) = RateCurve{0.12 * us};
    result.rates.of(AccessPattern::local, true) = RateCurve{0.12 * us};
    return result;
}

ProgramDescription one_interval(SharedObject object, std::vector<Reference> references, int threads = 4) {
    ProgramDescription program{.threads = threads, .objects = {std::move(object)}};
    program.intervals.push_back({.name = "all", .references = std::move(references)});
    return program;
}

std::vector<Partition> partitions(const ProgramDescription& program, const AccessPlatform& on) {
    return partition_references(program, program.intervals.front(), on);
}

} // namespace

TEST_CASE("rates are interpolated between the points that were measured") {
    const RateCurve curve{std::vector<RateCurve::Point>{{1000, 1 * us}, {10, 3 * us}}};
    CHECK(curve.seconds(1) == Approx(3 * us));
    CHECK(curve.seconds(10) == Approx(3 * us));
    CHECK(curve.seconds(100) == Approx(2 * us)); // in the middle of the logarithms
    CHECK(curve.seconds(1000) == Approx(1 * us));
    CHECK(curve.seconds(50000) == Approx(1 * us));
    CHECK(RateCurve{}.seconds(5) == 0);
}

TEST_CASE("times of more ranks than were measured go on as they grew") {
    using Growth = RateCurve::Growth;
    const RateCurve curve{std::vector<RateCurve::Point>{{2, 10 * us}, {4, 16 * us}}};
    CHECK(curve.at_ranks(4, Growth::logarithmic) == Approx(16 * us));
    CHECK(curve.at_ranks(16, Growth::logarithmic) == Approx(28 * us)); // twice doubled
    CHECK(curve.at_ranks(16, Growth::linear) == Approx(52 * us));      // 3 us a rank
    const RateCurve one{std::vector<RateCurve::Point>{{2, 10 * us}}};
    CHECK(one.at_ranks(8, Growth::logarithmic) == Approx(30 * us));
    CHECK(one.at_ranks(8, Growth::linear) == Approx(40 * us));
    const RateCurve falling{std::vector<RateCurve::Point>{{2, 10 * us}, {4, 8 * us}}};
    CHECK(falling.at_ranks(1024, Growth::logarithmic) == Approx(8 * us)); // never down to nothing

    AccessPlatform on = platform();
    use_synchronisation(on, {{"service.barrier", curve}, {"service.lock", curve}, {"service.sum", curve}}, "service",
                        16);
    CHECK(on.measured_ranks == 4);
    CHECK(on.barrier_seconds == Approx(28 * us));
    CHECK(on.lock_seconds == Approx(52 * us));
    CHECK(on.collective_seconds == Approx(28 * us));
}

TEST_CASE("rates are those of as many ranks as threads, or of the next larger number that was measured") {
    const MeasuredRates rates{{"service.baseline.read", RateCurve{80 * us}},
                              {"service.ranks2.baseline.read", RateCurve{20 * us}},
                              {"service.ranks16.baseline.read", RateCurve{40 * us}},
                              {"service.mupc.baseline.read", RateCurve{7 * us}},
                              {"service.cached.baseline.read", RateCurve{5 * us}}};
    const auto read = [&](Caching caching, int threads) {
        return access_rates(rates, "service", caching, threads).of(AccessPattern::baseline, false).seconds(1);
    };
    CHECK(read(Caching::none, 0) == 80 * us);
    CHECK(read(Caching::none, 1) == 20 * us);
    CHECK(read(Caching::none, 2) == 20 * us);
    CHECK(read(Caching::none, 3) == 40 * us);
    CHECK(read(Caching::none, 17) == 80 * us);
    CHECK(read(Caching::mupc, 2) == 7 * us);
    CHECK(read(Caching::lapwing, 2) == 5 * us);
    CostTables tables;
    tables.rates = rates;
    CHECK(measured_platform(tables, "service", 3).rates.of(AccessPattern::baseline, false).seconds(1) == 40 * us);
}

TEST_CASE("a platform exploits the patterns that are faster than the baseline") {
    const auto exploited = [](double vector, double coalesce) {
        AccessPlatform on = platform();
        for (const bool write : {false, true}) {
            on.rates.of(AccessPattern::baseline, write) = RateCurve{100 * us};
            on.rates.of(AccessPattern::vector, write) = RateCurve{vector};
            on.rates.of(AccessPattern::coalesce, write) = RateCurve{coalesce};
        }
        find_exploited(on);
        return std::pair{on.vectorises, on.coalesces};
    };
    CHECK(exploited(90 * us, 85 * us) == std::pair{false, false});
    CHECK(exploited(10 * us, 90 * us) == std::pair{true, false});
    CHECK(exploited(110 * us, 50 * us) == std::pair{false, true});
    // Only with few accesses: that is the start of a loop, no pattern.
    AccessPlatform on = platform();
    for (const bool write : {false, true})
        on.rates.of(AccessPattern::vector, write) =
            RateCurve{std::vector<RateCurve::Point>{{64, 10 * us}, {4096, 100 * us}}};
    find_exploited(on);
    CHECK_FALSE(on.vectorises);
}

TEST_CASE("the thesis's two examples of partitions: A[i] and A[i-1], B[i] and B[i-1]") {
    const std::vector<Reference> both{{.name = "i", .object = "A", .count = 100, .walk = {Walk::Kind::stride, 1}},
                                      {.name = "i-1", .object = "A", .count = 100, .walk = {Walk::Kind::stride, 1}}};
    const ProgramDescription at_one = one_interval({.name = "A", .elements = 101, .block = 0, .home = 1}, both);
    AccessPlatform on = platform();
    on.vectorises = on.coalesces = true;
    REQUIRE(partitions(at_one, on).size() == 1);
    CHECK(partitions(at_one, on).front().remote == AccessPattern::vector);
    on.vectorises = false;
    CHECK(partitions(at_one, on).front().remote == AccessPattern::coalesce);
    on.coalesces = false;
    CHECK(partitions(at_one, on).front().remote == AccessPattern::baseline);

    // Dealt in turn, the two are never of the same thread at the same time.
    const ProgramDescription dealt = one_interval({.name = "A", .elements = 400, .block = 1}, both);
    on.vectorises = on.coalesces = true;
    REQUIRE(partitions(dealt, on).size() == 2);
    for (const Partition& partition : partitions(dealt, on)) {
        CHECK(partition.remote == AccessPattern::baseline);
        const auto accesses = partition.accesses(dealt, dealt.intervals.front(), 0);
        CHECK(accesses.local_reads == 25); // 75 % baseline, 25 % local
        CHECK(accesses.remote_reads == 75);
    }
}

TEST_CASE("a walk that leaves a thread's memory is a vector only in between") {
    AccessPlatform on = platform();
    on.vectorises = true;
    const auto remote = [&](std::uint64_t block, std::int64_t stride, ReferenceAffinity affinity) {
        const ProgramDescription program =
            one_interval({.name = "A", .elements = 40'000, .block = block},
                         {{.object = "A", .count = 1000, .affinity = affinity, .walk = {Walk::Kind::stride, stride}}});
        const Partition partition = partitions(program, on).front();
        return std::pair{partition.remote, partition.remote_patterns(900)[0].accesses};
    };
    const ReferenceAffinity whole{};
    const ReferenceAffinity share{ReferenceAffinity::Kind::share, 0, 0.25};
    using enum AccessPattern;
    // B[i] of an array that is dealt: no two accesses in a row are to the same thread, whatever share is local.
    CHECK(remote(1, 1, whole) == std::pair{baseline, std::uint64_t{0}});
    CHECK(remote(1, 1, share) == std::pair{baseline, std::uint64_t{0}});
    CHECK(remote(1, 4, share) == std::pair{vector, std::uint64_t{0}});
    CHECK(remote(2, 1, whole) == std::pair{vector, std::uint64_t{450}}); // every second one is at another thread
    CHECK(remote(100, 10, share) == std::pair{vector, std::uint64_t{90}});
    CHECK(remote(1, 1, {ReferenceAffinity::Kind::own}) == std::pair{vector, std::uint64_t{0}});

    const ProgramDescription pairs = one_interval({.name = "A", .elements = 40'000, .block = 2},
                                                  {{.object = "A", .count = 1000, .walk = {Walk::Kind::stride, 1}}});
    CHECK(predict_run_time(pairs, on).seconds == Approx(375 * 100 * us + 375 * 1 * us + 250 * 0.1 * us));
}

TEST_CASE("dependences keep references apart, and duplicates count once") {
    std::vector<Reference> references{
        {.name = "w",
         .object = "C",
         .write = true,
         .count = 10,
         .affinity = {ReferenceAffinity::Kind::own},
         .place = "c"},
        {.name = "w2",
         .object = "C",
         .write = true,
         .count = 10,
         .affinity = {ReferenceAffinity::Kind::own},
         .place = "c"},
        {.name = "r", .object = "C", .count = 10, .affinity = {ReferenceAffinity::Kind::own}, .place = "c"}};
    ProgramDescription program = one_interval({.name = "C", .elements = 100, .block = 25}, references);
    REQUIRE(partitions(program, platform()).size() == 1);
    CHECK(partitions(program, platform()).front().served == std::vector<std::size_t>{1});
    program.intervals.front().depends(0, 2, Dependence::Kind::output);
    CHECK(partitions(program, platform()).size() == 1); // only true dependences and antidependences count
    program.intervals.front().depends(0, 2, Dependence::Kind::true_dependence);
    REQUIRE(partitions(program, platform()).size() == 2);
    CHECK(predict_run_time(program, platform()).seconds == Approx(10 * 0.2 * us + 10 * 0.1 * us));
    program.intervals.front().dependences = {{1, 2, Dependence::Kind::anti}};
    CHECK(partitions(program, platform()).size() == 2);
}

TEST_CASE("fusion does not close a circle of dependences") {
    // a[0] -> b -> a[1]: with both references to a in one partition, it would come before and after b.
    ProgramDescription program = one_interval({.name = "a", .elements = 100, .block = 0, .home = 1},
                                              {{.name = "a0", .object = "a", .count = 1},
                                               {.name = "b", .object = "b", .count = 1},
                                               {.name = "a1", .object = "a", .count = 1}});
    program.objects.push_back({.name = "b", .elements = 100, .block = 0});
    CHECK(partitions(program, platform()).size() == 2);
    program.intervals.front().depends(0, 1, Dependence::Kind::input).depends(1, 2, Dependence::Kind::input);
    CHECK(partitions(program, platform()).size() == 3);

    // a0 -> b0 and b1 -> a1: with both pairs, each would come before the other.
    ProgramDescription pairs = one_interval({.name = "a", .elements = 100, .block = 0, .home = 1},
                                            {{.name = "a0", .object = "a", .count = 1},
                                             {.name = "b0", .object = "b", .count = 1},
                                             {.name = "b1", .object = "b", .count = 1},
                                             {.name = "a1", .object = "a", .count = 1}});
    pairs.objects.push_back({.name = "b", .elements = 100, .block = 0});
    CHECK(partitions(pairs, platform()).size() == 2);
    pairs.intervals.front().depends(0, 1, Dependence::Kind::input).depends(2, 3, Dependence::Kind::input);
    CHECK(partitions(pairs, platform()).size() == 3);
}

TEST_CASE("shares of local accesses follow from block size and threads") {
    const auto share = [](std::uint64_t elements, std::uint64_t block, ReferenceAffinity affinity, int thread,
                          int threads) {
        return local_share({.name = "x", .elements = elements, .block = block}, {.affinity = affinity}, thread,
                           threads);
    };
    const ReferenceAffinity whole{};
    CHECK(share(400, 1, whole, 0, 4) == Approx(0.25));
    CHECK(share(10, 4, whole, 0, 2) == Approx(0.6)); // 0-3 and 8-9
    CHECK(share(10, 4, whole, 1, 2) == Approx(0.4));
    // Sobel's row above: of 500 rows in a block, all but one are the thread's own.
    constexpr std::int64_t row = 2000;
    CHECK(share(2000 * 2000, 500 * 2000, {ReferenceAffinity::Kind::shift, -row}, 1, 4) == Approx(499.0 / 500));
    CHECK(share(2000 * 2000, 500 * 2000, {ReferenceAffinity::Kind::shift, row}, 1, 4) == Approx(499.0 / 500));
    // The first thread has no row above its own, the last one none below.
    CHECK(share(2000 * 2000, 1000 * 2000, {ReferenceAffinity::Kind::shift, -row}, 0, 2) == Approx(1));
    CHECK(share(2000 * 2000, 1000 * 2000, {ReferenceAffinity::Kind::shift, -row}, 1, 2) == Approx(999.0 / 1000));
    CHECK(share(2000 * 2000, 1000 * 2000, {ReferenceAffinity::Kind::shift, row}, 0, 2) == Approx(999.0 / 1000));
    CHECK(share(2000 * 2000, 1000 * 2000, {ReferenceAffinity::Kind::shift, row}, 1, 2) == Approx(1));
    CHECK(share(400, 1, {ReferenceAffinity::Kind::shift, 4}, 1, 4) == Approx(1)); // once round
    CHECK(share(400, 1, {ReferenceAffinity::Kind::shift, 3}, 1, 4) == Approx(0));
    CHECK(share(100, 0, {ReferenceAffinity::Kind::home}, 0, 4) == Approx(1));
    CHECK(share(100, 0, {ReferenceAffinity::Kind::home}, 1, 4) == Approx(0));
}

TEST_CASE("shares of shifted elements are those that counting finds") {
    const auto counted = [](std::int64_t elements, std::int64_t block, std::int64_t shift, int thread, int threads) {
        double all = 0;
        double own = 0;
        for (std::int64_t e = 0; e < elements; ++e) {
            if (e / block % threads != thread || e + shift < 0 || e + shift >= elements) continue;
            ++all;
            own += (e + shift) / block % threads == thread ? 1 : 0;
        }
        return all == 0 ? 1 : own / all;
    };
    for (const std::int64_t elements : {7, 24, 50})
        for (const std::int64_t block : {1, 3, 8})
            for (const int threads : {1, 2, 3})
                for (int thread = 0; thread < threads; ++thread)
                    for (std::int64_t shift = -60; shift <= 60; ++shift) {
                        CAPTURE(elements, block, threads, thread, shift);
                        const SharedObject object{.name = "x",
                                                  .elements = static_cast<std::uint64_t>(elements),
                                                  .block = static_cast<std::uint64_t>(block)};
                        const Reference reference{.affinity = {ReferenceAffinity::Kind::shift, shift}};
                        REQUIRE(local_share(object, reference, thread, threads) ==
                                Approx(counted(elements, block, shift, thread, threads)));
                    }
}

TEST_CASE("intervals, barriers, computation and the slowest thread") {
    ProgramDescription program =
        one_interval({.name = "A", .elements = 100, .block = 0, .home = 1},
                     {{.object = "A", .count = 100, .affinity = {ReferenceAffinity::Kind::home}}}, 2);
    program.intervals.front().times = 3;
    program.intervals.front().computation_seconds = 1e-3;
    program.intervals.front().barriers = 2;
    AccessPlatform on = platform();
    on.barrier_seconds = 5e-4;
    const RunTimePrediction predicted = predict_run_time(program, on);
    CHECK(predicted.slowest_thread == 0);
    CHECK(predicted.seconds == Approx(3 * (100 * 100 * us + 1e-3 + 2 * 5e-4)));
    CHECK(predicted.intervals.front().threads[1].communication_seconds == Approx(100 * 0.1 * us));

    // Another interval, in which the other thread is the slow one: with waits both are paid.
    DescribedInterval other = program.intervals.front();
    other.references.front().object = "B";
    program.objects.push_back({.name = "B", .elements = 100, .block = 0, .home = 0});
    program.intervals.push_back(other);
    const RunTimePrediction both = predict_run_time(program, on);
    CHECK(both.seconds < both.seconds_with_waits);
    CHECK(both.seconds_with_waits == Approx(2 * predicted.seconds));
}

TEST_CASE("a computation on private memory has made each access once") {
    ProgramDescription program =
        one_interval({.name = "A", .elements = 100, .block = 0, .home = 1},
                     {{.object = "A", .count = 100, .affinity = {ReferenceAffinity::Kind::home}}}, 2);
    program.intervals.front().barriers = 0;
    AccessPlatform on = platform();
    on.private_seconds = 0.04 * us;
    const auto seconds = [&](int thread) {
        return predict_run_time(program, on).intervals.front().threads[static_cast<std::size_t>(thread)].seconds();
    };
    CHECK(seconds(0) == Approx(100 * 100 * us));
    CHECK(seconds(1) == Approx(100 * 0.1 * us));
    program.intervals.front().computation_seconds = 1e-3;
    CHECK(seconds(0) == Approx(1e-3 + 100 * (100 - 0.04) * us));
    CHECK(seconds(1) == Approx(1e-3 + 100 * (0.1 - 0.04) * us));
    // It cannot contain accesses that take longer than it.
    program.intervals.front().computation_seconds = 1e-9;
    CHECK(seconds(1) == Approx(100 * 0.1 * us));
    program.intervals.front().computation_seconds = 1e-3;
    // In order, where the platform exploits that, and by loads and stores.
    on.vectorises = true;
    on.private_in_order_seconds = 0.03 * us;
    on.rates.of(AccessPattern::vector, false) = RateCurve{0.05 * us};
    program.intervals.front().references.front().walk = {Walk::Kind::stride, 1};
    CHECK(seconds(0) == Approx(1e-3 + 100 * (0.05 - 0.03) * us));
    // No access takes less than nothing.
    on.private_in_order_seconds = 1 * us;
    CHECK(seconds(0) == Approx(1e-3));
}

TEST_CASE("bulk transfers take what was measured while all ranks make them") {
    const RateCurve curve{{{1, 40 * us}, {1024, 0.1 * us}, {4096, 0.05 * us}}};
    CHECK(curve.of_transfer(0.5) == Approx(40 * us));
    CHECK(curve.of_transfer(1024) == Approx(102.4 * us));
    CHECK(curve.of_transfer(2560) == Approx((102.4 + 204.8) / 2 * us));
    CHECK(curve.of_transfer(7168) == Approx((204.8 + 102.4) * us));
    CHECK(RateCurve{}.of_transfer(7) == 0);
    CHECK(RateCurve{2 * us}.of_transfer(7) == Approx(14 * us));

    ProgramDescription program = one_interval({.name = "A", .elements = 4}, {}, 2);
    program.intervals.front().barriers = 0;
    program.intervals.front().transfers = {{DescribedTransfer::Kind::get, 3, 8192}};
    AccessPlatform on = platform();
    on.transfers[0] = TransferModel{std::vector<TransferLine>{{0, 20 * us, 20 * us, 1 * us, 0, 0, 0}}};
    CHECK(predict_run_time(program, on).seconds == Approx(3 * 21 * us));
    on.bulk[0] = curve;
    CHECK(predict_run_time(program, on).seconds == Approx(3 * 102.4 * us));
}

TEST_CASE("threads wait for each other at barriers and collective calls only") {
    // Thread 0 is slow in the first interval, 1 in the second one.
    ProgramDescription program =
        parse_description("threads 2\n"
                          "object A elements=100 block=indefinite home=1\n"
                          "object B elements=100 block=indefinite home=0\n"
                          "interval i barriers=0\nreference a read A count=100 affinity=home\n"
                          "interval k barriers=1\nreference b read B count=90 affinity=home\n");
    const double slow_i = 100 * 100 * us, slow_k = 90 * 100 * us;
    const double quick_i = 100 * 0.1 * us, quick_k = 90 * 0.1 * us;
    const auto path = [&] { return predict_run_time(program, platform()).seconds_with_waits; };
    CHECK(path() == Approx(slow_i + quick_k));
    CHECK(predict_run_time(program, platform()).intervals[1].waited_for == 0);
    program.intervals[0].barriers = 1;
    CHECK(path() == Approx(slow_i + slow_k));
    CHECK(predict_run_time(program, platform()).intervals[1].waited_for == 1);
    // Before the first of several barriers of k, the threads may be at different places.
    program.intervals[0].barriers = 0;
    program.intervals[1].times = 3;
    CHECK(path() == Approx(slow_i + quick_k + 2 * slow_k));
    program.intervals[1].barriers = 0;
    CHECK(path() == Approx(std::max(slow_i + 3 * quick_k, quick_i + 3 * slow_k)));
    AccessPlatform on = platform();
    on.collective_seconds = 1 * us;
    program.intervals[0].collectives = 1;
    program.intervals[1].times = 1;
    CHECK(predict_run_time(program, on).seconds_with_waits == Approx(slow_i + slow_k + 1 * us));
}

TEST_CASE("locks, collective calls, notified puts, and threads that all access one owner") {
    const MeasuredRates rates{{"service.barrier", RateCurve{{{2, 10 * us}, {8, 30 * us}}}},
                              {"service.lock", RateCurve{{{1, 5 * us}, {4, 40 * us}}}},
                              {"service.sum", RateCurve{{{2, 20 * us}, {4, 50 * us}}}},
                              {"service.notify", RateCurve{{{1, 7 * us}}}},
                              {"service.one_owner.read", RateCurve{{{1, 100 * us}, {3, 250 * us}}}}};
    AccessPlatform on = platform();
    use_synchronisation(on, rates, "service", 4);
    CHECK(on.barrier_seconds == Approx(20 * us)); // halfway in the logarithm
    CHECK(on.contention == Approx(2.5));

    ProgramDescription program = parse_description("threads 4\nobject A elements=100 block=indefinite home=1\n"
                                                   "interval i barriers=0 locks=3 collectives=2 notifications=10\n"
                                                   "reference a read A count=100 affinity=home\n");
    const RunTimePrediction predicted = predict_run_time(program, on);
    const IntervalCost& cost = predicted.intervals.front().threads[0];
    CHECK(cost.synchronisation_seconds == Approx(3 * 40 * us + 2 * 50 * us + 10 * 7 * us));
    CHECK(cost.communication_seconds == Approx(2.5 * 100 * 100 * us));
    // The owner's own accesses, and those of objects that all threads own, are no slower.
    CHECK(predicted.intervals.front().threads[1].communication_seconds == Approx(100 * 0.1 * us));
    program.objects.front().block = 1;
    program.intervals.front().references.front().affinity = {ReferenceAffinity::Kind::whole};
    CHECK(predict_run_time(program, on).intervals.front().threads[0].communication_seconds ==
          Approx(75 * 100 * us + 25 * 0.1 * us));

    // One thread contends with nobody; and what was not measured is no guess.
    use_synchronisation(on, rates, "service", 1);
    CHECK(on.contention == 1);
    use_synchronisation(on, {}, "service", 4);
    CHECK(on.contention == 1);
    CHECK_THROWS_WITH(predict_run_time(program, on), Contains("time of locks") && Contains("lapwing-tune --rates"));
}

TEST_CASE("with a cache hits are local accesses, and misses take the penalty") {
    ProgramDescription program = one_interval(
        {.name = "A", .elements = 1000, .block = 0, .home = 1},
        {{.object = "A", .count = 1000, .affinity = {ReferenceAffinity::Kind::home}, .cached = CachedShare{0.9}}}, 2);
    AccessPlatform on = platform();
    on.cache = AccessPlatform::Cache{.miss_seconds = 200 * us};
    CHECK(predict_run_time(program, on).seconds == Approx(900 * 0.1 * us + 100 * 200 * us));

    // Simulated: of 128 elements of a page one fetches a line, and another one the page.
    program.intervals.front().references.front().cached.reset();
    program.intervals.front().references.front().walk = {Walk::Kind::stride, 1};
    const auto simulated = [&] { return simulated_shares(program, program.intervals.front(), 0, *on.cache).front(); };
    CHECK(simulated().hits == Approx(1 - 16.0 / 1000));
    CHECK(simulated().lines == Approx(8.0 / 1000));
    on.cache->read_ahead_pages = 4;
    CHECK(simulated().hits > 0.995);
    CHECK(simulated().ahead == Approx(0.006).margin(0.001)); // eight pages, without the first two
    // A cache that is far too small for random accesses, which soon bypass it.
    program.objects.front().elements = 100'000'000;
    program.intervals.front().references.front().walk = {Walk::Kind::random};
    program.intervals.front().references.front().count = 10'000;
    CHECK(simulated().hits < 0.05);
    CHECK(simulated().passed > 0.5);
    CHECK(simulated().hits + simulated().lines + simulated().passed == Approx(1).margin(0.01));
}

TEST_CASE("a simulated cache fetches lines of a page first, and then all of it") {
    using Outcome = SimulatedCache::Outcome;
    constexpr std::uint64_t part = 1 << 20;
    SimulatedCache cache{{.pages = 64}, 2, [](int) { return part; }, part};
    CHECK(cache.access(0, 8192, 8) == Outcome::line);
    CHECK(cache.access(0, 8192 + 56, 8) == Outcome::hit);
    CHECK(cache.access(0, 8192 + 512, 8) == Outcome::page); // the second miss in it
    CHECK(cache.access(0, 8192 + 1016, 8) == Outcome::hit);
    CHECK(cache.access(1, 8192, 8) == Outcome::line); // of another owner
    CHECK(cache.bytes_ahead() == 0);
    // What was written can be read, and the rest of its page cannot.
    CHECK(cache.access(0, 65536, 8, true) == Outcome::page);
    CHECK(cache.access(0, 65536 + 8, 8, true) == Outcome::hit);
    CHECK(cache.access(0, 65536, 8) == Outcome::hit);
    CHECK(cache.access(0, 65536 + 512, 8) == Outcome::page);
    // The end of a part is that of a page.
    SimulatedCache ahead{{.pages = 64, .read_ahead_pages = 16}, 1, [](int) { return std::uint64_t{4096}; }, 4096};
    for (std::uint64_t offset = 0; offset < 4096; offset += 8) (void)ahead.access(0, offset, 8);
    CHECK(ahead.bytes_ahead() == 2048);
}

TEST_CASE("a walk over shifted elements reaches those of others, though several references are one") {
    // Thread 0's last row of ten is the one above thread 1's first; each element is read five times.
    ProgramDescription program = one_interval({.name = "A", .elements = 20'000, .block = 10'000},
                                              {{.object = "A",
                                                .count = 50'000,
                                                .affinity = {ReferenceAffinity::Kind::shift, 1000},
                                                .walk = {Walk::Kind::stride, 1}}},
                                              2);
    AccessPlatform::Cache cache{.miss_seconds = 200 * us};
    const CachedShare share = simulated_shares(program, program.intervals.front(), 0, cache).front();
    CHECK(share.hits == Approx(1 - 16.0 / 5000).margin(0.0005)); // 8000 bytes, in whole pages and a line of each
    // Of those that are not local, a share reads the others' only.
    program.intervals.front().references.front().affinity = {ReferenceAffinity::Kind::share, 0, 0.5};
    program.intervals.front().references.front().count = 2000;
    CHECK(simulated_shares(program, program.intervals.front(), 0, cache).front().hits ==
          Approx(1 - 16.0 / 1000).margin(0.001));
}

TEST_CASE("a hundred thousand threads with a cache are simulated once for each kind of them") {
    ProgramDescription program = one_interval({.name = "A", .elements = 100'000'000, .block = 1000},
                                              {{.object = "A",
                                                .count = 100'000,
                                                .affinity = {ReferenceAffinity::Kind::shift, 10},
                                                .walk = {Walk::Kind::stride, 1}}},
                                              100'000);
    AccessPlatform on = platform();
    on.cache = AccessPlatform::Cache{.miss_seconds = 200 * us, .line_seconds = 100 * us};
    const auto begin = std::chrono::steady_clock::now();
    const RunTimePrediction predicted = predict_run_time(program, on);
    // One simulation each would take hours.
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::minutes{1});
    CHECK(predicted.intervals.front().threads.size() == 100'000);
    CHECK(predicted.intervals.front().threads[5].communication_seconds ==
          Approx(predicted.intervals.front().threads[77'777].communication_seconds));
}

TEST_CASE("the speed-up follows from degrees of concurrency alone") {
    AccessPlatform on = platform();
    CHECK_THROWS_WITH(on.concurrency(AccessPattern::local, false, 1), Contains("lapwing-tune"));
    on.private_seconds = 0.01 * us;
    CHECK(on.concurrency(AccessPattern::local, false, 1) == Approx(10));
    // Of a thread 50 private accesses, 10 local ones and 30 remote reads in three intervals, and a remote write.
    ProgramDescription program =
        one_interval({.name = "A", .elements = 100, .block = 0, .home = 1},
                     {{.object = "A", .count = 10, .affinity = {ReferenceAffinity::Kind::home}}}, 2);
    program.intervals.front().private_accesses = 50;
    program.intervals.front().times = 3;
    // Thread 1 is the owner.
    const double remote = 3 * (50 + 10 * 100 / 0.01);
    const double local = 3 * (50 + 10 * 0.1 / 0.01);
    CHECK(predicted_speed_up(program, on).normalised == Approx((remote + local) / 2));
    CHECK(predicted_speed_up(program, on).sequential == Approx(2 * 3 * 60)); // what both threads make
    program.sequential_accesses = 1000;
    CHECK(predicted_speed_up(program, on).value() == Approx(1000 / ((remote + local) / 2)));
    // A platform that exploits the pattern, and writes.
    program.intervals.front().references.front().walk = {Walk::Kind::stride, 1};
    program.intervals.front().references.front().write = true;
    on.vectorises = true;
    CHECK(predicted_speed_up(program, on).normalised == Approx(3 * (50 + 10 * 2 / 0.01 + 50 + 10 * 0.2 / 0.01) / 2));
    on.rates.of(AccessPattern::vector, true) = RateCurve{};
    CHECK_THROWS_WITH(predicted_speed_up(program, on), Contains("vector writes"));
}

TEST_CASE("ranks that measure a path are joined by it") {
    using lapwing::tools::order_of_ranks;
    const std::vector<int> in_blocks{0, 0, 0, 3, 3, 3};
    CHECK(order_of_ranks(in_blocks, false) == std::vector<int>{0, 3, 1, 4, 2, 5});
    CHECK(order_of_ranks(in_blocks, true) == std::vector<int>{0, 1, 2});
    CHECK(order_of_ranks(std::vector<int>{0, 1, 0, 1, 0}, false) == std::vector<int>{0, 1, 2, 3, 4});
    CHECK(order_of_ranks(std::vector<int>{0}, true) == std::vector<int>{0});
}

TEST_CASE("a network by its LogGP parameters, up to 100,000 threads") {
    AccessRates local = platform().rates;
    const LogGpNetwork network{.latency = 5 * us, .overhead = 1 * us, .gap = 2 * us, .per_byte = 0.001 * us};
    const AccessPlatform own{.rates = local, .private_seconds = 1e-9};
    const AccessPlatform on = loggp_platform(network, 100'000, own);
    CHECK(on.rates.of(AccessPattern::baseline, false).seconds(1) == Approx(14.008 * us));
    CHECK(on.rates.of(AccessPattern::vector, true).seconds(1) == Approx(2.008 * us));
    CHECK(on.barrier_seconds == Approx(17 * 7 * us)); // 2^17 threads
    CHECK(loggp_platform(network, 1, own).barrier_seconds == 0);
    CHECK(loggp_platform(network, 1, own).contention == 1);
    CHECK(on.collective_seconds == Approx(2 * 17 * 7 * us));
    CHECK(on.notify_seconds == Approx(7 * us));
    CHECK(on.lock_seconds == Approx(100'000 * 14 * us));
    CHECK(on.contention == Approx(99'999 * 2 / 14.008)); // one access in each gap
    CHECK_THROWS_WITH(loggp_platform({.latency = -1}, 2, own), Contains("none of these may be negative"));
    ProgramDescription program =
        one_interval({.name = "A", .elements = 100'000'000, .block = 1000}, {{.object = "A", .count = 1000}}, 100'000);
    // All but a hundred-thousandth of the accesses are remote.
    CHECK(predict_run_time(program, on).seconds == Approx(1000 * 14.008 * us + 17 * 7 * us).epsilon(1e-3));
}

TEST_CASE("descriptions as text") {
    const ProgramDescription program = parse_description(R"(
# matrix multiply of the thesis, cyclic striped
threads 12
object A elements=57600 block=240
object B elements=57600 block=1
object C elements=57600 block=240
interval multiply computation=0.5
reference c_write write C count=1152000 affinity=own walk=unit place=c
reference c_zero  write C count=4800    affinity=own walk=unit place=c
reference c_read  read  C count=1152000 affinity=own walk=unit place=c
reference a       read  A count=1152000 affinity=own walk=unit
reference b       read  B count=1152000 affinity=whole walk=stride:240
dependence c_write c_read true
)");
    AccessPlatform on = mupc(83.1, 32.5, 71.2);
    on.vectorises = true;
    const auto found = partition_references(program, program.intervals.front(), on);
    REQUIRE(found.size() == 4); // as in section 7.1.2
    CHECK(found[0].served.size() == 1);
    CHECK(found[3].remote == AccessPattern::vector);
    const auto b = found[3].accesses(program, program.intervals.front(), 0);
    CHECK(b.remote_reads == 1152000 / 12 * 11);
    CHECK(b.local_reads == 1152000 / 12);
    CHECK(predict_run_time(program, on).seconds ==
          Approx(0.5 + 1152000.0 / 12 * 11 * 71.2 * us + (3 * 1152000.0 + 1152000.0 / 12) * 0.12 * us));

    CHECK_THROWS_WITH(parse_description("threads 2\nobject A block=1\n"), Contains("line 2") && Contains("elements"));
    CHECK_THROWS_WITH(parse_description("threads two\n"), Contains("line 1") && Contains("'two' is not a number"));
    CHECK_THROWS_WITH(parse_description("threads 0\n"), Contains("at least 1"));
    CHECK_THROWS_WITH(parse_description("interval i\nreference r read B count=1\n"), Contains("no object 'B'"));
    CHECK_THROWS_WITH(parse_description("object A elements=1\ninterval i\nreference r read A walk=slow\n"),
                      Contains("walk=slow"));
    CHECK_THROWS_WITH(parse_description("interval i\ndependence a b true\n"), Contains("no reference 'a'"));
    CHECK_THROWS_WITH(parse_description("interval i cost=3\n"), Contains("'cost=3' is not allowed"));
}

TEST_CASE("descriptions that say nothing are refused") {
    const std::string object = "threads 2\nobject A elements=10 block=";
    CHECK_THROWS_WITH(parse_description(object + "5\ninterval i\nreference r read A affinity=home\n"),
                      Contains("affinity=home") && Contains("blocks of 5") && Contains("block=indefinite"));
    CHECK_THROWS_WITH(parse_description(object + "indefinite\ninterval i\nreference r read A affinity=own\n"),
                      Contains("affinity=own") && Contains("thread 0's"));
    CHECK_THROWS_WITH(parse_description(object + "indefinite home=2\n"), Contains("home=2") && Contains("2 threads"));
    CHECK_THROWS_WITH(parse_description(object + "5\nobject A elements=20\n"), Contains("two objects 'A'"));
    for (const char* const seconds : {"-1", "nan", "inf"})
        CHECK_THROWS_WITH(parse_description(std::string{"interval i computation="} + seconds + "\n"),
                          Contains("computation="));
    CHECK_NOTHROW(parse_description(object + "indefinite home=1\ninterval i\nreference r read A affinity=home\n"));
}

TEST_CASE("the thesis's matrix multiply of 256 squared with 4 threads") {
    // Section 8.3: the fine-grained program takes 179 s. The thesis does not say which platform it ran on, nor the
    // computation's time, so that this is no check of the model: with tables 6.2 and 6.4, 4 threads, MuPC without a
    // cache, it is consistent with that.
    constexpr std::uint64_t each = std::uint64_t{256} * 256 * 256 / 4;
    const ProgramDescription program =
        one_interval({.name = "B", .elements = 256 * 256, .block = 1},
                     {{.object = "B", .count = each, .walk = {Walk::Kind::stride, 256}}});
    AccessPlatform on = mupc(76.8, 28.0, 67.8);
    on.vectorises = true;
    const double predicted = predict_run_time(program, on).seconds;
    CHECK(predicted == Approx(213.4).epsilon(0.001));
    CHECK(std::abs(prediction_error(predicted, 179)) < 20);
}

TEST_CASE("the thesis's question: which platform suits CG?") {
    // Table 8.2. The thesis says that vectors predominate in CG, and figure 4.6 confirms the order; it has no shares.
    const auto seconds = [](double vector_share, double coalesce_share, std::array<double, 4> rates) {
        AccessPlatform on;
        on.vectorises = on.coalesces = true;
        constexpr std::array patterns{AccessPattern::baseline, AccessPattern::coalesce, AccessPattern::vector,
                                      AccessPattern::local};
        for (std::size_t k = 0; k < patterns.size(); ++k) on.rates.of(patterns[k], false) = RateCurve{rates[k] * us};
        const auto count = [](double share) { return static_cast<std::uint64_t>(std::llround(100'000 * share)); };
        return predict_run_time(
                   one_interval(
                       {.name = "v", .elements = 1'200'000, .block = 100'000},
                       {{.object = "v", .count = count(vector_share), .walk = {Walk::Kind::stride, 1}, .with = "a"},
                        {.object = "v", .count = count(coalesce_share), .walk = {Walk::Kind::clustered}, .with = "b"},
                        {.object = "v", .count = count(1 - vector_share - coalesce_share), .with = "c"}},
                       12),
                   on)
            .seconds;
    };
    const auto order = [&](double vector_share, double coalesce_share) {
        const auto of = [&](std::array<double, 4> rates) { return seconds(vector_share, coalesce_share, rates); };
        std::map<double, std::string> platforms{{of({9.8, 2.8, 2.4, 0.09}), "HP cached"},
                                                {of({92.8, 15.6, 1.3, 0.12}), "MuPC cached"},
                                                {of({66.0, 8.2, 68.5, 0.15}), "Berkeley"}};
        std::string names;
        for (const auto& [time, name] : platforms) names += name + "; ";
        return names;
    };
    // The order of the figure, wherever vectors predominate and some accesses are none.
    for (const double vector_share : {0.5, 0.7, 0.9, 0.95})
        for (const double coalesce : {0.2, 0.5, 0.8}) {
            CAPTURE(vector_share, coalesce);
            CHECK(order(vector_share, (1 - vector_share) * coalesce) == "HP cached; MuPC cached; Berkeley; ");
        }
    // It turns where one pattern is alone: MuPC's vectors are the fastest, and Berkeley UPC exploits coalescing only.
    CHECK(order(1, 0) == "MuPC cached; HP cached; Berkeley; ");
    CHECK(order(0.995, 0) == "MuPC cached; HP cached; Berkeley; ");
    CHECK(order(0, 1) == "HP cached; Berkeley; MuPC cached; ");
}

TEST_CASE("table 8.3: how to program the platforms of table 8.2") {
    const auto type = [](double stream, double baseline, double coalesce, double vector, double local) {
        return platform_type({stream * us, baseline * us, coalesce * us, vector * us, local * us, 0.01 * us});
    };
    const PlatformType mupc_uncached = type(20.0, 83.1, 77.3, 71.2, 0.12);
    CHECK(mupc_uncached.number() == 1);
    CHECK_THAT(mupc_uncached.style, Contains("gather single accesses into bulk transfers") && Contains("692"));
    const PlatformType mupc_cached = type(25.4, 92.8, 15.6, 1.3, 0.12);
    CHECK(mupc_cached.number() == 2);
    CHECK_THAT(mupc_cached.style,
               Contains("avoid accesses at random places") && Contains("in order") && Contains("0.014"));
    // "Besides, its baseline latency is 4 times the stream latency."
    CHECK_THAT(mupc_cached.bottlenecks.front(), Contains("3.65 times"));
    CHECK(type(8.2, 10.4, 9.9, 10.1, 0.09).number() == 3);
    const PlatformType hp_cached = type(8.4, 9.8, 2.8, 2.4, 0.09);
    CHECK(hp_cached.number() == 4);
    CHECK(hp_cached.bottlenecks.size() == 2); // coalesce and vector, one order of magnitude above local
    CHECK(type(13.6, 66.0, 8.2, 68.5, 0.15).number() == 2);
    CHECK_THAT(type(13.6, 66.0, 8.2, 68.5, 0.15).style, Contains("close to each other"));
    CHECK_THROWS_WITH(platform_matrix({}, "rma", Caching::lapwing), Contains("cached accesses on the path rma"));
}

TEST_CASE("bulk transfers, lists and atomics have their own times") {
    ProgramDescription program =
        parse_description("threads 2\ninterval i barriers=0 atomics=3 updates=10\n"
                          "transfer get count=5 bytes=1000\ntransfer scatter count=2 elements=100\n");
    AccessPlatform on = platform();
    on.atomic_seconds = 7 * us;
    on.update_seconds = 2 * us;
    on.lists[1] = RateCurve{0.5 * us};
    CHECK_THROWS_WITH(predict_run_time(program, on), Contains("bulk transfers"));
    const std::vector<TransferLine> line{
        {.begin_bytes = 0, .latency = 10 * us, .batch_latency = 10 * us, .overhead = 0, .per_byte = 0.01 * us}};
    on.transfers[0] = TransferModel{line};
    CHECK(predict_run_time(program, on).seconds == Approx(21 * us + 20 * us + 5 * 20 * us + 200 * 0.5 * us));
    CHECK_THROWS_WITH(parse_description("interval i\ntransfer move count=1\n"),
                      Contains("get, put, gather or scatter"));
    CHECK_THROWS_WITH(parse_description("interval i\ntransfer gather bytes=8\n"), Contains("'bytes=8' is not allowed"));
}
