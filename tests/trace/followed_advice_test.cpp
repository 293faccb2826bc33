// LAPWING_ADVICE: what an earlier run says is followed, changes no result, and never what the program has chosen.
#include "model/advice_file.hpp"
#include "model/recorded_trace.hpp"
#include "runtime/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "support/run_number.hpp"
#include "team/team_test.hpp"

#include <lapwing/lapwing.hpp>
#include <lapwing/layout.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

using namespace lapwing;
using test::message_of;
using test::says;
namespace model = lapwing::detail::model;

namespace {

constexpr std::int64_t n = 400;
constexpr int rounds = 3;

std::string file_name(const std::string& word) { return "lapwing-" + word + "-" + std::to_string(test::run_number()); }

/// Written by rank 0, for all.
void write(const std::string& file, const std::string& text) {
    if (test::world_rank() == 0) std::ofstream{file, std::ios::binary} << text;
    test::world_barrier();
}

std::string contents(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

struct Outcome {
    double sum = 0;
    StatisticsValues counts = {};
};

/// Reads an array that changes in each round, in an order that no read-ahead follows, and one of its own choice.
Outcome program(Runtime& runtime, CacheOptions options = {}) {
    GlobalArray<double, 1> a{runtime, {n}, Block{}, {.name = "a", .cache = options}};
    Outcome outcome;
    for (int round = 0; round < rounds; ++round) {
        for (auto [i] : a.local_domain()) a.local(i) = static_cast<double>(i * (round + 1));
        runtime.barrier();
        for (std::int64_t k = 0; k < n; ++k) outcome.sum += a(k * 1237 % n) * static_cast<double>(k % 7);
        runtime.barrier();
    }
    outcome.counts = a.statistics();
    return outcome;
}

Outcome run(const Settings& settings, CacheOptions options = {}) {
    Runtime runtime{MPI_COMM_WORLD, settings};
    const Outcome outcome = program(runtime, options);
    runtime.close();
    return outcome;
}

/// The program is recorded: what the advice for it is, and what it computed.
struct Recorded {
    std::string trace = file_name("trace");
    std::string advice = file_name("advice");
    Outcome outcome = run(Settings{{"LAPWING_TRACE", trace}, {"LAPWING_PROFILE", "none"}});
    model::AdviceFile found = {};

    Recorded() {
        const model::RecordedTrace recorded = model::parse_trace(contents(trace), trace);
        found = model::advice_file(recorded, model::advise(recorded, nullptr));
        write(advice, model::to_text(found, trace));
    }
    ~Recorded() {
        test::world_barrier();
        if (test::world_rank() != 0) return;
        std::filesystem::remove(trace);
        std::filesystem::remove(advice);
    }
};

} // namespace

TEST_CASE("a trace's advice is a cache for the array, and what each rank reads of the others") {
    const Recorded recorded;
    REQUIRE(recorded.found.windows.size() == 1);
    const model::AdviceFile::Window& window = recorded.found.windows.front();
    CHECK(window.name == "a");
    CHECK(window.cached);
    REQUIRE(window.prefetch.size() == 2);
    for (const model::AdviceFile::Prefetch& part : window.prefetch) {
        CHECK(part.owner == 1 - part.rank);
        CHECK(part.begin == 0);
        CHECK(part.end == 8 * n / 2);
    }
}

TEST_CASE("a trace or its advice is followed: fewer messages, and the same result") {
    const Recorded recorded;
    CHECK(recorded.outcome.counts[Counter::cache_hits] == 0);
    for (const std::string& file : {recorded.trace, recorded.advice}) {
        const Outcome followed = run(Settings{{"LAPWING_ADVICE", file}});
        CHECK(followed.sum == recorded.outcome.sum);
        CHECK(followed.counts[Counter::cache_hits] > static_cast<std::uint64_t>(rounds * n / 4));
        CHECK(followed.counts[Counter::service_gets] < recorded.outcome.counts[Counter::service_gets] / 4);
    }
    // Without read-ahead of the cache's own, what is read ahead is what was recorded.
    const Outcome ahead = run(Settings{{"LAPWING_ADVICE", recorded.advice}, {"LAPWING_CACHE_READ_AHEAD", "0"}});
    CHECK(ahead.sum == recorded.outcome.sum);
    CHECK(ahead.counts[Counter::read_ahead_used] >= rounds);
    const Outcome cached = run(Settings{{"LAPWING_CACHE", "epoch"}, {"LAPWING_CACHE_READ_AHEAD", "0"}});
    CHECK(cached.counts[Counter::read_ahead_used] < ahead.counts[Counter::read_ahead_used]);
}

TEST_CASE("what the program or a setting chooses is not changed by advice") {
    const Recorded recorded;
    const Settings advised{{"LAPWING_ADVICE", recorded.advice}};
    CHECK(run(advised, {.mode = CacheMode::off}).counts[Counter::cache_hits] == 0);
    CHECK(run(Settings{{"LAPWING_ADVICE", recorded.advice}, {"LAPWING_CACHE", "off"}}).counts[Counter::cache_hits] ==
          0);
    // A page size that does not fit the program's cache: not followed, and said.
    write(recorded.advice, "lapwing advice 1\nwindow name=a number=1 cache=epoch page_bytes=65536\nend\n");
    const std::string text = test::captured_stderr([&] { (void)run(advised, {.bytes = 4096}); });
    CHECK((text.find("line 2: not followed") != std::string::npos) == (test::world_rank() == 0));
}

TEST_CASE("threads share the order of a window whose cache was advised") {
    if (!test::many_threads_allowed()) return;
    const std::string file = file_name("threads");
    write(file, "lapwing advice 1\nranks 2\nwindow name=a number=1 cache=epoch\n"
                "prefetch rank=0 owner=1 bytes=0-400\nend\n");
    const auto wrong_reads = [&](const Settings& settings) {
        Runtime runtime{MPI_COMM_WORLD, settings};
        GlobalArray<double, 1> a{runtime, {n}, Block{}, {.name = "a"}};
        std::vector<double> row(8);
        int wrong = 0;
        if (runtime.rank() == 0) {
            const std::int64_t i = n - 1;
            const auto in_another_thread = [](auto call) { std::thread{call}.join(); };
            a(i) = 1;
            wrong += a(i) != 1;
            a(i) = 2; // into the page that has just been read and written
            in_another_thread([&] {
                wrong += a(i) != 2;
                a(i) = 3;
            });
            wrong += a(i) != 3;
            a(i - 1) = 4;
            in_another_thread([&] {
                a({{n - 8, n}}).get(row);
                wrong += row[6] != 4;
            });
        }
        runtime.barrier();
        wrong += a(n - 1) != 3;
        a.close();
        runtime.close();
        return wrong;
    };
    CHECK(wrong_reads(Settings{}) == 0);
    const std::string text =
        test::captured_stderr([&] { CHECK(wrong_reads(Settings{{"LAPWING_ADVICE", file}}) == 0); });
    if (test::world_rank() == 0) {
        CHECK_THAT(text, says({"Window(\"a\")", "LAPWING_ADVICE is not followed any more", "CacheOptions::mode"}));
        std::filesystem::remove(file);
    }
}

TEST_CASE("recorded reads that do not come again are not asked for any more") {
    const std::string file = file_name("elsewhere");
    write(file, "lapwing advice 1\nranks 2\nwindow name=a number=1 cache=epoch\n"
                "prefetch rank=0 owner=1 bytes=0-400000\nprefetch rank=1 owner=0 bytes=0-400000\nend\n");
    {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_ADVICE", file}, {"LAPWING_CACHE_ADAPT", "off"}}};
        GlobalArray<double, 1> a{runtime, {100000}, Block{}, {.name = "a"}};
        const std::int64_t other = runtime.rank() == 0 ? 99999 : 0;
        for (int round = 0; round < 10; ++round) {
            CHECK(a(other) == 0);
            runtime.barrier();
        }
        // Twice 391 pages, and no more.
        CHECK(a.statistics()[Counter::read_ahead_issued] <= 800);
        CHECK(a.statistics()[Counter::read_ahead_issued] >= 391);
        a.close();
        runtime.close();
    }
    if (test::world_rank() == 0) std::filesystem::remove(file);
}

TEST_CASE("recorded reads take no more than half of the cache that there is") {
    const std::string file = file_name("small");
    write(file, "lapwing advice 1\nranks 2\nwindow name=a number=1 cache=epoch cache_bytes=64k\n"
                "prefetch rank=0 owner=1 bytes=0-200000\nprefetch rank=0 owner=1 bytes=300000-400000\n"
                "prefetch rank=1 owner=0 bytes=0-200000\nprefetch rank=1 owner=0 bytes=300000-400000\nend\n");
    {
        Runtime runtime{
            MPI_COMM_WORLD,
            Settings{{"LAPWING_ADVICE", file}, {"LAPWING_CACHE_ADAPT", "off"}, {"LAPWING_CACHE_READ_AHEAD", "0"}}};
        GlobalArray<double, 1> a{runtime, {100000}, Block{}, {.name = "a"}};
        CHECK(a(runtime.rank() == 0 ? 99999 : 0) == 0);
        CHECK(a.statistics()[Counter::read_ahead_issued] <= 32);
        CHECK(a.statistics()[Counter::read_ahead_issued] >= 16);
        runtime.barrier();
        a.close();
        runtime.close();
    }
    if (test::world_rank() == 0) std::filesystem::remove(file);
}

TEST_CASE("an advised strategy is used for the window's transfers that leave it open") {
    const std::string file = file_name("strategy");
    write(file, "lapwing advice 1\nwindow name=w number=1 strategy=per-block\nend\n");
    {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_ADVICE", file}}};
        Window window{runtime, 1 << 16, {.name = "w"}};
        Window other{runtime, 1 << 16, {.name = "other"}};
        const Rank rank{1 - runtime.rank().value};
        const Layout blocks = Layout::strided(64, 8, 32);
        const Layout packed = Layout::contiguous(64 * 8);
        const Plan advised = Plan::get(window, rank, Offset{0}, blocks, packed);
        CHECK(advised.strategy() == Strategy::per_block);
        const Plan chosen = Plan::get(window, rank, Offset{0}, blocks, packed, {.strategy = Strategy::full_pack});
        CHECK(chosen.strategy() == Strategy::full_pack);
        runtime.barrier();
    }
    if (test::world_rank() == 0) std::filesystem::remove(file);
}

TEST_CASE("advice that cannot be used is refused with the file, the line and the remedy") {
    const auto refused = [](const std::string& text, const std::string& line, const std::string& why) {
        CHECK_THAT(message_of<FileError>([&] { (void)model::parse_advice(text, "f"); }),
                   says({"f, line " + line + ": ", why, "lapwing-advise TRACE --advice FILE"}));
    };
    const std::string head = "lapwing advice 1\nranks 2\n";
    refused("threads 2\n", "1", "neither advice nor a trace");
    refused("lapwing advice 9\nend\n", "1", "another version");
    refused(head + "window name=a number=1 cache=epoch\n", "4", "'end' is missing");
    refused(head + "window name=a number=1 cache=read_only\nend\n", "3", "only the program can choose it");
    refused(head + "window name=a number=1 cache=on\nend\n", "3", "cache=on is not allowed");
    refused(head + "window name=a number=1 page_bytes=1000\nend\n", "3", "power of two");
    refused(head + "window name=a number=1 cache_bytes=64\nend\n", "3", "no room");
    refused(head + "window name=a number=1 strategy=fast\nend\n", "3", "superpipeline");
    refused(head + "window name=a number=x\nend\n", "3", "not a number");
    refused(head + "window name=a\nend\n", "3", "'number=' was expected");
    refused(head + "\nprefetch rank=0 owner=1 bytes=0-8\nend\n", "4", "belongs to no window");
    refused(head + "window name=a number=1\nprefetch rank=0 owner=2 bytes=0-8\nend\n", "4", "not below 'ranks 2'");
    refused(head + "window name=a number=1\nprefetch rank=0 owner=1 bytes=8-8\nend\n", "4", "none");
    refused(head + "ranks 2\nend\n", "3", "second time");
    refused("lapwing advice 1\nranks 0\nend\n", "2", "not at least 1");
    refused("lapwing advice 1\nwindow name=a number=1\nranks 2\nend\n", "3", "before the first");
    refused(head + "wind name=a\nend\n", "3", "'wind' is unknown");
    refused(head + "end\nranks 2\n", "4", "after 'end'");
}

TEST_CASE("a file that cannot be used is an error of all ranks, and the next runtime is as any") {
    const std::string file = file_name("wrong");
    const auto message = [](const std::string& name) {
        return message_of<FileError>([&] { Runtime{MPI_COMM_WORLD, Settings{{"LAPWING_ADVICE", name}}}; });
    };
    write(file, "lapwing advice 1\nwind name=a\nend\n");
    CHECK_THAT(message(file), says({"LAPWING_ADVICE=" + file + ", line 2: 'wind' is unknown", "lapwing-advise TRACE"}));
    test::world_barrier();
    // A trace that was cut off says so as lapwing-advise does.
    write(file, "lapwing trace 4\nranks 2\n");
    CHECK_THAT(message(file), says({"LAPWING_ADVICE=" + file, "its end is missing", "record a new one"}));
    test::world_barrier();
    if (test::world_rank() == 0) std::filesystem::remove(file);
    CHECK_THAT(message("no-such-file"), says({"LAPWING_ADVICE=no-such-file", "cannot be read", "name a file"}));
    CHECK(run(Settings{}).counts[Counter::cache_hits] == 0);
}

TEST_CASE("advice for arrays that there are not is reported once, and changes nothing") {
    const std::string file = file_name("unused");
    write(file,
          "lapwing advice 1\nranks 2\nwindow name=b number=1 cache=epoch\nwindow name=- number=77 cache=epoch\nend\n");
    Outcome outcome;
    const std::string text = test::captured_stderr([&] { outcome = run(Settings{{"LAPWING_ADVICE", file}}); });
    CHECK(outcome.counts[Counter::cache_hits] == 0);
    if (test::world_rank() == 0)
        CHECK_THAT(text, says({"LAPWING_ADVICE=" + file, "\"b\" (line 3)", "window 77 (line 4)", "trace it again"}));
    else CHECK(text.find("LAPWING_ADVICE") == std::string::npos);
    if (test::world_rank() == 0) std::filesystem::remove(file);
}

TEST_CASE("advice as text is read as it was written") {
    model::AdviceFile advice{.ranks = 3};
    advice.windows.push_back({.name = "a b",
                              .number = 4,
                              .cached = true,
                              .cache_bytes = 1 << 20,
                              .page_bytes = 4096,
                              .strategy = "superpipeline",
                              .prefetch = {{2, 0, 16, 800}}});
    advice.windows.push_back({.number = 5, .cached = true});
    const std::string text = model::to_text(advice, "some trace");
    const model::AdviceFile read = model::parse_advice(text, "f");
    CHECK(model::to_text(read, "some trace") == text);
    CHECK(read.ranks == 3);
    CHECK(read.windows[0].name == "a b");
    CHECK(read.windows[0].prefetch[0].end == 800);
    CHECK(read.windows[1].name.empty());
    CHECK(model::parse_advice("lapwing advice 1\nwindow name=- number=1 cache_bytes=4m\nend\n", "f")
              .windows[0]
              .cache_bytes == std::uint64_t{4} << 20);
}
