// The performance model on synthetic platforms whose answer is known, and with the tables of Zhang's thesis.
#include "model/loggp_platform.hpp"
#include "model/run_time_prediction.hpp"
#include "model/simulated_cache.hpp"
#include "tools/measure_rates.hpp"

#include "support/catch.hpp"

#include <lapwing/error.hpp>

#include <string>
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
    CHECK(share(400, 1, {ReferenceAffinity::Kind::shift, 4}, 1, 4) == Approx(1)); // once round
    CHECK(share(400, 1, {ReferenceAffinity::Kind::shift, 3}, 1, 4) == Approx(0));
    CHECK(share(100, 0, {ReferenceAffinity::Kind::home}, 0, 4) == Approx(1));
    CHECK(share(100, 0, {ReferenceAffinity::Kind::home}, 1, 4) == Approx(0));
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
    ProgramDescription program =
        one_interval({.name = "A", .elements = 1000, .block = 0, .home = 1},
                     {{.object = "A", .count = 1000, .affinity = {ReferenceAffinity::Kind::home}, .hit_rate = 0.9}}, 2);
    AccessPlatform on = platform();
    on.cache = AccessPlatform::Cache{.miss_seconds = 200 * us};
    CHECK(predict_run_time(program, on).seconds == Approx(900 * 0.1 * us + 100 * 200 * us));

    // Simulated: 128 elements a page, and no read-ahead: a miss a page.
    program.intervals.front().references.front().hit_rate.reset();
    program.intervals.front().references.front().walk = {Walk::Kind::stride, 1};
    CHECK(simulated_hit_rates(program, program.intervals.front(), 0, *on.cache).front() == Approx(0.992));
    on.cache->read_ahead_pages = 4;
    CHECK(simulated_hit_rates(program, program.intervals.front(), 0, *on.cache).front() > 0.995);
    // A cache that is far too small for random accesses.
    program.objects.front().elements = 100'000'000;
    program.intervals.front().references.front().walk = {Walk::Kind::random};
    CHECK(simulated_hit_rates(program, program.intervals.front(), 0, *on.cache).front() < 0.05);
}

TEST_CASE("a simulated cache drops the page that was used longest ago") {
    SimulatedCache cache{2, 0};
    CHECK_FALSE(cache.access(0, 1));
    CHECK_FALSE(cache.access(0, 2));
    CHECK(cache.access(0, 1));
    CHECK_FALSE(cache.access(0, 3)); // instead of 2
    CHECK(cache.access(0, 1));
    CHECK_FALSE(cache.access(0, 2));
    CHECK(cache.hits() == 2);
    CHECK(cache.misses() == 4);
    CHECK_FALSE(cache.access(1, 2)); // of another owner
}

TEST_CASE("the speed-up follows from degrees of concurrency alone") {
    AccessPlatform on = platform();
    CHECK_THROWS_WITH(predicted_speed_up(on, {.sequential = 1, .local = 1}), Contains("lapwing-tune"));
    on.private_seconds = 0.01 * us;
    CHECK(on.concurrency(AccessPattern::local, false, 1) == Approx(10));
    // 1000 accesses of the sequential program; of a thread 50 private ones, 10 local, 0.01 of a remote one each.
    CHECK(predicted_speed_up(on, {.sequential = 1000, .private_accesses = 50, .local = 10, .vector = 0.5}) ==
          Approx(1000 / (50 + 10 * 10 + 0.5 * 100)));
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
    const AccessPlatform on = loggp_platform(network, 100'000, local, 1e-9);
    CHECK(on.rates.of(AccessPattern::baseline, false).seconds(1) == Approx(14.008 * us));
    CHECK(on.rates.of(AccessPattern::vector, true).seconds(1) == Approx(2.008 * us));
    CHECK(on.barrier_seconds == Approx(17 * 7 * us)); // 2^17 threads
    CHECK(loggp_platform(network, 1, local, 1e-9).barrier_seconds == 0);
    CHECK(loggp_platform(network, 1, local, 1e-9).contention == 1);
    CHECK(on.collective_seconds == Approx(2 * 17 * 7 * us));
    CHECK(on.notify_seconds == Approx(7 * us));
    CHECK(on.lock_seconds == Approx(100'000 * 14 * us));
    CHECK(on.contention == Approx(99'999 * 2 / 14.008)); // one access in each gap
    CHECK_THROWS_WITH(loggp_platform({.latency = -1}, 2, local, 1e-9), Contains("none of these may be negative"));
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

TEST_CASE("the thesis's matrix multiply of 256 squared with 4 threads") {
    // Section 8.3: the fine-grained program takes 179 s. Tables 6.2 and 6.4, 4 threads, MuPC without a cache; the
    // thesis does not say which platform it ran on, nor the computation's time. Ours is 214 s, 20 % more.
    constexpr std::uint64_t each = std::uint64_t{256} * 256 * 256 / 4;
    const ProgramDescription program =
        one_interval({.name = "B", .elements = 256 * 256, .block = 1},
                     {{.object = "B", .count = each, .walk = {Walk::Kind::stride, 256}}});
    AccessPlatform on = mupc(76.8, 28.0, 67.8);
    on.vectorises = true;
    const double predicted = predict_run_time(program, on).seconds;
    CHECK(predicted == Approx(213.4).epsilon(0.001));
    CHECK(prediction_error(predicted, 179) < 20);
}

TEST_CASE("the thesis's question: which platform suits CG?") {
    // Table 8.2; CG is mostly vectors. Figure 4.6 confirms the order.
    const auto seconds = [](double baseline, double coalesce, double vector, double local) {
        AccessPlatform on;
        on.vectorises = on.coalesces = true;
        on.rates.of(AccessPattern::baseline, false) = RateCurve{baseline * us};
        on.rates.of(AccessPattern::coalesce, false) = RateCurve{coalesce * us};
        on.rates.of(AccessPattern::vector, false) = RateCurve{vector * us};
        on.rates.of(AccessPattern::local, false) = RateCurve{local * us};
        return predict_run_time(
                   one_interval({.name = "v", .elements = 14000, .block = 14000 / 12},
                                {{.object = "v", .count = 90'000, .walk = {Walk::Kind::stride, 1}, .with = "a"},
                                 {.object = "v", .count = 8'000, .walk = {Walk::Kind::clustered}, .with = "b"},
                                 {.object = "v", .count = 2'000, .with = "c"}},
                                12),
                   on)
            .seconds;
    };
    const double hp = seconds(9.8, 2.8, 2.4, 0.09);
    const double mupc_cached = seconds(92.8, 15.6, 1.3, 0.12);
    const double berkeley = seconds(66.0, 8.2, 68.5, 0.15);
    CHECK(hp < mupc_cached);
    CHECK(mupc_cached < berkeley);
}
