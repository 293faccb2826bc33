// What a runtime prints: LAPWING_VERBOSE at the start, LAPWING_STATS at the end.
#include "runtime/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "support/run_number.hpp"
#include "team/team_test.hpp"

#include <lapwing/error.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>

using lapwing::Counter;
using lapwing::Offset;
using lapwing::Runtime;
using lapwing::Settings;
using lapwing::StatisticsValues;
using lapwing::Window;
using test::message_of;
using test::says;

namespace {

/// Some traffic, the same number of operations on every rank.
void use(Runtime& runtime) {
    Window window{runtime, 1024};
    for (std::uint64_t i = 0; i < 10; ++i) window.put(test::next(runtime), Offset::of<double>(i), 1.0);
    runtime.barrier();
    double value = 0;
    for (std::uint64_t i = 0; i < 10; ++i) value += window.get<double>(test::next(runtime), Offset::of<double>(i));
    CHECK(value == 10);
    runtime.barrier();
}

/// Where the job's ranks write: one name for all of them, and none of another job.
std::string own_file() { return "lapwing-statistics-" + std::to_string(test::run_number()) + ".json"; }

void check_traffic(const Runtime& runtime, std::uint64_t puts, std::uint64_t gets, Counter put_counter,
                   Counter get_counter, lapwing::Path path) {
    const bool used = runtime.size() > 1 && runtime.path(test::next(runtime)) == path;
    const std::uint64_t expected = used ? 10 * static_cast<std::uint64_t>(runtime.size()) : 0;
    INFO(name(put_counter) << " and " << name(get_counter));
    CHECK(puts == expected);
    CHECK(gets == expected);
}

} // namespace

TEST_CASE("LAPWING_STATS=json writes the sum over all ranks") {
    const std::string file = own_file();
    std::optional<Runtime> started;
    const std::string at_start = test::captured_stderr([&] {
        started.emplace(MPI_COMM_WORLD, Settings{{"LAPWING_STATS", "json:" + file}, {"LAPWING_RMA_SMALL", "mpi"}});
    });
    Runtime& runtime = *started;
    CHECK(at_start.find("LAPWING_STATS") == std::string::npos);
    // That it can be written was tried without leaving anything; other ranks may look while rank 0 is at it.
    if (test::world_rank() == 0) CHECK(!std::filesystem::exists(file));
    use(runtime);
    const std::string text = test::captured_stderr([&] { runtime.close(); });
    CHECK(text.find("statistics") == std::string::npos);
    const StatisticsValues total = runtime.total_statistics(); // after the close not a collective call
    if (test::world_rank() == 0) {
        std::ifstream in{file};
        const nlohmann::json json = nlohmann::json::parse(in);
        CHECK(json.size() == lapwing::counter_count + 1);
        CHECK(json.at("ranks") == test::world_size());
        for (std::size_t i = 0; i < lapwing::counter_count; ++i) {
            const auto counter = static_cast<Counter>(i);
            CHECK(json.at(std::string{name(counter)}) == total[counter]);
        }
        const auto count = [&](Counter counter) { return json.at(std::string{name(counter)}).get<std::uint64_t>(); };
        for (const auto& [puts, gets, path] :
             {std::tuple{Counter::rma_puts, Counter::rma_gets, lapwing::Path::rma},
              std::tuple{Counter::service_puts, Counter::service_gets, lapwing::Path::service}})
            check_traffic(runtime, count(puts), count(gets), puts, gets, path);
        std::remove(file.c_str());
    }
    test::world_barrier();
}

TEST_CASE("LAPWING_STATS=text prints the counters that are not zero, once") {
    bool messages = false;
    const std::string text = test::captured_stderr([&] {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_STATS", "text"}}};
        use(runtime);
        messages = runtime.nodes() > 1;
    });
    if (test::world_rank() != 0) {
        CHECK(text.find("statistics") == std::string::npos);
        return;
    }
    const auto first = text.find("lapwing: statistics, summed over all ranks:");
    REQUIRE(first != std::string::npos);
    CHECK(text.find("statistics", first + 12) == std::string::npos);
    CHECK(text.find(" 0\n", first) == std::string::npos);
    CHECK((text.find("messages_sent", first) != std::string::npos) == messages);
}

TEST_CASE("statistics that cannot be written are an error of rank 0, and every runtime is closed") {
    const Settings settings{{"LAPWING_STATS", "json:/nonexistent-directory/statistics.json"}};
    const auto error =
        says({"LAPWING_STATS=json:/nonexistent-directory/statistics.json", "cannot be written", "choose one that can"});
    {
        std::optional<Runtime> started;
        const std::string text = test::captured_stderr([&] { started.emplace(MPI_COMM_WORLD, settings); });
        Runtime& runtime = *started;
        if (test::world_rank() == 0) CHECK_THAT(text, error); // not only at the end of the run
        else CHECK(text.find("LAPWING_STATS") == std::string::npos);
        if (test::world_rank() == 0) CHECK_THAT(message_of<lapwing::FileError>([&] { runtime.close(); }), error);
        else runtime.close();
        CHECK(runtime.closed());
        runtime.close(); // a local call now
    }
    // The destructor has nobody to throw to.
    const std::string text = test::captured_stderr([&] { Runtime{MPI_COMM_WORLD, settings}; });
    if (test::world_rank() == 0) CHECK_THAT(text, error);
    else CHECK(text.find("LAPWING_STATS") == std::string::npos);
}

TEST_CASE("LAPWING_STATS is rank 0's: ranks that differ do not wait for each other") {
    const std::string text = test::captured_stderr([] {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_STATS", test::world_rank() == 0 ? "text" : ""}}};
        use(runtime);
    });
    CHECK((text.find("statistics") != std::string::npos) == (test::world_rank() == 0));
}

TEST_CASE("LAPWING_VERBOSE=1 says on rank 0 what the runtime found") {
    std::string who;
    const std::string text = test::captured_stderr([&] {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_VERBOSE", "1"}, {"LAPWING_SERVICE_PACKET", "4k"}}};
        const std::string report = runtime.report();
        const std::string ranks = std::to_string(runtime.size());
        CHECK_THAT(report, says({ranks + " ranks on " + std::to_string(runtime.nodes()) + " nodes", "MPI_THREAD_",
                                 "paths from rank " + std::to_string(runtime.rank().value) + ": self to itself",
                                 "progress by ", "message buffers", "LAPWING_VERBOSE=1", "LAPWING_SERVICE_PACKET=4k"}));
        if (runtime.nodes() > 1) {
            const char* const path = runtime.network_path() == lapwing::Path::rma ? "rma to " : "service to ";
            CHECK_THAT(report,
                       says({path + std::to_string(runtime.size() - runtime.node_size()) + " ranks of other nodes"}));
        }
        who = report;
    });
    CHECK((text.find(who) != std::string::npos) == (test::world_rank() == 0));
}
