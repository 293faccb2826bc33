// What is created is given back: thousands of windows, hundreds of teams, without growth.
#include "team/team_test.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <vector>

using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

namespace {

/// Resident memory of this process.
std::int64_t resident_bytes() {
    std::ifstream file{"/proc/self/statm"};
    std::int64_t total = 0;
    std::int64_t resident = 0;
    file >> total >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

/// Open descriptors of this process.
std::int64_t open_descriptors() {
    const std::filesystem::directory_iterator descriptors{"/proc/self/fd"};
    return std::distance(begin(descriptors), end(descriptors));
}

/// Runs `cycle` some times for caches to fill, then `cycles` times more, in four stretches. What is kept in each cycle
/// makes every stretch grow; an allocator or an MPI that takes a larger pool now and then makes one grow. So the
/// stretch that grew least must stay below what `bytes_each` kept in each cycle would give, on any rank, and no
/// descriptor may be left open in each cycle, nor in every tenth.
template <class Cycle>
void check_growth(int cycles, [[maybe_unused]] std::int64_t bytes_each, Cycle&& cycle) {
    constexpr int stretches = 4;
    const int length = cycles / stretches;
    for (int i = 0; i < length; ++i) cycle(i);
    const std::int64_t descriptors = open_descriptors();
    std::vector<std::int64_t> growth;
    for (int stretch = 0; stretch < stretches; ++stretch) {
        const std::int64_t before = resident_bytes();
        for (int i = 0; i < length; ++i) cycle(i);
        growth.push_back(resident_bytes() - before);
    }
    INFO("from " << descriptors << " to " << open_descriptors() << " open descriptors");
    CHECK(open_descriptors() < descriptors + cycles / 10);
    CAPTURE(growth, length);
#ifdef __SANITIZE_ADDRESS__
    // The sanitizer keeps what was freed, and looks for leaks itself when the process ends.
    SUCCEED();
#else
    CHECK(*std::min_element(begin(growth), end(growth)) < length * bytes_each);
#endif
}

} // namespace

TEST_CASE("two thousand windows, one after the other") {
    Runtime runtime;
    check_growth(1600, 1024, [&](int i) {
        Window window{runtime, 4096 + 64 * static_cast<std::uint64_t>(i % 5)};
        window.put(test::next(runtime), Offset{8}, i);
        if (i % 50 == 0) {
            runtime.barrier();
            CHECK(window.local_as<int>()[2] == i);
        }
    });
}

TEST_CASE("many windows at a time, closed in another order") {
    Runtime runtime;
    for (int round = 0; round < 3; ++round) {
        std::vector<Window> windows;
        windows.reserve(60);
        for (int i = 0; i < 60; ++i) windows.emplace_back(runtime, 1024);
        for (std::size_t i = 0; i < windows.size(); ++i)
            windows[i].put(test::next(runtime), Offset{0}, static_cast<int>(i));
        runtime.barrier();
        for (std::size_t i = 0; i < windows.size(); ++i) CHECK(windows[i].local_as<int>()[0] == static_cast<int>(i));
        runtime.barrier();
        for (std::size_t i = 0; i < windows.size(); ++i) windows[i * 7 % windows.size()].close();
    }
}

TEST_CASE("hundreds of runtimes on duplicated communicators, which are not used up") {
    // MPICH has some 2000 communicators, and a runtime makes several: they would be used up.
    check_growth(240, 24 * 1024, [](int i) {
        MPI_Comm duplicate = MPI_COMM_NULL;
        REQUIRE(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate) == MPI_SUCCESS);
        {
            Runtime runtime{duplicate};
            Window window{runtime, 64};
            lapwing::Lock lock{runtime};
            window.atomic<int>(Rank{0}, Offset{0}).fetch_add(1);
            runtime.barrier();
            if (i % 20 == 0) CHECK(window.get<int>(Rank{0}, Offset{0}) == runtime.size());
            if (i % 2 == 0) {
                lock.close();
                window.close();
                runtime.close();
            }
        }
        MPI_Comm_free(&duplicate);
    });
}
