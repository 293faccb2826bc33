// Teams without progress threads: only calls make progress; what a program may nevertheless do.
#include "src/team/team_state.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include <unistd.h>

namespace {

using lapwing::Lock;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

/// A message from rank 0 to rank 1.
constexpr int tag = 7;

} // namespace

TEST_CASE("calls that a program repeats until another rank has written serve that rank") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    Window window{runtime, 64};
    Lock lock{runtime, Rank{1}};
    constexpr Offset flag{0};
    constexpr Offset other{8};
    const Rank own = runtime.rank();
    const auto seen = [&] { return window.local_as<std::int64_t>()[0] != 0; };
    const std::vector<std::pair<const char*, std::function<bool()>>> polls{
        {"Window::load", [&] { return window.atomic<std::int64_t>(own, flag).load() != 0; }},
        {"Window::fetch_add", [&] { return window.atomic<std::int64_t>(own, flag).fetch_add(0) != 0; }},
        {"Window::compare_swap", [&] { return window.atomic<std::int64_t>(own, flag).compare_swap(1, 1) != 0; }},
        {"Window::acquire",
         [&] {
             window.acquire();
             return seen();
         }},
        {"Window::release",
         [&] {
             window.release();
             return seen();
         }},
        {"Window::fence",
         [&] {
             window.fence();
             return seen();
         }},
        {"Window::flush",
         [&] {
             window.flush();
             return seen();
         }},
        {"Window::flush(rank)",
         [&] {
             window.flush(own);
             return seen();
         }},
        {"Team::fence",
         [&] {
             runtime.fence();
             return seen();
         }},
        {"Team::acquire",
         [&] {
             runtime.acquire();
             return seen();
         }},
        {"Team::progress",
         [&] {
             (void)runtime.progress();
             return seen();
         }},
        {"Window::notified",
         [&] {
             (void)window.notified(0);
             return seen();
         }},
        {"Lock::try_lock",
         [&] {
             if (lock.try_lock()) lock.unlock();
             return seen();
         }},
    };
    for (const auto& [name, poll] : polls) {
        INFO(name);
        if (own == Rank{1}) window.atomic<std::int64_t>(own, flag).store(0);
        runtime.barrier();
        if (own == Rank{0}) {
            usleep(2000);
            window.put(Rank{1}, other, std::int64_t{3});
            window.release();
            window.atomic<std::int64_t>(Rank{1}, flag).store(1);
            window.flush();
        } else if (own == Rank{1}) {
            while (!poll()) {
            }
        }
        runtime.barrier();
    }
    lock.close();
    window.close();
}

TEST_CASE("after a barrier a rank may wait in MPI") {
    Runtime runtime;
    Window window{runtime, 64};
    for (int i = 0; i < 200; ++i) {
        runtime.barrier();
        if (i % 3 == 0) {
            runtime.notify();
            runtime.wait();
        }
        if (i % 5 == 0) test::world_barrier();
    }
    window.close();
}

TEST_CASE("a barrier that returns has handed its own token to MPI") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    lapwing::detail::messages::Engine& engine = runtime.state().engine();
    int word = 0;
    // With LAPWING_SERVICE_IN_FLIGHT=1 no request follows this one before it is acknowledged, by a rank that does not
    // serve now.
    if (runtime.rank() == Rank{0}) {
        REQUIRE(engine.try_wake(1));
        runtime.notify();
        MPI_Send(&word, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        runtime.wait();
        MPI_Recv(&word, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (runtime.rank() == Rank{1}) {
        MPI_Recv(&word, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        runtime.notify();
        usleep(20'000);
        runtime.wait();
        MPI_Send(&word, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    } else {
        runtime.barrier();
    }
}

TEST_CASE("a wait for a request of the program's own serves other ranks") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    Window window{runtime, 1U << 16};
    const std::vector<std::int64_t> values(4000, 5);
    for (const std::size_t count : {std::size_t{1}, values.size()}) {
        if (runtime.rank() == Rank{0}) {
            window.put(Rank{1}, Offset{0}, std::span<const std::int64_t>{values}.first(count));
            window.release();
            MPI_Send(values.data(), 1, MPI_INT64_T, 1, tag, MPI_COMM_WORLD);
        } else if (runtime.rank() == Rank{1}) {
            std::int64_t word = 0;
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status;
            MPI_Irecv(&word, 1, MPI_INT64_T, 0, tag, MPI_COMM_WORLD, &request);
            runtime.wait_request(request, &status);
            CHECK(request == MPI_REQUEST_NULL);
            CHECK(status.MPI_SOURCE == 0);
            window.acquire();
            CHECK(window.local_as<std::int64_t>()[count - 1] == 5);
        }
        runtime.barrier();
    }
    window.close();
}
