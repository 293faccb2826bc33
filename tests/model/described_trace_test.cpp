// What a record says of a run, as a description, and what follows for its time on a platform whose times are known.
#include "model/described_trace.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

using namespace lapwing::detail::model;
using namespace lapwing::detail::trace;
using Catch::Contains;

namespace {

constexpr double us = 1e-6;

/// Reads take 100 us, writes 50, own elements 1; transfers 10 us and 10 ns a byte.
AccessPlatform platform() {
    AccessPlatform result;
    for (const AccessPattern pattern : {AccessPattern::baseline, AccessPattern::vector, AccessPattern::coalesce}) {
        result.rates.of(pattern, false) = RateCurve{100 * us};
        result.rates.of(pattern, true) = RateCurve{50 * us};
    }
    result.rates.of(AccessPattern::local, false) = RateCurve{1 * us};
    result.rates.of(AccessPattern::local, true) = RateCurve{1 * us};
    const std::vector<TransferLine> line{
        {.begin_bytes = 0, .latency = 10 * us, .batch_latency = 10 * us, .overhead = 0, .per_byte = 0.01 * us}};
    result.transfers = {TransferModel{line}, TransferModel{line}};
    result.lists = {RateCurve{2 * us}, RateCurve{2 * us}};
    result.barrier_seconds = 1000 * us;
    result.atomic_seconds = 200 * us;
    result.update_seconds = 3 * us;
    result.notify_seconds = 20 * us;
    return result;
}

/// A rank that has executed one interval so many times.
RecordedTrace executed(std::uint64_t times, std::uint64_t barriers, const std::vector<Record>& records) {
    RecordedTrace trace{.ranks = 1, .nodes = 1};
    trace.of_ranks.push_back({});
    RecordedTrace::OfRank& rank = trace.of_ranks.front();
    rank.objects.push_back({.kind = "window", .name = "a", .bytes = 80'000});
    rank.intervals.push_back({.times = times, .barriers = barriers});
    for (const Record& record : records) rank.records.push_back({.record = record});
    return trace;
}

Record record(Affinity affinity, std::uint64_t calls, Operation operation = Operation::read, Way way = Way::element,
              std::uint64_t bytes_each = 8) {
    return {.site = 1,
            .object = 1,
            .way = way,
            .operation = operation,
            .affinity = affinity,
            .calls = calls,
            .accesses = calls,
            .bytes = calls * bytes_each,
            .program_calls = calls,
            .runs = calls};
}

double seconds_of(const RecordedTrace& trace) { return predict_recorded(trace, platform()).seconds; }

} // namespace

TEST_CASE("accesses that do not happen each time count as often as they did") {
    // In three of ten times, in each, and in each with a half more.
    for (const std::uint64_t reads : {30U, 100U, 150U}) {
        CAPTURE(reads);
        CHECK(seconds_of(executed(100, 0, {record(Affinity::far, reads)})) ==
              Approx(static_cast<double>(reads) * 100 * us));
    }
    // Half of them are the rank's own, one of both each time.
    const RecordedTrace half = executed(100, 0, {record(Affinity::own, 50), record(Affinity::far, 50)});
    CHECK(seconds_of(half) == Approx(50 * 100 * us + 50 * 1 * us));
    // The same for what has no rate of single accesses, and for barriers, of which the last is of another interval.
    CHECK(
        seconds_of(executed(100, 99,
                            {record(Affinity::far, 250, Operation::atomic), record(Affinity::far, 7, Operation::update),
                             record(Affinity::far, 120, Operation::notify)})) ==
        Approx(250 * 200 * us + 7 * 3 * us + 120 * 20 * us + 99 * 1000 * us));
    const RecordedPrediction predicted = predict_recorded(half, platform());
    REQUIRE(predicted.intervals.size() == 1); // though it is described in two parts
    CHECK(predicted.intervals.front().times == 100);
    CHECK(100 * predicted.intervals.front().cost.seconds() == Approx(predicted.seconds));
}

TEST_CASE("blocks that a window's calls move are bulk transfers, and elements are not") {
    for (const Way way : {Way::window, Way::upc}) {
        const Record elements = record(Affinity::far, 20, Operation::write, way);
        CHECK(seconds_of(executed(1, 0, {elements})) == Approx(20 * 50 * us));
        const Record blocks = record(Affinity::far, 20, Operation::write, way, 1000);
        CHECK(seconds_of(executed(1, 0, {blocks})) == Approx(20 * 20 * us));
        CHECK(seconds_of(executed(8, 0, {blocks})) == Approx(20 * 20 * us)); // in some of the times one more
    }
    Record list = record(Affinity::far, 300, Operation::read, Way::list);
    list.program_calls = 3;
    CHECK(seconds_of(executed(2, 0, {list})) == Approx(300 * 2 * us));
    // Refreshes of mapped arrays.
    const Record refreshes = record(Affinity::far, 20, Operation::read, Way::prefetch, 1000);
    CHECK(seconds_of(executed(20, 0, {refreshes})) == Approx(20 * 20 * us));
}

TEST_CASE("the slowest rank's time is that of the run") {
    RecordedTrace trace = executed(1, 1, {record(Affinity::far, 10)});
    trace.ranks = 2;
    trace.of_ranks.push_back(trace.of_ranks.front());
    trace.of_ranks[1].rank = 1;
    trace.of_ranks[1].records.front().record.calls = trace.of_ranks[1].records.front().record.accesses = 25;
    const RecordedPrediction predicted = predict_recorded(trace, platform());
    CHECK(predicted.slowest_rank == 1);
    CHECK(predicted.seconds == Approx(25 * 100 * us + 1000 * us));
}

TEST_CASE("with a run on private memory, the time of all of the run is predicted") {
    // Ten times 30 reads of which a third is own, and then an interval without accesses.
    RecordedTrace trace = executed(10, 10, {record(Affinity::own, 100), record(Affinity::far, 200)});
    RecordedTrace::OfRank& rank = trace.of_ranks.front();
    rank.files.push_back({.path = "/program", .bytes = 1000, .changed = 7});
    rank.intervals.front().site = {{0, 0x10}};
    rank.intervals.push_back({.times = 4, .site = {{0, 0x20}}});
    rank.intervals.push_back({.times = 1, .site = {{0, 0x30}}}); // where the other run did not come by

    RecordedTrace on_private = executed(10, 10, {});
    on_private.settings["LAPWING_PRIVATE"] = "on";
    on_private.of_ranks.front().files = {{.path = "/lib", .bytes = 1}, rank.files.front()};
    on_private.of_ranks.front().intervals = {{.times = 10, .barriers = 10, .ns = 50'000'000, .site = {{1, 0x10}}},
                                             {.times = 2, .ns = 6'000'000, .site = {{1, 0x20}}},
                                             {.times = 5, .ns = 1'000'000, .site = {{1, 0x40}}}};
    const auto predicted = [&] {
        const ComputationTimes times{on_private, "private.trace"};
        return predict_recorded(trace, platform(), &times);
    };
    // Own elements are part of the computation, and others' take so much longer.
    const RecordedPrediction all = predicted();
    CHECK(all.seconds == Approx(200 * 99 * us + 10 * 1000 * us + 0.050 + 4 * 0.003 + 0.001));
    CHECK(all.elsewhere_seconds == Approx(0.001));
    REQUIRE(all.intervals.size() == 3);
    CHECK(all.intervals[0].cost.computation_seconds == Approx(0.005));
    CHECK(all.intervals[1].cost.seconds() == Approx(0.003));
    CHECK(all.intervals[2].cost.seconds() == 0);

    SECTION("of another build") {
        on_private.of_ranks.front().files[1].changed = 8;
        CHECK_THROWS_WITH(predicted(), Contains("private.trace belongs to another program") && Contains("/program"));
    }
    SECTION("with another number of ranks") {
        on_private.of_ranks.push_back(on_private.of_ranks.front());
        CHECK_THROWS_WITH(predicted(), Contains("private.trace is of 2 ranks, and the trace of 1"));
    }
    SECTION("not on private memory") {
        on_private.settings["LAPWING_PRIVATE"] = "off";
        CHECK_THROWS_WITH(predicted(), Contains("LAPWING_PRIVATE=on and LAPWING_TRACE=FILE"));
    }
}
