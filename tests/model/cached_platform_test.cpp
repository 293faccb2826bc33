// A cache before a platform's remote accesses: where its times and hit rates come from, and that they change what is
// predicted.
#include "model/cached_platform.hpp"
#include "model/recorded_hits.hpp"
#include "model/run_time_prediction.hpp"
#include "model/simulated_cache.hpp"

#include "support/catch.hpp"

#include <lapwing/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::model;
using Catch::Contains;

namespace {

constexpr double us = 1e-6;
constexpr double ns = 1e-9;

/// Gets take 10 us and 10 ns a byte, of several the 10 us once; puts the same.
CostTables tables() {
    CostTables result;
    const std::vector<TransferLine> line{
        {.begin_bytes = 0, .latency = 10 * us, .batch_latency = 10 * us, .overhead = 0, .per_byte = 10 * ns}};
    result.transfers(Path::service, Direction::get) = TransferModel{line};
    result.transfers(Path::service, Direction::put) = TransferModel{line};
    for (const char* const pattern : {"baseline", "vector", "coalesce"})
        for (const char* const operation : {"read", "write"})
            result.rates[std::string{"service."} + pattern + '.' + operation] = RateCurve{100 * us};
    result.rates["service.cached.hit.read"] = RateCurve{5 * ns};
    result.rates["service.cached.hit.write"] = RateCurve{7 * ns};
    result.rates["service.cached.baseline.write"] = RateCurve{200 * ns};
    result.rates["own.read"] = result.rates["own.write"] = RateCurve{2 * ns};
    return result;
}

AccessPlatform platform(const CacheSizes& sizes) {
    AccessPlatform result{.rates = access_rates(tables().rates, "service", Caching::none)};
    result.cache = cache_on(tables(), "service", sizes);
    return result;
}

/// One thread of two accesses all elements of the other one in order, once.
ProgramDescription in_order(bool write) {
    ProgramDescription program{.threads = 2, .objects = {{.name = "A", .elements = 128'000, .block = 0, .home = 1}}};
    program.intervals.push_back({.name = "all",
                                 .barriers = 0,
                                 .references = {{.name = "a",
                                                 .object = "A",
                                                 .write = write,
                                                 .count = 128'000,
                                                 .affinity = {ReferenceAffinity::Kind::home},
                                                 .walk = {Walk::Kind::stride, 1}}}});
    return program;
}

/// As long as a read without a cache, and the bytes beyond its eight.
constexpr double miss_of(double bytes) { return 100 * us + (bytes - 8) * 10 * ns; }
constexpr double page_miss = miss_of(1024);
constexpr double line_miss = miss_of(64);

} // namespace

TEST_CASE("a cache has the profile's times: misses fetch a page") {
    const AccessPlatform::Cache cache = cache_on(tables(), "service", {});
    CHECK(cache.pages == 2048);
    CHECK(cache.miss_seconds == Approx(page_miss));
    CHECK(cache.line_seconds == Approx(line_miss));
    CHECK(cache.ahead_seconds == Approx(10 * us / 16 + 1024 * 10 * ns));
    CHECK(cache.read_ahead_pages == 128);
    CHECK(cache.written_byte_seconds == Approx(10 * ns));
    CHECK(cache_on(tables(), "service", {.page_bytes = 4096}).miss_seconds == Approx(miss_of(4096)));
    CHECK(cache_on(tables(), "service", {.read_ahead_bytes = 0}).read_ahead_pages == 0);
}

TEST_CASE("a cache that cannot be is refused, and so is one that was not measured") {
    CHECK_THROWS_WITH(cache_on(tables(), "direct", {}), Contains("never cached") && Contains("rma or service"));
    CHECK_THROWS_WITH(cache_on(tables(), "rma", {}), Contains("path rma") && Contains("lapwing-tune --rates"));
    CHECK_THROWS_WITH(cache_on(tables(), "service", {.page_bytes = 1000}),
                      Contains("1000") && Contains("power of two"));
    CHECK_THROWS_WITH(cache_on(tables(), "service", {.bytes = 2048}), Contains("no room for four pages"));
    CostTables without = tables();
    without.rates.erase("service.cached.hit.read");
    CHECK_THROWS_WITH(cache_on(without, "service", {}), Contains("no rates of cached accesses"));
}

TEST_CASE("given hit rates decide between the time of hits and of misses") {
    ProgramDescription program = in_order(false);
    std::optional<CachedShare>& share = program.intervals.front().references.front().cached;
    share = CachedShare{.hits = 1};
    CHECK(predict_run_time(program, platform({})).seconds == Approx(128'000 * 5 * ns));
    share = CachedShare{.hits = 0.75};
    CHECK(predict_run_time(program, platform({})).seconds == Approx(96'000 * 5 * ns + 32'000 * page_miss));
    share = CachedShare{.hits = 0.75, .ahead = 0.25};
    CHECK(predict_run_time(program, platform({})).seconds ==
          Approx(96'000 * 5 * ns + 32'000 * (page_miss + 10 * us / 16 + 1024 * 10 * ns)));
    // Some misses fetch a line, and what bypasses the cache is a baseline access.
    share = CachedShare{.hits = 0.5, .lines = 0.125, .passed = 0.25};
    CHECK(predict_run_time(program, platform({})).seconds ==
          Approx(64'000 * 5 * ns + 16'000 * page_miss + 16'000 * line_miss + 32'000 * 100 * us));
    AccessPlatform uncached = platform({});
    uncached.cache.reset();
    CHECK(predict_run_time(program, uncached).seconds == Approx(128'000 * 100 * us));
}

TEST_CASE("what bypasses the cache, and objects that are dealt, have the times that were measured for them") {
    CostTables measured = tables();
    measured.rates["own.dealt.read"] = RateCurve{20 * ns};
    measured.rates["service.cached.hit.dealt.read"] = RateCurve{50 * ns};
    measured.rates["service.cached.passed.read"] = RateCurve{120 * us};
    AccessPlatform on{.rates = access_rates(measured.rates, "service", Caching::none)};
    use_own_memory(on, measured.rates);
    on.cache = cache_on(measured, "service", {});

    ProgramDescription program = in_order(false);
    Reference& reference = program.intervals.front().references.front();
    reference.affinity = {};
    reference.cached = CachedShare{.hits = 0.75, .passed = 0.25};
    // Of two threads' elements, half are a thread's own.
    const auto expected = [](double own, double hit) { return 64'000 * own + 48'000 * hit + 16'000 * 120 * us; };
    SharedObject& object = program.objects.front();
    object.block = 64'000;
    CHECK(predict_run_time(program, on).seconds == Approx(expected(2 * ns, 5 * ns)));
    object.block = 1000;
    CHECK(predict_run_time(program, on).seconds == Approx(expected(20 * ns, 50 * ns)));
}

TEST_CASE("reads and writes of a partition have their own hit rates") {
    // The same element is read and written: one partition.
    ProgramDescription program = in_order(false);
    DescribedInterval& interval = program.intervals.front();
    interval.references.front().place = "here";
    interval.references.front().cached = CachedShare{.hits = 0.25};
    interval.references.push_back(interval.references.front());
    interval.references.back().write = true;
    interval.references.back().cached = CachedShare{.hits = 1};
    const RunTimePrediction predicted = predict_run_time(program, platform({}));
    REQUIRE(predicted.intervals.front().partitions.size() == 1);
    CHECK(predicted.seconds == Approx(32'000 * 5 * ns + 96'000 * page_miss + 128'000 * 7 * ns));
    CHECK(predicted.intervals.front().threads.front().cached.front().share.hits == Approx(0.625));

    // Weights are those of remote accesses: what is mostly local counts little.
    ProgramDescription mixed = in_order(false);
    mixed.objects.front().block = 1000;
    Reference& first = mixed.intervals.front().references.front();
    first.affinity = {ReferenceAffinity::Kind::share, 0, 0.75};
    first.with = "same";
    first.cached = CachedShare{.hits = 0};
    mixed.intervals.front().references.push_back(first);
    mixed.intervals.front().references.back().affinity.local = 0;
    mixed.intervals.front().references.back().cached = CachedShare{.hits = 1};
    // 32,000 misses and 128,000 hits; 96,000 are local.
    CHECK(predict_run_time(mixed, platform({})).seconds ==
          Approx(128'000 * 5 * ns + 32'000 * page_miss + 96'000 * 2 * ns));
}

TEST_CASE("without them the cache is simulated, and its sizes change the prediction") {
    const ProgramDescription program = in_order(false);
    const double small_pages = predict_run_time(program, platform({.read_ahead_bytes = 0})).seconds;
    // 1000 pages, of each of which first a line is fetched, and then all.
    CHECK(small_pages == Approx(126'000 * 5 * ns + 1000 * (line_miss + page_miss)));
    const double large_pages = predict_run_time(program, platform({.page_bytes = 4096, .read_ahead_bytes = 0})).seconds;
    CHECK(large_pages == Approx(127'500 * 5 * ns + 250 * (line_miss + miss_of(4096))));
    // Read ahead, pages come while others do.
    const double ahead = predict_run_time(program, platform({})).seconds;
    CHECK(ahead < 0.6 * small_pages);
    CHECK(ahead > 1000 * 1024 * 10 * ns);

    // Again and again: what a cache of 512 KiB has dropped by then, one of 2 MiB still has.
    ProgramDescription again = program;
    again.intervals.front().references.front().count = 512'000;
    const CacheSizes half{.bytes = 512 << 10, .read_ahead_bytes = 0};
    CHECK(predict_run_time(again, platform(half)).seconds > 3 * 1000 * page_miss);
    CHECK(predict_run_time(again, platform({.read_ahead_bytes = 0})).seconds < 1.2 * small_pages + 512'000 * 5 * ns);
}

TEST_CASE("writes that miss are written back with their page") {
    // Each page has a miss of 200 ns, and 1016 bytes beside the first element.
    CHECK(predict_run_time(in_order(true), platform({})).seconds ==
          Approx(127'000 * 7 * ns + 1000 * (200 * ns + 1016 * 10 * ns)));
    ProgramDescription single = in_order(true);
    single.intervals.front().references.front().cached = CachedShare{.hits = 0};
    CHECK(predict_run_time(single, platform({})).seconds == Approx(128'000 * 200 * ns));
}

TEST_CASE("all threads that miss the pages of one owner contend") {
    ProgramDescription program = in_order(false);
    program.intervals.front().references.front().cached = CachedShare{.hits = 0.5};
    AccessPlatform on = platform({});
    on.contention = 3;
    CHECK(predict_run_time(program, on).seconds == Approx(64'000 * 5 * ns + 3 * 64'000 * page_miss));
}

TEST_CASE("hit rates of what was recorded: a cache is simulated on the distances of reuse") {
    RecordedTrace trace{.ranks = 1, .nodes = 2};
    trace.of_ranks.push_back({});
    RecordedTrace::OfRank& rank = trace.of_ranks.front();
    rank.objects.push_back({.kind = "window", .name = "A"});
    rank.intervals.push_back({.times = 1});
    detail::trace::Record record{.object = 1, .affinity = detail::trace::Affinity::far};
    record.within.cold = 100; // 60 of them after their neighbours
    record.within.sequential = 60;
    record.within.at[0] = 500;  // at once
    record.within.at[12] = 400; // after 2048 to 4095 others
    rank.records.push_back({.record = record});
    const auto share = [&](const CacheSizes& sizes) {
        return recorded_share(trace, "A", cache_on(tables(), "service", sizes)).value();
    };
    CHECK(share({.read_ahead_bytes = 0}).hits == Approx(0.5));
    CHECK(share({.bytes = 8 << 20, .read_ahead_bytes = 0}).hits == Approx(0.9));
    CHECK(share({.bytes = 8 << 20}).hits == Approx(0.96));
    CHECK(share({}).ahead == Approx(0.06));
    CHECK_FALSE(recorded_share(trace, "B", cache_on(tables(), "service", {})));

    ProgramDescription program = in_order(false);
    use_recorded_shares(program, trace, cache_on(tables(), "service", {.read_ahead_bytes = 0}));
    CHECK(predict_run_time(program, platform({})).seconds == Approx(64'000 * 5 * ns + 64'000 * page_miss));
    // The description's own counts more.
    program.intervals.front().references.front().cached = CachedShare{.hits = 1};
    use_recorded_shares(program, trace, cache_on(tables(), "service", {}));
    use_counted(program, {.misses = 1000}, cache_on(tables(), "service", {}));
    CHECK(predict_run_time(program, platform({})).seconds == Approx(128'000 * 5 * ns));
    program.objects.front().name = program.intervals.front().references.front().object = "elsewhere";
    CHECK_THROWS_WITH(use_recorded_shares(program, trace, cache_on(tables(), "service", {})),
                      Contains("name the arrays of the program"));
}

TEST_CASE("irregular accesses bypass a cache if they hardly ever find their page, and not if they do") {
    // All distances alike, up to the number of pages.
    const auto share = [](std::uint64_t accesses, std::uint64_t pages) {
        detail::trace::ReuseCounts reuse;
        reuse.cold = pages;
        const double each = static_cast<double>(accesses - pages) / static_cast<double>(pages);
        reuse.at[0] = static_cast<std::uint64_t>(each);
        for (std::size_t k = 1; (std::uint64_t{1} << (k - 1)) < pages; ++k)
            reuse.at[k] = static_cast<std::uint64_t>(
                each * static_cast<double>(std::min(std::uint64_t{1} << k, pages) - (std::uint64_t{1} << (k - 1))));
        return simulated_share(reuse, accesses, pages, false, cache_on(tables(), "service", {}));
    };
    const CachedShare many = share(8000, 1024);
    ProgramDescription random = in_order(false);
    random.objects.front().elements = 1024 * 128;
    random.intervals.front().references.front().walk = {};
    random.intervals.front().references.front().count = 8000;
    const CachedShare same =
        simulated_shares(random, random.intervals.front(), 0, cache_on(tables(), "service", {})).front();
    CHECK(same.passed > 0.5);
    CHECK(many.passed == Approx(same.passed).margin(0.05));
    CHECK(many.hits == Approx(same.hits).margin(0.05));
    CHECK(many.lines == Approx(same.lines).margin(0.05));
    const CachedShare few = share(8000, 64);
    CHECK(few.passed == 0);
    CHECK(few.hits == Approx(1 - 2 * 64 / 8000.0).margin(0.005)); // of each page a line is fetched, and then all
    CHECK(few.lines == Approx(64 / 8000.0).margin(0.001));
    CHECK(simulated_share({}, 100, 10, false, cache_on(tables(), "service", {})).hits == 0);
}

TEST_CASE("hits that were counted are the reads that neither missed nor bypassed the cache") {
    const AccessPlatform::Cache cache = cache_on(tables(), "service", {.read_ahead_bytes = 0});
    // 128,000 reads and as many writes of the other thread's elements, of which 25,600 have bypassed the cache.
    ProgramDescription program = in_order(false);
    program.intervals.front().references.push_back(program.intervals.front().references.front());
    program.intervals.front().references.back().write = true;
    use_counted(program, {.misses = 12'800, .passed = 25'600, .ahead = 1280}, cache);
    const CachedShare reads = program.intervals.front().references[0].cached.value();
    CHECK(reads.hits == Approx(0.8)); // the counter of hits counts writes as well, and is not asked
    CHECK(reads.passed == Approx(0.1));
    CHECK(reads.ahead == Approx(0.01));
    CHECK(reads.lines == Approx(0.05)); // half of the misses, as in a simulated cache
    const CachedShare writes = program.intervals.front().references[1].cached.value();
    CHECK(writes.passed == Approx(0.1));
    CHECK(writes.hits > 0.85); // of a page's 128 elements all but the first

    // At random reads bypass the cache earlier than writes do, as they do in a simulated one.
    ProgramDescription random;
    random = in_order(false);
    random.objects.front().elements = 1 << 20;
    random.intervals.front().references.front().walk = {};
    random.intervals.front().references.front().count = 4000;
    random.intervals.front().references.push_back(random.intervals.front().references.front());
    random.intervals.front().references.back().write = true;
    use_counted(random, {.misses = 200, .passed = 3200}, cache);
    const double of_reads = random.intervals.front().references[0].cached.value().passed;
    const double of_writes = random.intervals.front().references[1].cached.value().passed;
    CHECK(of_reads > 0.5);
    CHECK(of_writes < of_reads);
    CHECK(of_reads + of_writes == Approx(0.8));

    ProgramDescription other = in_order(false);
    CHECK_THROWS_WITH(use_counted(other, {.misses = 500'000}, cache),
                      Contains("500000 reads that missed") && Contains("128000 reads"));
}
