// Traces as text, and the advice that follows from them.
#include "model/access_platform.hpp"
#include "model/advice.hpp"
#include "model/advice_file.hpp"

#include "support/catch.hpp"

#include <lapwing/error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::model;
using Catch::Contains;

namespace {

/// The text with its checksum.
std::string sealed(const std::string& text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    char line[40];
    std::snprintf(line, sizeof line, "checksum %016llx\n", static_cast<unsigned long long>(hash));
    return text + line;
}

const std::string head = "lapwing trace 4\nranks 1\nnodes 2\nnetwork_path service\nmpi Some MPI\nprofile \n"
                         "setting LAPWING_CACHE=off\nsetting LAPWING_CACHE_BYTES=2m\nsetting LAPWING_CACHE_PAGE=1k\n"
                         "rank 0 ns=2000000000\nfile 0 bytes=100 changed=5 path=/a%20program\n"
                         "object 1 kind=window number=3 bytes=80000 team=runtime name=vector at -\n"
                         "interval 0 times=1 barriers=0 ns=2000000000 at -\nsite ab at 0+10\nsite cd at 0+20 0+30\n";

std::string access(const std::string& site, const std::string& operation, std::uint64_t calls,
                   const std::string& rest) {
    return "access thread=0 object=1 site=" + site + " interval=0 way=element operation=" + operation +
           " affinity=far calls=" + std::to_string(calls) + " accesses=" + std::to_string(calls) +
           " bytes=" + std::to_string(8 * calls) + " program_calls=" + std::to_string(calls) + rest;
}

/// Of 10,000 elements, in a row.
const std::string in_a_row = access("ab", "read", 10000,
                                    " timed=100 timed_ns=2000000 runs=1 longest_run=80000 lowest=0 highest=80000 "
                                    "owner_changes=0 owners=others:0,1:10000 parts=1:0-80000 strides=others:0,8:9999 "
                                    "within=cold:79,sequential:78,0:9921 over=cold:79,sequential:78,0:9921\n");
/// Anywhere in far more memory than a cache has.
std::string anywhere(const std::string& site, const std::string& operation) {
    return access(site, operation, 10000,
                  " timed=100 timed_ns=2000000 runs=9990 longest_run=16 lowest=0 highest=800000000 "
                  "owner_changes=0 owners=others:0,1:10000 parts=1:0-800000000 strides=others:9990 "
                  "within=cold:9900,sequential:0,13:100 over=cold:9900,sequential:0,13:100\n");
}

CostTables tables() {
    CostTables result;
    for (const char* const operation : {".read", ".write"}) {
        result.rates[std::string{"service.baseline"} + operation] = RateCurve{20e-6};
        result.rates[std::string{"service.cached.hit"} + operation] = RateCurve{10e-9};
        result.rates[std::string{"service.list"} + operation] = RateCurve{100e-9};
        result.rates[std::string{"own"} + operation] = RateCurve{2e-9};
    }
    result.rates["service.update"] = RateCurve{50e-9};
    result.rates["private.read"] = RateCurve{1e-9};
    const std::vector<TransferLine> line{{0, 20e-6, 20e-6, 1e-6, 1e-9, 1e-6, 0}};
    result.transfers(Path::service, Direction::get) = TransferModel{line};
    result.transfers(Path::service, Direction::put) = TransferModel{line};
    return result;
}

/// Of two ranks, the second of which has recorded nothing.
RecordedTrace of_two_ranks(const std::string& accesses) {
    std::string two = head;
    two.replace(two.find("ranks 1"), 7, "ranks 2");
    return parse_trace(sealed(two + accesses + "rank 1 ns=1\n"), "t");
}

const AdvisedChange* change_of(const Advice& advice, const std::string& kind) {
    const auto found = std::ranges::find(advice.changes, kind, &AdvisedChange::kind);
    return found == advice.changes.end() ? nullptr : &*found;
}

} // namespace

TEST_CASE("a trace is read, and all else is refused with a reason") {
    const RecordedTrace trace = parse_trace(sealed(head + in_a_row), "t");
    REQUIRE(trace.of_ranks.size() == 1);
    const RecordedTrace::OfRank& rank = trace.of_ranks.front();
    CHECK(rank.files.front().path == "/a program");
    CHECK(rank.objects.front().name == "vector");
    CHECK(rank.sites.at(0xcd) == RecordedTrace::Frames{{0, 0x20}, {0, 0x30}});
    REQUIRE(rank.records.size() == 1);
    CHECK(rank.records.front().record.calls == 10000);
    CHECK(rank.records.front().record.strides[0].value == 8);
    CHECK(rank.records.front().record.within.at[0] == 9921);
    CHECK(rank.records.front().record.owners[0].highest == 80000);

    const std::string good = sealed(head + in_a_row);
    CHECK_THROWS_WITH(parse_trace("", "t"), Contains("t: it is not a trace of Lapwing"));
    CHECK_THROWS_WITH(parse_trace("\x7f"
                                  "ELF",
                                  "t"),
                      Contains("not a trace"));
    CHECK_THROWS_WITH(parse_trace("lapwing trace 99\n", "t"), Contains("another version"));
    std::string damaged = good;
    damaged[good.find("calls=1")] = 'k';
    CHECK_THROWS_WITH(parse_trace(damaged, "t"), Contains("damaged"));
    for (std::size_t length = 0; length < good.size(); length += 7)
        CHECK_THROWS_AS(parse_trace(good.substr(0, length), "t"), FileError);
    CHECK_THROWS_WITH(parse_trace(sealed(head + "surprise 1\n"), "t"), Contains("'surprise' is unknown"));
    CHECK_THROWS_WITH(parse_trace(sealed(head + "access thread=0 object=9 site=0 interval=0\n"), "t"),
                      Contains("object or interval is not there"));
    CHECK_THROWS_WITH(parse_trace(sealed("lapwing trace 4\nranks 2\nrank 0 ns=1\n"), "t"), Contains("1 ranks of 2"));
}

TEST_CASE("what can be followed without a change is a cache that keeps its promises, and what is read densely") {
    const auto followed = [](const std::string& accesses) {
        const RecordedTrace trace = of_two_ranks(accesses);
        return advice_file(trace, advise(trace, nullptr));
    };
    const AdviceFile row = followed(in_a_row);
    REQUIRE(row.windows.size() == 1);
    CHECK(row.windows[0].name == "vector");
    CHECK(row.windows[0].number == 3);
    CHECK(row.windows[0].cached);
    CHECK_FALSE(row.windows[0].cache_bytes.has_value());
    REQUIRE(row.windows[0].prefetch.size() == 1);
    CHECK(row.windows[0].prefetch[0].end == 80000);
    // Windows of other teams have other numbers, and their ranks too.
    std::string other = head;
    other.replace(other.find("team=runtime"), 12, "team=other");
    const RecordedTrace of_other = parse_trace(sealed(other + in_a_row), "t");
    CHECK(advice_file(of_other, advise(of_other, nullptr)).windows.empty());
    // Nor is there an owner beyond the ranks: here 1 of 1.
    const RecordedTrace alone = parse_trace(sealed(head + in_a_row), "t");
    REQUIRE(advice_file(alone, advise(alone, nullptr)).windows.size() == 1);
    CHECK(advice_file(alone, advise(alone, nullptr)).windows[0].prefetch.empty());
    // Nothing comes again; and of what lies between most is not read.
    CHECK(followed(anywhere("ab", "read")).windows.empty());
    // Pages come again after 4096 others at least, for which the default cache of 2048 is too small; half come at once.
    const AdviceFile large = followed(access("ab", "read", 10000,
                                             " timed=100 timed_ns=2000000 runs=9990 longest_run=16 lowest=0 "
                                             "highest=800000000 owner_changes=0 owners=others:0,1:10000 "
                                             "parts=1:0-800000000 strides=others:9990 "
                                             "within=cold:100,sequential:0,0:5000,13:4900 "
                                             "over=cold:100,sequential:0,0:5000,13:4900\n"));
    REQUIRE(large.windows.size() == 1);
    CHECK(large.windows[0].cache_bytes == std::uint64_t{8} << 20);
    CHECK(large.windows[0].prefetch.empty());
}

TEST_CASE("what is read densely in several places is several ranges, and never what lies between") {
    const auto dense = [](std::uint64_t begin, std::uint64_t bytes) {
        const std::string end = std::to_string(begin + bytes);
        const std::string from = std::to_string(begin);
        const std::string reads = std::to_string(bytes / 8);
        const std::string pages = std::to_string((bytes + 1023) / 1024);
        const std::string again = std::to_string(bytes / 8 - (bytes + 1023) / 1024);
        return access("ab", "read", bytes / 8,
                      " timed=1 timed_ns=2000 runs=1 longest_run=8 lowest=" + from + " highest=" + end +
                          " owner_changes=0 owners=others:0,1:" + reads + " parts=1:" + from + "-" + end +
                          " strides=others:0,8:9 within=cold:" + pages + ",sequential:0,0:" + again +
                          " over=cold:" + pages + ",sequential:0,0:" + again + "\n");
    };
    const auto ranges = [&](const std::string& accesses) {
        const RecordedTrace trace = of_two_ranks(accesses);
        const AdviceFile advice = advice_file(trace, advise(trace, nullptr));
        std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
        if (!advice.windows.empty())
            for (const AdviceFile::Prefetch& part : advice.windows[0].prefetch)
                result.emplace_back(part.begin, part.end);
        return result;
    };
    using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    CHECK(ranges(dense(0, 8192) + dense(80'000'000, 8192)) == Ranges{{0, 8192}, {80'000'000, 80'008'192}});
    CHECK(ranges(dense(80'000'000, 8192) + dense(0, 8192)) == Ranges{{0, 8192}, {80'000'000, 80'008'192}});
    // Joined: they meet, or at least half of the whole is read.
    CHECK(ranges(dense(8192, 8192) + dense(0, 8192)) == Ranges{{0, 16384}});
    CHECK(ranges(dense(0, 8192) + dense(20480, 8192) + dense(10240, 8192)) == Ranges{{0, 28672}});
    // No more than half of the default cache together.
    CHECK(ranges(dense(0, 800'000) + dense(8'000'000, 800'000)) == Ranges{{0, 800'000}});
}

TEST_CASE("without rates changes are ranked by the round trips that they save") {
    const Advice advice = advise(parse_trace(sealed(head + in_a_row), "t"), nullptr);
    CHECK_FALSE(advice.rated);
    REQUIRE(advice.uses.size() == 1);
    CHECK(advice.uses.front().heaviest[2].seconds() == Approx(0.2)); // 20 us each
    REQUIRE(change_of(advice, "patch") != nullptr);
    CHECK(change_of(advice, "patch")->messages_saved == 9999);
    CHECK_FALSE(change_of(advice, "patch")->now_seconds);
    REQUIRE(change_of(advice, "cache") != nullptr);
    CHECK(change_of(advice, "cache")->messages_saved == 9921);
    CHECK(change_of(advice, "cache")->setting == "LAPWING_CACHE=epoch");
    CHECK(change_of(advice, "list") == nullptr);
    // One access each time.
    std::string seldom = head + in_a_row;
    seldom.replace(seldom.find("interval 0 times=1"), 18, "interval 0 times=10000");
    CHECK(change_of(advise(parse_trace(sealed(seldom), "t"), nullptr), "patch") == nullptr);
}

TEST_CASE("the time of a call is counted once, however many places it accesses") {
    std::string list = anywhere("ab", "read");
    list.replace(list.find("way=element"), 11, "way=list");
    list.replace(list.find("program_calls=10000 timed=100"), 29, "program_calls=2 timed=2");
    const Advice advice = advise(parse_trace(sealed(head + list), "t"), nullptr);
    REQUIRE(advice.uses.size() == 1);
    CHECK(advice.uses.front().heaviest[2].seconds() == Approx(2e-3));
}

TEST_CASE("elements in a row: patches and the cache, with their gains") {
    const CostTables costs = tables();
    const Advice advice = advise(parse_trace(sealed(head + in_a_row), "t"), &costs);
    CHECK(advice.rated);
    const AdvisedChange* const patch = change_of(advice, "patch");
    REQUIRE(patch != nullptr);
    CHECK(*patch->now_seconds == Approx(0.2));
    // One transfer of 80,000 bytes, and 10,000 accesses to the copy.
    CHECK(*patch->then_seconds == Approx(costs.transfers(Path::service, Direction::get).time(80000) + 1e4 * 1e-9));
    const AdvisedChange* const cache = change_of(advice, "cache");
    REQUIRE(cache != nullptr);
    CHECK(*cache->then_seconds < 0.01);
    CHECK(*cache->then_seconds > 9921 * 10e-9);
    CHECK(std::ranges::is_sorted(advice.changes, [](const auto& a, const auto& b) { return a.gain() > b.gain(); }));
}

TEST_CASE("the same change at two call sites between the same sequence points is one") {
    const CostTables costs = tables();
    std::string other = in_a_row;
    other.replace(other.find("site=ab"), 7, "site=cd");
    const Advice advice = advise(parse_trace(sealed(head + in_a_row + other), "t"), &costs);
    CHECK(std::ranges::count(advice.changes, "patch", &AdvisedChange::kind) == 1);
    const AdvisedChange* const patch = change_of(advice, "patch");
    REQUIRE(patch != nullptr);
    CHECK(patch->uses.size() == 2);
    CHECK(patch->messages_saved == 2 * 9999);
    CHECK(*patch->now_seconds == Approx(0.4));
    CHECK(*patch->then_seconds ==
          Approx(2 * (costs.transfers(Path::service, Direction::get).time(80000) + 1e4 * 1e-9)));
    // In another interval the other one is a change of its own.
    std::string apart = head;
    apart.replace(apart.find("site ab at"), 0, "interval 1 times=1 barriers=0 ns=1 at 0+50\n");
    other.replace(other.find("interval=0"), 10, "interval=1");
    const Advice both = advise(parse_trace(sealed(apart + in_a_row + other), "t"), &costs);
    CHECK(std::ranges::count(both.changes, "patch", &AdvisedChange::kind) == 2);
}

TEST_CASE("a stencil's two lines are one change on three ranks, whatever numbers their intervals have") {
    const CostTables costs = tables();
    // Each rank reads 10,000 elements of the rank before it at line ab, and as many of the one after it at line cd.
    const auto reads = [](const std::string& site, int owner, int interval) {
        std::string line = in_a_row;
        const std::string number = std::to_string(owner);
        line.replace(line.find("site=ab"), 7, "site=" + site);
        line.replace(line.find("interval=0"), 10, "interval=" + std::to_string(interval));
        line.replace(line.find("1:10000"), 7, number + ":10000");
        line.replace(line.find("parts=1:"), 8, "parts=" + number + ":");
        return line;
    };
    const std::string rank = head.substr(head.find("rank 0"));
    const auto begin_rank = [&](int number) {
        std::string text = rank;
        text.replace(0, 6, "rank " + std::to_string(number));
        return text.replace(text.find(" at -\nsite ab"), 5, " at 0+40");
    };
    // The last rank has come by another place before.
    std::string last = begin_rank(2);
    last.replace(last.find("interval 0"), 0, "interval 0 times=1 barriers=0 ns=1 at 0+60\n");
    last.replace(last.rfind("interval 0"), 10, "interval 1");
    std::string start = head.substr(0, head.find("rank 0"));
    start.replace(start.find("ranks 1"), 7, "ranks 3");
    const RecordedTrace trace = parse_trace(sealed(start + begin_rank(0) + reads("cd", 1, 0) + begin_rank(1) +
                                                   reads("ab", 0, 0) + reads("cd", 2, 0) + last + reads("ab", 1, 1)),
                                            "t");
    const Advice advice = advise(trace, &costs);
    const double copied = costs.transfers(Path::service, Direction::get).time(80000);
    for (const char* const kind : {"patch", "prefetch"}) {
        CAPTURE(kind);
        CHECK(std::ranges::count(advice.changes, kind, &AdvisedChange::kind) == 1);
        const AdvisedChange* const change = change_of(advice, kind);
        REQUIRE(change != nullptr);
        CHECK(change->uses.size() == 2);
        CHECK(change->rank == 1);
        CHECK(change->messages_saved == 2 * 9999);
        CHECK(*change->now_seconds == Approx(0.4));
        CHECK(*change->then_seconds == Approx(2 * copied + 2e4 * (change->kind == "patch" ? 1e-9 : 10e-9)));
    }
}

TEST_CASE("what several lines read is prefetched once") {
    const CostTables costs = tables();
    const double copied = costs.transfers(Path::service, Direction::get).time(80000);
    const auto advised = [&](const std::string& second) {
        std::string two = head;
        two.replace(two.find("ranks 1"), 7, "ranks 2");
        const std::string rank = head.substr(head.find("file 0"), head.find("interval 0") - head.find("file 0"));
        return advise(parse_trace(sealed(two + in_a_row + second + "rank 1 ns=1\n" + rank), "t"), &costs);
    };
    std::string same = in_a_row;
    same.replace(same.find("site=ab"), 7, "site=cd");
    // The first line's accesses have been to each page before the second one's.
    std::string after = same;
    after.replace(after.find("within=cold:79,sequential:78,0:9921"), 35, "within=cold:0,sequential:0,0:10000");
    for (const std::string& second : {same, after}) {
        const Advice advice = advised(second);
        const AdvisedChange* const prefetch = change_of(advice, "prefetch");
        REQUIRE(prefetch != nullptr);
        CHECK(prefetch->uses.size() == 2);
        CHECK_THAT(prefetch->code, Contains("AllToAll"));
        CHECK(*prefetch->now_seconds == Approx(0.4));
        CHECK(*prefetch->then_seconds == Approx(copied + 2e4 * 10e-9));
        CHECK(prefetch->messages_saved == 2 * 10000 - 1);
    }
    // So it is read by one get(), which the program then has at both lines.
    const Advice advice = advised(after);
    REQUIRE(change_of(advice, "patch") != nullptr);
    CHECK(*change_of(advice, "patch")->then_seconds == Approx(copied + 2e4 * 1e-9));
}

TEST_CASE("a transfer for each stretch of memory, where that is all that a call can move") {
    const CostTables costs = tables();
    const TransferModel& gets = costs.transfers(Path::service, Direction::get);
    struct Reads {
        std::uint64_t calls = 4096;
        std::uint64_t runs = 0;
        std::uint64_t end = 0;
        const char* strides = "";
        std::uint64_t cold = 64; ///< pages
        const char* site = "ab";
    };
    const auto line = [](const Reads& of, const std::string& way = "upc") {
        const std::string calls = std::to_string(of.calls);
        const std::string end = std::to_string(of.end);
        const std::string reuse =
            "cold:" + std::to_string(of.cold) + ",sequential:0,0:" + std::to_string(of.calls - of.cold);
        std::string text = access(of.site, "read", of.calls,
                                  " timed=100 timed_ns=2000000 runs=" + std::to_string(of.runs) +
                                      " longest_run=512 lowest=0 highest=" + end +
                                      " owner_changes=0 owners=others:0,1:" + calls + " parts=1:0-" + end +
                                      " strides=others:0," + of.strides + " within=" + reuse + " over=" + reuse + "\n");
        return text.replace(text.find("way=element"), 11, "way=" + way);
    };
    const auto patch = [&](const std::string& accesses) -> std::optional<AdvisedChange> {
        const Advice advice = advise(parse_trace(sealed(head + accesses), "t"), &costs);
        const AdvisedChange* const change = change_of(advice, "patch");
        return change == nullptr ? std::nullopt : std::optional{*change};
    };
    const double copies = 4096 * 1e-9;

    // 64 rows of 64 elements, each in a page of its own.
    const Reads rows{.runs = 64, .end = 65024, .strides = "8:4032,520:63"};
    const std::optional<AdvisedChange> of_rows = patch(line(rows));
    REQUIRE(of_rows);
    CHECK_THAT(of_rows->code, Contains("upc_memget"));
    CHECK_THAT(of_rows->why, Contains("64 stretches of 512 bytes on rank 0"));
    CHECK(*of_rows->then_seconds == Approx(64 * gets.time(512) + copies));
    CHECK(of_rows->messages_saved == 4096 - 64);
    // A section of an array is one transfer.
    const std::optional<AdvisedChange> of_section = patch(line(rows, "element"));
    REQUIRE(of_section);
    CHECK(*of_section->then_seconds == Approx(gets.time(32768) + copies));

    // Two members of structures in eight planes, of which the second line finds what the first one has come to.
    Reads first{.runs = 4096, .end = 122880, .strides = "16:4088,8208:7"};
    Reads second = first;
    second.cold = 0;
    second.site = "cd";
    const std::optional<AdvisedChange> of_members = patch(line(first) + line(second));
    REQUIRE(of_members);
    CHECK(of_members->uses.size() == 2);
    CHECK(*of_members->then_seconds == Approx(8 * gets.time(8192) + 2 * copies).epsilon(0.01));

    // The same row for 120 rows of a matrix.
    const std::optional<AdvisedChange> of_same =
        patch(line({.calls = 14400, .runs = 120, .end = 960, .strides = "8:14280,-952:119", .cold = 1}));
    REQUIRE(of_same);
    CHECK(*of_same->then_seconds == Approx(gets.time(960) + 14400 * 1e-9));

    // Columns have no stretches, unless all of them are read.
    CHECK_FALSE(patch(line({.runs = 4096, .end = std::uint64_t{4096} * 4096, .strides = "4096:4095", .cold = 4096})));
    const std::optional<AdvisedChange> of_columns =
        patch(line({.runs = 4096, .end = 32768, .strides = "512:4032,-32248:63", .cold = 32}));
    REQUIRE(of_columns);
    CHECK(*of_columns->then_seconds == Approx(gets.time(32768) + copies));
}

TEST_CASE("transfers take what was measured while all ranks make them") {
    CostTables costs = tables();
    costs.rates["service.bulk.read"] = RateCurve{{{1, 40e-6}, {1024, 1e-7}, {4096, 5e-8}}};
    const Advice advice = advise(parse_trace(sealed(head + in_a_row), "t"), &costs);
    const AdvisedChange* const patch = change_of(advice, "patch");
    REQUIRE(patch != nullptr);
    // 4096 elements take 204.8 us, 1024 of them 102.4.
    const double of_10000 = 204.8e-6 + (10000 - 4096) * 102.4e-6 / 3072;
    CHECK(*patch->then_seconds == Approx(of_10000 + 1e4 * 1e-9));
    // Several that overlap are slower by as much as one is.
    const TransferModel& gets = costs.transfers(Path::service, Direction::get);
    CHECK(transfer_seconds(costs, "service", Direction::get, 8192) == Approx(102.4e-6));
    CHECK(transfer_seconds(costs, "service", Direction::get, 8192, 16) ==
          Approx(gets.time(8192, 16) * 102.4e-6 / gets.time(8192)));
    CHECK(transfer_seconds(costs, "service", Direction::put, 8192, 16) == Approx(gets.time(8192, 16)));
    CHECK(transfer_seconds(costs, "rma", Direction::get, 8192) == 0);
}

TEST_CASE("a cache fetches a line of a page first, and then all of it, unless it has read ahead") {
    const CostTables costs = tables();
    const auto cached = [&](const std::string& sequential) {
        const std::string reuse = "cold:20,sequential:" + sequential + ",0:980";
        const std::string reads = access("ab", "read", 1000,
                                         " timed=100 timed_ns=2000000 runs=20 longest_run=400 lowest=0 highest=80000 "
                                         "owner_changes=0 owners=others:0,1:1000 parts=1:0-80000 "
                                         "strides=others:0,8:980,3600:19 within=" +
                                             reuse + " over=" + reuse + "\n");
        const Advice advice = advise(parse_trace(sealed(head + reads), "t"), &costs);
        return change_of(advice, "cache")->then_seconds.value();
    };
    const TransferModel& gets = costs.transfers(Path::service, Direction::get);
    const double hits = 980 * costs.rates.at("service.cached.hit.read").seconds(1000);
    // As long as a read without a cache, and the bytes beyond its eight.
    const auto miss = [&](std::uint64_t bytes) { return 20e-6 + gets.time(bytes) - gets.time(8); };
    CHECK(cached("0") == Approx(hits + 20 * (miss(64) + miss(1024))));
    CHECK(cached("20") == Approx(hits + 20 * gets.time(1024, 16) / 16));
}

TEST_CASE("a window's calls that move blocks need no advice, and those that move elements do") {
    std::string reads = in_a_row;
    reads.replace(reads.find("way=element"), 11, "way=window");
    CHECK(change_of(advise(parse_trace(sealed(head + reads), "t"), nullptr), "patch") != nullptr);
    const std::size_t bytes = reads.find(" bytes=80000") + 7;
    reads.replace(bytes, 5, "8000000"); // 800 each
    CHECK(advise(parse_trace(sealed(head + reads), "t"), nullptr).changes.empty());
}

TEST_CASE("a cache that keeps its contents over barriers is advised for one array, and no setting for all") {
    // Two intervals: each begins with an empty cache, unless it keeps what it has.
    std::string twice = in_a_row;
    twice.replace(twice.find("over=cold:79,sequential:78,0:9921"), 33, "over=cold:10,sequential:9,0:9990");
    const Advice advice = advise(parse_trace(sealed(head + twice), "t"), nullptr);
    const AdvisedChange* const cache = change_of(advice, "cache");
    REQUIRE(cache != nullptr);
    CHECK_THAT(cache->code, Contains("CacheMode::read_only"));
    CHECK(cache->setting.empty());
    // Somebody writes it.
    const Advice written = advise(parse_trace(sealed(head + twice + anywhere("cd", "write")), "t"), nullptr);
    REQUIRE(change_of(written, "cache") != nullptr);
    CHECK_THAT(change_of(written, "cache")->code, Contains("CacheMode::epoch"));
}

TEST_CASE("elements anywhere: lists, and no cache") {
    const CostTables costs = tables();
    const Advice advice = advise(parse_trace(sealed(head + anywhere("ab", "read")), "t"), &costs);
    CHECK(change_of(advice, "cache") == nullptr);
    CHECK(change_of(advice, "patch") == nullptr);
    REQUIRE(change_of(advice, "list") != nullptr);
    CHECK(*change_of(advice, "list")->then_seconds == Approx(1e4 * (100e-9 + 1e-9)));
}

TEST_CASE("elements anywhere at two call sites between the same sequence points: one list") {
    const CostTables costs = tables();
    const std::string reads = head + anywhere("ab", "read") + anywhere("cd", "read");
    const Advice advice = advise(parse_trace(sealed(reads), "t"), &costs);
    CHECK(std::ranges::count(advice.changes, "list", &AdvisedChange::kind) == 1);
    REQUIRE(change_of(advice, "list") != nullptr);
    CHECK(change_of(advice, "list")->uses.size() == 2);
    CHECK(*change_of(advice, "list")->now_seconds == Approx(2 * 0.2));
    CHECK(*change_of(advice, "list")->then_seconds == Approx(2e4 * (100e-9 + 1e-9)));
    CHECK_THAT(change_of(advice, "list")->why, Contains("20000 single accesses"));
}

TEST_CASE("as many reads as writes anywhere: adds in place") {
    const CostTables costs = tables();
    const Advice advice =
        advise(parse_trace(sealed(head + anywhere("ab", "read") + anywhere("cd", "write")), "t"), &costs);
    REQUIRE_FALSE(advice.changes.empty());
    CHECK(advice.changes.front().kind == "update");
    CHECK(advice.changes.front().uses.size() == 2);
    CHECK(*advice.changes.front().then_seconds == Approx(1e4 * 50e-9));
}

TEST_CASE("adds in place are advised though the rank that reads longest is not the one that writes longest") {
    const auto anywhere_on = [](const char* site, const char* operation, std::uint64_t calls, const char* ns) {
        return access(site, operation, calls,
                      std::string{" timed=100 timed_ns="} + ns +
                          " runs=9990 longest_run=16 lowest=0 highest=800000000 owner_changes=0 owners=others:0,1:9000 "
                          "parts=1:0-800000000 strides=others:9990 within=cold:9900,sequential:0,13:100 "
                          "over=cold:9900,sequential:0,13:100\n");
    };
    std::string text = head;
    text.replace(text.find("ranks 1"), 7, "ranks 2");
    const std::string second = head.substr(head.find("file 0"));
    text += anywhere_on("ab", "read", 10000, "2000000") + anywhere_on("cd", "write", 10000, "100000");
    text += "rank 1 ns=2000000000\n" + second;
    text += anywhere_on("ab", "read", 11000, "1000000") + anywhere_on("cd", "write", 11000, "300000");
    const CostTables costs = tables();
    const Advice advice = advise(parse_trace(sealed(text), "t"), &costs);
    REQUIRE_FALSE(advice.changes.empty());
    CHECK(advice.changes.front().kind == "update");
}

TEST_CASE("an array that its owners write is copied again before each interval in which others read it") {
    const CostTables costs = tables();
    const auto copied = [&](const std::string& more) {
        std::string text = head + in_a_row + more;
        text.replace(text.find("interval 0 times=1"), 18, "interval 0 times=20");
        const Advice advice = advise(parse_trace(sealed(text), "t"), &costs);
        return change_of(advice, "replicate")->then_seconds.value();
    };
    std::string own = access("cd", "write", 100,
                             " timed=10 timed_ns=100 runs=1 longest_run=800 lowest=0 highest=800 "
                             "owner_changes=0 owners=others:0,0:100 parts=0:0-800 strides=others:0,8:99 "
                             "within=cold:0,sequential:0 over=cold:0,sequential:0\n");
    own.replace(own.find("affinity=far"), 12, "affinity=own");
    const double copy = costs.transfers(Path::service, Direction::get).time(80000);
    CHECK(copied("") == Approx(copy + 1e4 * 2e-9));
    CHECK(copied(own) == Approx(20 * copy + 1e4 * 2e-9));
}

TEST_CASE("the gain of a change of several lines is that of one rank, not the sum of several ranks") {
    // Line ab takes rank 0 one second, line cd rank 1, and the other ranks nearly nothing.
    const auto reads = [](const char* site, int owner, const char* ns) {
        const std::string number = std::to_string(owner);
        return access(site, "read", 10000,
                      std::string{" timed=100 timed_ns="} + ns +
                          " runs=1 longest_run=40000 lowest=0 highest=40000 owner_changes=0 owners=others:0," + number +
                          ":10000 parts=" + number +
                          ":0-40000 strides=others:0,8:9999 "
                          "within=cold:39,sequential:38,0:9961 over=cold:39,sequential:38,0:9961\n");
    };
    constexpr const char* second = "10000000"; // 100 calls of 10,000
    constexpr const char* nothing = "1000";
    const auto rank_of = [](int rank) {
        return "rank " + std::to_string(rank) +
               " ns=2000000000\nfile 0 bytes=100 changed=5 path=/a%20program\n"
               "object 1 kind=window number=3 bytes=40000 team=runtime name=vector at -\n"
               "interval 0 times=1 barriers=0 ns=2000000000 at -\nsite ab at 0+10\nsite cd at 0+20 0+30\n";
    };
    const std::string start = "lapwing trace 4\nranks 2\nnodes 2\nnetwork_path service\nmpi Some MPI\nprofile \n"
                              "setting LAPWING_CACHE=off\n";
    const RecordedTrace trace =
        parse_trace(sealed(start + rank_of(0) + reads("ab", 1, second) + reads("cd", 1, nothing) + rank_of(1) +
                           reads("ab", 0, nothing) + reads("cd", 0, second)),
                    "t");
    const CostTables costs = tables();
    const Advice advice = advise(trace, &costs);
    for (const char* const kind : {"cache", "replicate"}) {
        CAPTURE(kind);
        const AdvisedChange* const change = change_of(advice, kind);
        REQUIRE(change != nullptr);
        CHECK(change->uses.size() == 2);
        CHECK(change->now_seconds.value() == Approx(1.0001).epsilon(1e-3));
    }
}

TEST_CASE("a trace that names no owners has no advice on placement") {
    std::string text = "lapwing trace 4\nranks 3\nnodes 3\nnetwork_path service\nmpi Some MPI\nprofile \n";
    for (int rank = 0; rank < 3; ++rank)
        text +=
            "rank " + std::to_string(rank) +
            " ns=1000\nfile 0 bytes=1 changed=1 path=/p\n"
            "object 1 kind=window number=1 bytes=800 team=runtime name=a at -\n"
            "interval 0 times=1 barriers=0 ns=1000 at -\nsite ab at 0+10\n" +
            access("ab", "read", 16,
                   " timed=1 timed_ns=10 runs=1 longest_run=128 lowest=0 highest=128 owner_changes=0 owners=others:0 "
                   "parts= strides=others:0,8:15 within=cold:1,sequential:0,0:15 over=cold:1,sequential:0,0:15\n");
    const RecordedTrace trace = parse_trace(sealed(text), "t");
    CHECK(change_of(advise(trace, nullptr), "distribution") == nullptr);
    CHECK(change_of(advise(trace, nullptr), "cache") != nullptr);
}

TEST_CASE("numbers that cannot be are refused, or do no harm") {
    // Each number of a good trace in turn is another one, under a right checksum.
    const std::string good = head + in_a_row + anywhere("cd", "write");
    const CostTables costs = tables();
    std::size_t read = 0;
    for (std::size_t at = good.find("ranks"); at < good.size(); ++at) {
        const auto digit = [&](std::size_t k) { return k < good.size() && good[k] >= '0' && good[k] <= '9'; };
        if (!digit(at) || digit(at - 1)) continue;
        std::size_t end = at;
        while (digit(end)) ++end;
        for (const char* const other :
             {"0", "1", "-1", "7", "2147483648", "18446744073709551615", "99999999999999999999"}) {
            std::string text = good;
            text.replace(at, end - at, other);
            CAPTURE(text.substr(at > 30 ? at - 30 : 0, 60));
            try {
                const RecordedTrace trace = parse_trace(sealed(text), "t");
                ++read;
                const Advice advice = advise(trace, &costs);
                (void)advice_file(trace, advice);
            } catch (const FileError& error) {
                CHECK_THAT(error.what(), Contains("record a new one"));
            }
        }
    }
    CHECK(read > 100);
}

TEST_CASE("what was read is fetched again by LAPWING_ADVICE, where all of it is known and nobody writes") {
    const CostTables costs = tables();
    const RecordedTrace trace = of_two_ranks(in_a_row);
    const Advice advice = advise(trace, &costs);
    const AdvisedChange* const found = change_of(advice, "follow");
    REQUIRE(found != nullptr);
    CHECK(found->setting == "LAPWING_ADVICE=FILE");
    CHECK(found->why.starts_with("rank 0 reads the same 78 KiB of others' parts, in 1 ranges"));
    // 10,000 reads of 20 us; then a miss, 80,000 bytes at once, and hits.
    CHECK(*found->now_seconds == Approx(0.2));
    CHECK(*found->then_seconds == Approx(20e-6 + 56e-9 + 20e-6 + 80e-6 + 10'000 * 10e-9).epsilon(0.02));

    // Where others write, or what is read is all over the place, or owners have no names, it is not known.
    const RecordedTrace written = of_two_ranks(in_a_row + anywhere("cd", "write"));
    CHECK(change_of(advise(written, &costs), "follow") == nullptr);
    CHECK(change_of(advise(of_two_ranks(anywhere("ab", "read")), &costs), "follow") == nullptr);
    CHECK(change_of(advise(of_two_ranks(in_a_row + anywhere("cd", "read")), &costs), "follow") == nullptr);
}
