// Profiles as runtimes find them.
#include "model/measure_transfers.hpp"
#include "model/profile.hpp"
#include "model/team_costs.hpp"
#include "runtime/captured_stderr.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "support/run_number.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <sys/stat.h>
#include <vector>

using namespace lapwing;
using namespace lapwing::detail::model;

namespace {

/// The next allocation of so many bytes or more by this thread fails; 0: none does.
thread_local std::size_t failing_bytes = 0;

} // namespace

void test::on_allocation(std::size_t bytes) {
    if (failing_bytes == 0 || bytes < failing_bytes) return;
    failing_bytes = 0;
    throw std::bad_alloc{};
}

namespace {

namespace fs = std::filesystem;

/// A directory that rank 0 makes and removes.
class Directory {
public:
    Directory() {
        path_ = fs::temp_directory_path() / ("lapwing-profile-test-" + std::to_string(test::run_number()));
        if (test::world_rank() == 0) fs::create_directories(path_);
        test::world_barrier();
    }
    ~Directory() {
        test::world_barrier();
        std::error_code error;
        if (test::world_rank() == 0) fs::remove_all(path_, error);
    }
    [[nodiscard]] std::string path() const { return path_.string(); }

private:
    fs::path path_;
};

CostTables tables_of(double seconds) {
    CostTables tables;
    tables.transfers(Path::rma, Direction::put) =
        TransferModel{std::vector<TransferLine>{{0, seconds, seconds, 1e-6, 1e-9, 0, 0}}};
    return tables;
}

/// Runs `body` on rank 0 between barriers.
template <class Body>
void on_first(Body&& body) {
    test::world_barrier();
    if (test::world_rank() == 0) body();
    test::world_barrier();
}

Source source_with(const std::string& profile) {
    Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_PROFILE", profile}}};
    return TeamCosts::of(runtime).model().source(Path::rma, Direction::put);
}

} // namespace

TEST_CASE("a LAPWING_PROFILE that does not exist is reported once, by rank 0") {
    const Directory directory;
    const std::string missing = directory.path() + "/missing";
    const auto made = [](const std::string& place) {
        return test::captured_stderr([&] { Runtime{MPI_COMM_WORLD, Settings{{"LAPWING_PROFILE", place}}}; });
    };
    const std::string text = made(missing);
    if (test::world_rank() == 0)
        CHECK_THAT(text,
                   test::says({"LAPWING_PROFILE=" + missing, "no such file or directory", "lapwing-tune", "none"}));
    else CHECK(text.find("LAPWING_PROFILE") == std::string::npos);
    CHECK(made(missing).find("LAPWING_PROFILE") == std::string::npos);
    for (const std::string& place : {directory.path(), std::string{"none"}, std::string{}})
        CHECK(made(place).find("LAPWING_PROFILE") == std::string::npos);
}

TEST_CASE("a runtime finds the profile of its machine, MPI and network, on all ranks") {
    const Directory directory;
    const Settings settings{{"LAPWING_PROFILE", directory.path()}};
    Runtime maker{MPI_COMM_WORLD, settings};
    CHECK(TeamCosts::of(maker).model().source(Path::rma, Direction::put) == Source::built_in);
    const ProfileKey key = profile_key(maker);
    on_first([&] { store_profile(profile_file(settings, key), to_text(key, tables_of(0.5))); });

    Runtime runtime{MPI_COMM_WORLD, settings};
    CostModel& model = TeamCosts::of(runtime).model();
    CHECK(model.source(Path::rma, Direction::put) == Source::profile);
    CHECK(model.source(Path::rma, Direction::get) == Source::built_in);
    CHECK(model.transfers(Path::rma, Direction::put, 1000).time(1000) == Approx(0.500002));

    // Under another name of the network it is not there.
    Runtime other{MPI_COMM_WORLD, Settings{{"LAPWING_PROFILE", directory.path()}, {"LAPWING_NETWORK", "another"}}};
    CHECK(TeamCosts::of(other).model().source(Path::rma, Direction::put) == Source::built_in);
}

TEST_CASE("the cache directory of the user is the default place, and none means none") {
    const Directory directory;
    const test::ScopedEnvironment cache{"XDG_CACHE_HOME", directory.path()};
    Runtime runtime;
    const ProfileKey key = profile_key(runtime);
    const std::string file = profile_file(Settings{}, key);
    CHECK(file.starts_with(directory.path() + "/lapwing/profile-"));
    on_first([&] { store_profile(file, to_text(key, tables_of(0.5))); });
    CHECK(source_with("") == Source::profile);
    CHECK(source_with("none") == Source::built_in);
    CHECK(source_with(file) == (test::world_size() > 0 ? Source::profile : Source::built_in));

    const test::ScopedEnvironment no_cache{"XDG_CACHE_HOME", "relative"}; // to be ignored, says its specification
    const test::ScopedEnvironment home{"HOME", directory.path()};
    CHECK(profile_file(Settings{}, key).starts_with(directory.path() + "/.cache/lapwing/profile-"));
    const test::ScopedEnvironment no_home{"HOME", {}};
    CHECK(profile_file(Settings{}, key).empty());
}

TEST_CASE("a file that is no profile of this machine is ignored") {
    const Directory directory;
    Runtime runtime;
    const ProfileKey key = profile_key(runtime);
    const std::string good = to_text(key, tables_of(0.5));
    const std::string file = directory.path() + "/profile";
    const auto source_of_text = [&](const std::string& text) {
        on_first([&] { std::ofstream{file, std::ios::binary} << text; });
        return source_with(file);
    };
    CHECK(source_of_text(good) == Source::profile);
    CHECK(source_of_text("") == Source::built_in);
    CHECK(source_of_text(good.substr(0, good.size() / 2)) == Source::built_in);
    CHECK(source_of_text(std::string(1000, '\0')) == Source::built_in);
    CHECK(source_of_text(to_text({"another", key.mpi, key.network}, tables_of(0.5))) == Source::built_in);
    CHECK(source_of_text(good + std::string(1 << 20, 'x')) == Source::built_in);

    // Huge, without taking the space.
    on_first([&] { fs::resize_file(file, std::uintmax_t{1} << 40); });
    CHECK(source_with(file) == Source::built_in);
    on_first([&] { fs::remove(file); });
    CHECK(source_with(file) == Source::built_in);
    // A pipe that nobody writes to must not be waited for.
    on_first([&] { (void)mkfifo(file.c_str(), 0600); });
    const std::string in_directory = profile_file(Settings{{"LAPWING_PROFILE", directory.path()}}, key);
    on_first([&] { fs::rename(file, in_directory); });
    CHECK(source_with(directory.path()) == Source::built_in);
}

TEST_CASE("a profile that cannot be stored says where and what to do") {
    const Directory directory;
    on_first([&] {
        std::ofstream{directory.path() + "/file"} << "in the way";
        CHECK_THROWS_WITH(store_profile(directory.path() + "/file/profile", "text"),
                          Catch::Contains(directory.path() + "/file/profile cannot be written") &&
                              Catch::Contains("LAPWING_PROFILE"));
        CHECK(fs::exists(directory.path() + "/file"));
    });
}

TEST_CASE("what goes wrong on rank 0 alone leaves all ranks without a profile, and none waiting") {
    if (!test::sees_allocations) return;
    const Directory directory;
    const Settings settings{{"LAPWING_PROFILE", directory.path()}};
    Runtime runtime{MPI_COMM_WORLD, settings};
    const ProfileKey key = profile_key(runtime);
    on_first([&] { store_profile(profile_file(settings, key), to_text(key, tables_of(0.5))); });
    const bool there = load_profile(runtime).has_value();
    CHECK(test::on_all_ranks(there));
    constexpr std::size_t of_file = 500; // less than the text of a profile
    if (test::world_rank() == 0) failing_bytes = of_file;
    const bool here = load_profile(runtime).has_value();
    CHECK(failing_bytes == 0); // it did fail
    CHECK(test::on_all_ranks(!here));
}

TEST_CASE("measurements of transfers end in time, but each is made once") {
    Runtime runtime;
    Window window{runtime, 1 << 16};
    test::world_barrier();
    if (test::world_rank() == 0) {
        std::vector<std::byte> memory(1 << 16);
        const auto cells = transfer_grid(memory.size());
        std::uint64_t bytes = 0;
        for (const TransferCell& cell : cells) bytes += cell.bytes * cell.operations;
        const auto moved = [&] {
            const StatisticsValues values = window.statistics();
            return values[Counter::direct_put_bytes] + values[Counter::rma_put_bytes] +
                   values[Counter::service_put_bytes];
        };
        const std::uint64_t before = moved();
        const auto samples = measure_transfers(window, Rank{1}, Direction::put, cells, memory, 0);
        CHECK(samples.size() == cells.size());
        const std::uint64_t bytes_moved = moved() - before;
        CHECK(bytes_moved <= bytes);
        CHECK(bytes_moved > 9 * bytes / 10); // the shortest of all are loads and stores, and not counted
        for (const TransferSample& sample : samples) CHECK(sample.seconds > 0);
    }
    window.close();
    runtime.close();
}
