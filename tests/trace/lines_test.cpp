// What LAPWING_STATS=lines prints at the end of a run. tests/tools/advise_test.py looks at the lines themselves, in a
// program with debugging information.
#include "runtime/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "support/run_number.hpp"
#include "team/team_test.hpp"

#include <lapwing/lapwing.hpp>
#include <lapwing/upc.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace lapwing;

namespace {

constexpr std::int64_t n = 100;

/// Every rank reads all elements of one array one by one, and another one as a whole, three times.
void use(Runtime& runtime) {
    GlobalArray<double, 1> single{runtime, {n}, Block{}, {.name = "single"}};
    GlobalArray<double, 1> whole{runtime, {n * 100}, Block{}, {.name = "whole"}};
    runtime.barrier();
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += single(i);
    std::vector<double> values(n * 100);
    for (int k = 0; k < 3; ++k) whole(whole.domain()).get(values);
    CHECK(sum + values[0] == 0);
    std::vector<Index<1>> indices;
    for (std::int64_t i = 0; i < n * 100; i += 3) indices.push_back({i});
    whole.gather(indices, std::span<double>{values}.first(indices.size()));
    Window window{runtime, 64, {.name = "own"}};
    window.put(runtime.rank(), Offset{8}, 1.5);
    runtime.barrier();
}

std::string printed(const Settings& settings, const std::function<void(Runtime&)>& program = use) {
    return test::captured_stderr([&] {
        Runtime runtime{MPI_COMM_WORLD, settings};
        program(runtime);
        runtime.close();
    });
}

/// A directory for all ranks; rank 0's PATH begins with it, or is it.
class Programs {
public:
    explicit Programs(bool alone) {
        directory_ = std::filesystem::absolute("lapwing-programs-" + std::to_string(test::run_number()));
        if (test::world_rank() != 0) return;
        std::filesystem::create_directory(directory_);
        setenv("PATH", (directory_.string() + (alone ? "" : ":" + path_)).c_str(), 1);
    }
    ~Programs() {
        test::world_barrier();
        if (test::world_rank() != 0) return;
        setenv("PATH", path_.c_str(), 1);
        std::filesystem::remove_all(directory_);
    }
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;

    [[nodiscard]] std::filesystem::path file(const char* name) const { return directory_ / name; }

private:
    std::string path_ = std::getenv("PATH");
    std::filesystem::path directory_;
};

/// The numbers of the row that ends so.
struct Row {
    double seconds = 0;
    double slowest = 0;
    int rank = -1;
    unsigned long calls = 0;
    int far = -1;
    std::string text = {};
};
Row row_of(const std::string& report, const std::string& end) {
    const auto at = report.find(end);
    if (at == std::string::npos) return {};
    const auto begin = report.rfind('\n', at) + 1;
    Row row{.text = report.substr(begin, report.find('\n', at) - begin)};
    std::sscanf(row.text.c_str(), "%lf %lf %d %lu %d", &row.seconds, &row.slowest, &row.rank, &row.calls, &row.far);
    return row;
}

} // namespace

TEST_CASE("the accesses of all ranks are printed once, by line") {
    const auto begin = std::chrono::steady_clock::now();
    const std::string report = printed(Settings{{"LAPWING_STATS", "lines"}});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    INFO(report);
    if (test::world_rank() != 0) {
        CHECK(report.find("accesses by line") == std::string::npos);
        return;
    }
    const int ranks = test::world_size();
    CHECK(report.find("lapwing: accesses by line, of " + std::to_string(ranks) +
                      " ranks, those with most time first") != std::string::npos);
    CHECK(report.find("accesses by line", report.find("accesses by line") + 1) == std::string::npos);
    const Row single = row_of(report, "read of \"single\" (element)");
    CHECK(single.calls == static_cast<unsigned long>(n * ranks));
    CHECK(single.far == 100 - 100 / ranks);
    CHECK(single.rank >= 0);
    CHECK(single.rank < ranks);
    CHECK(single.slowest <= single.seconds);
    // A patch is an access to each owner.
    const Row whole = row_of(report, "read of \"whole\" (patch)");
    CHECK(whole.calls == static_cast<unsigned long>(3 * ranks * ranks));
    CHECK(whole.seconds > 0);
    // A list is one call, though it accesses many places; calls that are never timed have no time.
    const Row list = row_of(report, "read of \"whole\" (list)");
    CHECK(list.calls == static_cast<unsigned long>((n * 100 + 2) / 3 * ranks));
    CHECK(list.slowest <= seconds);
    CHECK(row_of(report, "write of \"own\" (window)").text.starts_with("         -          -      -"));
}

TEST_CASE("lines are looked up when the other ranks have closed, and what is missing is said") {
    {
        const Programs programs{false};
        if (test::world_rank() == 0) {
            // Waits for another rank's file, and notes it if that does not come.
            std::ofstream{programs.file("addr2line")}
                << "#!/bin/sh\nk=0\nwhile [ ! -e " << programs.file("closed") << " ] && [ $k -lt 100 ]; do\n"
                << "sleep 0.1\nk=$((k + 1))\ndone\n[ -e " << programs.file("closed") << " ] || : > "
                << programs.file("late") << "\n";
            std::filesystem::permissions(programs.file("addr2line"), std::filesystem::perms::owner_all);
        }
        test::world_barrier();
        const std::string report = printed(Settings{{"LAPWING_STATS", "lines"}});
        if (test::world_rank() == 1) std::ofstream{programs.file("closed")} << "\n";
        CHECK((report.find("accesses by line") != std::string::npos) == (test::world_rank() == 0));
        if (test::world_rank() == 0) CHECK_FALSE(std::filesystem::exists(programs.file("late")));
    }
    const Programs none{true};
    const std::string report = printed(Settings{{"LAPWING_STATS", "lines"}});
    if (test::world_rank() == 0) CHECK(report.find("note: addr2line was not found") != std::string::npos);
}

TEST_CASE("UPC's objects are named as such") {
    const std::string report = printed(Settings{{"LAPWING_STATS", "lines"}}, [](Runtime& runtime) {
        const upc::Program program{runtime};
        upc::SharedArray<double> dealt{100};
        double sum = 0;
        for (std::int64_t i = 0; i < 100; ++i) sum += dealt[i];
        CHECK(sum == 0);
        upc::barrier();
    });
    if (test::world_rank() == 0) CHECK(report.find("read of UPC's memory from 0x") != std::string::npos);
}

TEST_CASE("lines are ordered by bytes, and as few as wanted") {
    const std::string report = printed(Settings{{"LAPWING_STATS", "lines:bytes:1"}});
    if (test::world_rank() != 0) return;
    INFO(report);
    CHECK(report.find("those with most bytes first") != std::string::npos);
    CHECK(report.find("read of \"whole\" (patch)") != std::string::npos);
    CHECK(report.find("read of \"single\" (element)") == std::string::npos);
    CHECK(row_of(report, "all other lines").calls >= static_cast<unsigned long>(n * test::world_size()));
}

TEST_CASE("lines are counted if rank 0 wants it, whatever the others have set, and beside a trace") {
    const std::string file = "lapwing-lines-" + std::to_string(test::run_number());
    Settings settings{{"LAPWING_TRACE", file}};
    settings.set("LAPWING_STATS", test::world_rank() == 0 ? "lines:bytes" : "");
    const std::string report = printed(settings);
    if (test::world_rank() != 0) return;
    CHECK(row_of(report, "read of \"single\" (element)").calls == static_cast<unsigned long>(n * test::world_size()));
    CHECK(std::filesystem::remove(file));
    CHECK(std::filesystem::exists(file) == false);
}

TEST_CASE("of two runtimes at a time one is recorded, and the other says so") {
    Runtime first{MPI_COMM_WORLD, Settings{{"LAPWING_STATS", "lines"}}};
    std::string at_end;
    const std::string at_start = test::captured_stderr([&] {
        Runtime second{MPI_COMM_WORLD, Settings{{"LAPWING_STATS", "lines"}}};
        at_end = test::captured_stderr([&] { second.close(); });
    });
    CHECK(at_end.find("accesses by line") == std::string::npos);
    CHECK((at_start.find("another one of the process is") != std::string::npos) == (test::world_rank() == 0));
    const std::string report = test::captured_stderr([&] { first.close(); });
    CHECK((report.find("accesses by line") != std::string::npos) == (test::world_rank() == 0));
}
