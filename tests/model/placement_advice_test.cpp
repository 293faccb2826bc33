// Advice on where elements are, on what ranks wait for, on patterns of prefetch, and on mapped arrays: each on a run
// that gains from it, and not on one that would not.
#include "model/advice.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::model;
using namespace lapwing::detail::trace;
using Catch::Contains;

namespace {

constexpr double us = 1e-6;
constexpr std::uint64_t part_bytes = 64 * 1024;

CostTables tables() {
    CostTables result;
    for (const char* const operation : {".read", ".write"}) {
        result.rates[std::string{"service.baseline"} + operation] = RateCurve{20 * us};
        result.rates[std::string{"own"} + operation] = RateCurve{0.01 * us};
    }
    result.rates["private.read"] = RateCurve{0.001 * us};
    result.rates["service.cached.hit.read"] = RateCurve{0.01 * us};
    result.rates["service.barrier"] = RateCurve{{{2, 20 * us}, {8, 80 * us}}};
    result.rates["service.notify"] = RateCurve{10 * us};
    result.rates["service.atomic"] = RateCurve{30 * us};
    result.rates["service.update"] = RateCurve{1 * us};
    result.rates["service.one_owner.read"] = RateCurve{{{1, 20 * us}, {7, 80 * us}}};
    const std::vector<TransferLine> line{{0, 20 * us, 20 * us, 1 * us, 1e-9, 1 * us, 0}};
    result.transfers(Path::service, Direction::get) = TransferModel{line};
    result.transfers(Path::service, Direction::put) = TransferModel{line};
    return result;
}

/// A run of some ranks, each on a node of its own, that access one array of doubles.
class Run {
public:
    explicit Run(int ranks, std::uint64_t times = 1, std::uint64_t barriers = 0) {
        trace_.ranks = trace_.nodes = ranks;
        trace_.network_path = "service";
        for (int rank = 0; rank < ranks; ++rank) {
            RecordedTrace::OfRank of{.rank = rank, .ns = 1'000'000'000};
            of.objects.push_back({.kind = "window", .name = "a", .number = 1, .bytes = part_bytes});
            of.intervals.push_back({.times = times, .barriers = barriers});
            trace_.of_ranks.push_back(std::move(of));
        }
    }
    /// A rank's accesses to doubles of an owner's part, from one offset to another, in a row unless there is a stride.
    Record& access(int rank, int owner, std::uint64_t begin, std::uint64_t end, std::uint64_t calls,
                   Operation operation = Operation::read) {
        const bool own = rank == owner;
        Record& record = record_of(rank, own ? Affinity::own : Affinity::far, operation);
        record.calls += calls;
        record.accesses += calls;
        record.program_calls += calls;
        record.bytes += 8 * calls;
        record.runs += 1;
        record.lowest = std::min(record.lowest, begin);
        record.highest = std::max(record.highest, end);
        record.strides[0] = {8, record.strides[0].count + calls};
        const auto free = std::ranges::find(record.owners, std::uint64_t{0}, &Record::OwnerCount::count);
        *free = {owner, calls, begin, end};
        if (!own) record.within.cold += std::min(8 * calls, end - begin) / 1024 + 1;
        if (!own) record.within.at[0] += calls;
        return record;
    }
    /// Another interval of each rank.
    void add_interval() {
        for (RecordedTrace::OfRank& of : trace_.of_ranks) of.intervals.push_back({.times = 1});
    }
    [[nodiscard]] const RecordedTrace& trace() const { return trace_; }
    [[nodiscard]] Advice advice(bool rated = true) const {
        const CostTables costs = tables();
        return advise(trace_, rated ? &costs : nullptr);
    }
    [[nodiscard]] Record& record_of(int rank, Affinity affinity, Operation operation, Way way = Way::element) {
        auto& records = trace_.of_ranks[static_cast<std::size_t>(rank)].records;
        const auto same = std::ranges::find_if(records, [&](const auto& of) {
            return of.record.affinity == affinity && of.record.operation == operation && of.record.way == way;
        });
        if (same != records.end()) return same->record;
        records.push_back({.record = {.object = 1, .way = way, .operation = operation, .affinity = affinity}});
        return records.back().record;
    }

private:
    RecordedTrace trace_;
};

const AdvisedChange* change_of(const Advice& advice, const std::string& kind) {
    const auto found = std::ranges::find(advice.changes, kind, &AdvisedChange::kind);
    return found == advice.changes.end() ? nullptr : &*found;
}

} // namespace

TEST_CASE("ranks that each work on another one's part are advised to work on their own") {
    Run shifted{4};
    for (int rank = 0; rank < 4; ++rank) shifted.access(rank, (rank + 1) % 4, 0, part_bytes, 8000);
    const Advice advice = shifted.advice();
    const AdvisedChange* const change = change_of(advice, "distribution");
    REQUIRE(change != nullptr);
    CHECK_THAT(change->title, Contains("its own part"));
    CHECK_THAT(change->why, Contains("100 % of rank 0's accesses are to rank 1's part"));
    CHECK(*change->now_seconds == Approx(8000 * 20 * us));
    CHECK(*change->then_seconds == Approx(8000 * 0.01 * us));
    CHECK(change->messages_saved == 8000);
    CHECK(change_of(shifted.advice(false), "distribution") != nullptr);

    // An edge only, as a stencil reads it; two ranks, of whose own parts nothing is known; and mostly their own.
    Run edges{4};
    for (int rank = 0; rank < 4; ++rank) edges.access(rank, (rank + 1) % 4, 0, 1024, 8000);
    CHECK(change_of(edges.advice(), "distribution") == nullptr);
    Run two{2};
    for (int rank = 0; rank < 2; ++rank) two.access(rank, 1 - rank, 0, part_bytes, 8000);
    CHECK(change_of(two.advice(), "distribution") == nullptr);
    Run own{4};
    for (int rank = 0; rank < 4; ++rank) {
        own.access(rank, rank, 0, part_bytes, 16000);
        own.access(rank, (rank + 1) % 4, 0, part_bytes, 8000);
    }
    CHECK(change_of(own.advice(), "distribution") == nullptr);
}

TEST_CASE("work in blocks on elements that are dealt: blocks; dealt work on blocks: elements that are dealt") {
    Run dealt{4};
    for (int rank = 0; rank < 4; ++rank)
        for (int owner = 0; owner < 4; ++owner) {
            const std::uint64_t begin = static_cast<std::uint64_t>(rank) * part_bytes / 4;
            dealt.access(rank, owner, begin, begin + part_bytes / 4, 2048);
        }
    const Advice blocks = dealt.advice();
    REQUIRE(change_of(blocks, "distribution") != nullptr);
    CHECK_THAT(change_of(blocks, "distribution")->code, Contains("lapwing::Block{}"));
    CHECK(*change_of(blocks, "distribution")->now_seconds == Approx(3 * 2048 * 20 * us));
    CHECK(*change_of(blocks, "distribution")->then_seconds == Approx(4 * 2048 * 0.01 * us));

    // Every rank reads every fourth element of all parts.
    Run strided{4};
    for (int rank = 0; rank < 4; ++rank)
        for (int owner = 0; owner < 4; ++owner) {
            Record& record = strided.access(rank, owner, 8 * static_cast<std::uint64_t>(rank), part_bytes - 24, 2048);
            record.strides[0].value = 32;
        }
    REQUIRE(change_of(strided.advice(), "distribution") != nullptr);
    CHECK_THAT(change_of(strided.advice(), "distribution")->code, Contains("lapwing::Cyclic{}"));

    // All read all, in a row: no distribution helps. Nor where other calls access the array as well.
    Run all{4};
    for (int rank = 0; rank < 4; ++rank)
        for (int owner = 0; owner < 4; ++owner) all.access(rank, owner, 0, part_bytes, 8192);
    CHECK(change_of(all.advice(), "distribution") == nullptr);
    dealt.record_of(0, Affinity::far, Operation::read, Way::patch).calls = 1;
    CHECK(change_of(dealt.advice(), "distribution") == nullptr);
}

TEST_CASE("one owner that all access: spread its elements, or take numbers in chunks") {
    Run run{8};
    for (int rank = 1; rank < 8; ++rank) run.access(rank, 0, 0, part_bytes, 8000);
    const Advice advice = run.advice();
    const AdvisedChange* const change = change_of(advice, "one-owner");
    REQUIRE(change != nullptr);
    CHECK_THAT(change->why,
               Contains("100 % of the accesses of 7 ranks are to rank 0's part") && Contains("4.0 times as long"));
    CHECK_THAT(change->code, Contains("Cyclic"));
    CHECK(*change->then_seconds == Approx(8000 * 20 * us / 4 * 7 / 8 + 1000 * 0.01 * us));

    Run counter{8};
    for (int rank = 1; rank < 8; ++rank) counter.access(rank, 0, 0, 8, 1600, Operation::atomic);
    REQUIRE(change_of(counter.advice(), "one-owner") != nullptr);
    CHECK_THAT(change_of(counter.advice(), "one-owner")->code, Contains("fetch_add(16)"));
    CHECK(change_of(counter.advice(false), "one-owner")->messages_saved == 1500);

    // Two ranks cannot contend, and all of several owners do not.
    Run two{2};
    two.access(1, 0, 0, part_bytes, 8000);
    CHECK(change_of(two.advice(), "one-owner") == nullptr);
    Run several{8};
    for (int rank = 0; rank < 8; ++rank)
        for (int owner = 0; owner < 3; ++owner) several.access(rank, owner, 0, part_bytes, 8000);
    CHECK(change_of(several.advice(), "one-owner") == nullptr);
}

TEST_CASE("many atomics with results are advised to go without, or together") {
    Run run{2};
    run.access(0, 1, 0, part_bytes, 5000, Operation::atomic);
    const Advice advice = run.advice();
    const AdvisedChange* const change = change_of(advice, "update");
    REQUIRE(change != nullptr);
    CHECK_THAT(change->code, Contains("a(i).atomic().add(x)") && Contains("a.fetch("));
    CHECK(*change->then_seconds == Approx(5000 * us));
    Run few{2};
    few.access(0, 1, 0, part_bytes, 5, Operation::atomic);
    CHECK(change_of(few.advice(), "update") == nullptr);
    Run added{2};
    added.access(0, 1, 0, part_bytes, 5000, Operation::update);
    CHECK(change_of(added.advice(), "update") == nullptr);
}

TEST_CASE("puts to few ranks and then a barrier: notified puts") {
    const auto ring = [](std::uint64_t barriers, std::uint64_t puts, int targets) {
        Run run{8, 100, barriers};
        for (int rank = 0; rank < 8; ++rank) {
            Record& record = run.record_of(rank, Affinity::far, Operation::write, Way::window);
            record.calls = record.program_calls = puts;
            record.accesses = 100 * puts;
            record.bytes = 800 * puts;
            for (int k = 0; k < targets; ++k)
                record.owners[static_cast<std::size_t>(k)] = {(rank + k + 1) % 8, puts, 0, 800};
        }
        return run;
    };
    const Advice advice = ring(100, 100, 1).advice();
    const AdvisedChange* const change = change_of(advice, "notify");
    REQUIRE(change != nullptr);
    CHECK(*change->now_seconds == Approx(100 * 80 * us));
    CHECK(*change->then_seconds == Approx(100 * 10 * us));
    CHECK_THAT(change->code, Contains("put_notify") && Contains("wait_notified"));
    CHECK(change_of(ring(100, 100, 1).advice(false), "notify")->messages_saved == 100 * 2);
    // No barrier follows; many puts; many targets; as many rounds as targets; and something else in between.
    CHECK(change_of(ring(0, 100, 1).advice(), "notify") == nullptr);
    CHECK(change_of(ring(100, 10000, 1).advice(), "notify") == nullptr);
    CHECK(change_of(ring(100, 100, 6).advice(), "notify") == nullptr);
    CHECK(change_of(ring(100, 300, 3).advice(false), "notify") == nullptr);
    Run reads = ring(100, 100, 1);
    for (int rank = 0; rank < 8; ++rank) reads.access(rank, (rank + 1) % 8, 0, 800, 100);
    CHECK(change_of(reads.advice(), "notify") == nullptr);
}

TEST_CASE("a pattern of prefetch is advised where it names what is read") {
    const auto code = [](const Run& run) {
        const Advice advice = run.advice();
        const AdvisedChange* const change = change_of(advice, "prefetch");
        return change == nullptr ? std::string{} : change->code;
    };
    Run all{4};
    Run row{4}; // of a grid of 2 x 2
    Run column{4};
    Run stencil{4};
    Run own_pattern{4};
    for (int rank = 0; rank < 4; ++rank) {
        for (int owner = 0; owner < 4; ++owner)
            if (owner != rank) all.access(rank, owner, 0, part_bytes, 8192);
        row.access(rank, rank ^ 1, 0, part_bytes, 8192);
        column.access(rank, rank ^ 2, 0, part_bytes, 8192);
        if (rank > 0) stencil.access(rank, rank - 1, part_bytes - 4096, part_bytes - 8, 511);
        if (rank < 3) stencil.access(rank, rank + 1, 8, 4096, 511);
        own_pattern.access(rank, (rank + 2) % 4, 8192, 24576, 2048);
    }
    CHECK_THAT(code(all), Contains("AllToAll"));
    CHECK_THAT(code(row), Contains("RowWise"));
    CHECK_THAT(code(column), Contains("ColumnWise"));
    CHECK_THAT(code(stencil), Contains("Stencil"));
    CHECK_THAT(code(own_pattern), Contains("own.expand"));

    // Each rank a quarter of every other part, column by column.
    Run transposed{4};
    for (int rank = 0; rank < 4; ++rank)
        for (int owner = 0; owner < 4; ++owner) {
            if (owner == rank) continue;
            Record& record = transposed.access(rank, owner, 2048 * static_cast<std::uint64_t>(rank),
                                               part_bytes - 2048 * static_cast<std::uint64_t>(3 - rank), 2048);
            record.strides[0].value = 8192;
            record.runs = record.calls;
            record.within.cold = 4096;
        }
    CHECK_THAT(code(transposed), Contains("Transpose"));

    // Anywhere: no pattern names so little.
    Run anywhere{4};
    for (int rank = 0; rank < 4; ++rank) {
        Record& record = anywhere.access(rank, (rank + 1) % 4, 0, part_bytes, 500);
        record.runs = record.calls;
        record.strides = {};
        record.other_strides = 499;
    }
    CHECK(code(anywhere).empty());
    // Owners that the record has no room for.
    all.record_of(0, Affinity::far, Operation::read).other_owners = 5;
    CHECK(code(all).empty());
}

TEST_CASE("accesses to more ranks than a record names") {
    constexpr int ranks = 12;
    const auto of_all = [](std::uint64_t end, std::uint64_t distinct) {
        Run run{ranks};
        for (int rank = 0; rank < ranks; ++rank) {
            // Of eleven owners eight are named; the counts of all get lost.
            Record& record = run.record_of(rank, Affinity::far, Operation::read);
            record.calls = record.accesses = record.program_calls = 11 * end / 8;
            record.bytes = 8 * record.calls;
            record.runs = 11;
            record.lowest = 0;
            record.highest = end;
            record.strides[0] = {8, record.calls};
            record.within.cold = 11 * end / 1024;
            record.within.at[0] = record.calls;
            record.other_owners = record.calls;
            record.seen.distinct = distinct;
        }
        return run;
    };
    const AdvisedChange* prefetch = nullptr;
    const Advice whole = of_all(part_bytes, 11).advice();
    prefetch = change_of(whole, "prefetch");
    REQUIRE(prefetch != nullptr);
    CHECK_THAT(prefetch->code, Contains("AllToAll"));
    CHECK_THAT(prefetch->why, Contains("704 KiB"));
    // Some ranks only, and it is not said which; or an older trace, which does not say how many.
    CHECK(change_of(of_all(part_bytes, 10).advice(), "prefetch") == nullptr);
    CHECK(change_of(of_all(part_bytes, 0).advice(), "prefetch") == nullptr);

    // Elements are dealt, and the work is in blocks: each rank accesses a section of all parts.
    Run dealt{ranks};
    for (int rank = 0; rank < ranks; ++rank) {
        const std::uint64_t begin = static_cast<std::uint64_t>(rank) * 4096;
        dealt.access(rank, rank, begin, begin + 4096, 512);
        Record& record = dealt.record_of(rank, Affinity::far, Operation::read);
        record.calls = record.accesses = record.program_calls = 11 * 512;
        record.bytes = 8 * record.calls;
        record.runs = record.calls;
        record.lowest = begin;
        record.highest = begin + 4096;
        record.other_owners = record.calls;
        record.seen.distinct = 11;
    }
    const Advice advice = dealt.advice();
    const AdvisedChange* const distribution = change_of(advice, "distribution");
    REQUIRE(distribution != nullptr);
    CHECK_THAT(distribution->code, Contains("Block"));
    // One of them has more than its share.
    dealt.record_of(3, Affinity::far, Operation::read).owners[0] = {1, 2000, 0, 4096};
    CHECK(change_of(dealt.advice(), "distribution") == nullptr);
}

TEST_CASE("reads all over the others' parts, few of each: all of them are prefetched where that is faster") {
    const auto scattered = [](std::uint64_t reads) {
        Run run{2};
        for (int rank = 0; rank < 2; ++rank) run.access(rank, 1 - rank, 0, part_bytes, reads).runs = reads;
        return run;
    };
    Run run = scattered(400); // 3200 bytes of 65,536
    const Advice advice = run.advice();
    const AdvisedChange* const change = change_of(advice, "prefetch");
    REQUIRE(change != nullptr);
    CHECK_THAT(change->code, Contains("AllToAll"));
    CHECK_THAT(change->why, Contains("all over"));
    CHECK(change_of(advice, "mapped") == nullptr); // the transfer takes most of the time
    CHECK(*change->now_seconds == Approx(400 * 20 * us));
    const TransferModel gets = tables().transfers(Path::service, Direction::get);
    CHECK(*change->then_seconds == Approx(gets.time(part_bytes) + 400 * 0.01 * us));
    // Without rates nobody knows, and what others write changes meanwhile.
    CHECK(change_of(run.advice(false), "prefetch") == nullptr);
    run.access(0, 1, 0, part_bytes, 400, Operation::write);
    CHECK(change_of(run.advice(), "prefetch") == nullptr);
}

TEST_CASE("a mapped array is advised where reads of what is copied dominate, and the rank writes nothing in between") {
    // Each rank reads all of the other one's part so many times.
    const auto loop = [](std::uint64_t rounds) {
        Run run{2};
        for (int rank = 0; rank < 2; ++rank) run.access(rank, 1 - rank, 0, part_bytes, rounds * part_bytes / 8);
        return run;
    };
    const CostTables costs = tables();
    const double refresh =
        costs.transfers(Path::service, Direction::get).time(part_bytes) +
        costs.copy.time({.blocks = part_bytes / 1024 + 1, .bytes = part_bytes, .extent_bytes = part_bytes});
    for (const std::uint64_t rounds : {1U, 100U}) {
        const Advice advice = loop(rounds).advice();
        const AdvisedChange* const change = change_of(advice, "mapped");
        REQUIRE(change != nullptr);
        CHECK_THAT(change->code, Contains("const auto v = a.mapped(lapwing::AllToAll{});") && Contains("v.refresh();"));
        CHECK(*change->then_seconds == Approx(refresh + static_cast<double>(rounds * 8192) * 0.001 * us));
        CHECK(change < change_of(advice, "prefetch")); // it gains more
    }
    // Without rates: if each byte is read often. Own ones may be copied, too.
    CHECK(change_of(loop(7).advice(false), "mapped") == nullptr);
    const Advice often = loop(100).advice(false);
    const AdvisedChange* const change = change_of(often, "mapped");
    REQUIRE(change != nullptr);
    CHECK_THAT(change->why, Contains("64 KiB of 1 other ranks") && Contains("is read 50.0 times"));
    CHECK(change->messages_saved == 100 * 8192 - 1);
    CHECK(change > change_of(often, "prefetch")); // saves as many round trips, and the loop stays as it is

    // The edges of blocks of rows: own ones are shown where they are, and reads of few elements are no matter.
    Run stencil{2};
    stencil.access(0, 1, 0, 2048, 256);
    stencil.access(1, 0, part_bytes - 2048, part_bytes, 256);
    REQUIRE(change_of(stencil.advice(), "prefetch") != nullptr);
    CHECK(change_of(stencil.advice(), "mapped") == nullptr);
    stencil.access(0, 1, 0, 2048, 5120);
    const Advice edges = stencil.advice();
    REQUIRE(change_of(edges, "mapped") != nullptr);
    CHECK_THAT(change_of(edges, "mapped")->code, Contains("a.mapped(lapwing::Stencil"));
    CHECK(*change_of(edges, "mapped")->then_seconds ==
          Approx(costs.transfers(Path::service, Direction::get).time(2048) + 5376 * 0.001 * us));

    // What a rank writes in the same interval, its own elements or others', it would not see.
    for (const int owner : {0, 1}) {
        CAPTURE(owner);
        Run written = loop(100);
        written.add_interval();
        Record& write = written.access(0, owner, 0, 64, 8, Operation::write);
        CHECK(change_of(written.advice(), "prefetch") != nullptr);
        CHECK(change_of(written.advice(), "mapped") == nullptr);
        CHECK(change_of(written.advice(false), "mapped") == nullptr);
        write.interval = 1;
        CHECK(change_of(written.advice(), "mapped") != nullptr);
    }
}
