// A watch over a call that may not return: no MPI.
#include "src/mpi/watch.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <chrono>
#include <thread>

using lapwing::detail::mpi::Watch;
using namespace std::chrono_literals;

TEST_CASE("a watch reports once what takes longer, and nothing else") {
    std::atomic<int> reports{0};
    const auto report = [&] { reports.fetch_add(1); };
    {
        const Watch watch{5ms, report};
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (reports.load() == 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
        std::this_thread::sleep_for(20ms);
    }
    CHECK(reports.load() == 1);
    const auto begin = std::chrono::steady_clock::now();
    {
        const Watch watch{1h, report};
    }
    CHECK(std::chrono::steady_clock::now() - begin < 60s);
    CHECK(reports.load() == 1);
}
