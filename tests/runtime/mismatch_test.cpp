// Ranks that make different collective calls, or the same with different arguments.
#include "runtime/bad_input.hpp"
#include "runtime/captured_stderr.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <unistd.h>

namespace {

using lapwing::MismatchError;
using lapwing::Runtime;
using lapwing::UsageError;
using lapwing::Window;
using test::message_of;
using test::says;

constexpr const char* barrier_name = "Team::barrier";
constexpr const char* create_name = "the creation of a window";
constexpr const char* close_name = "the close of a window";
constexpr const char* create_lock_name = "the creation of a lock";

auto meets(const Runtime& runtime, const char* here, const char* there) {
    return says(
        {runtime.who(), std::string{here}, std::string{"another rank is in "} + there, "same collective calls"});
}

} // namespace

TEST_CASE("ranks that meet in different collective calls get an error that says so") {
    Runtime runtime;
    Window window{runtime, 80};
    if (runtime.size() == 1) return;
    const bool odd_one = runtime.rank().value == runtime.size() - 1;

    SECTION("a barrier and the creation of a window") {
        if (odd_one)
            CHECK_THAT(message_of<MismatchError>([&] { Window{runtime, 80}; }),
                       meets(runtime, create_name, barrier_name));
        else
            CHECK_THAT(message_of<MismatchError>([&] { runtime.barrier(); }),
                       meets(runtime, barrier_name, create_name));
    }
    SECTION("a split-phase barrier and the creation of a lock") {
        if (odd_one)
            CHECK_THAT(message_of<MismatchError>([&] { lapwing::Lock{runtime}; }),
                       meets(runtime, create_lock_name, barrier_name));
        else {
            runtime.notify(1);
            CHECK_THAT(message_of<MismatchError>([&] { runtime.wait(1); }),
                       meets(runtime, barrier_name, create_lock_name));
        }
    }
    SECTION("a barrier and the close of a window") {
        if (odd_one)
            CHECK_THAT(message_of<MismatchError>([&] { window.close(); }), meets(runtime, close_name, barrier_name));
        else
            CHECK_THAT(message_of<MismatchError>([&] { runtime.barrier(); }), meets(runtime, barrier_name, close_name));
        CHECK(!window.closed());
    }
    SECTION("a barrier and the close of the team") {
        Runtime second;
        if (odd_one)
            CHECK_THAT(message_of<MismatchError>([&] { second.close(); }), meets(runtime, "Team::close", barrier_name));
        else
            CHECK_THAT(message_of<MismatchError>([&] { second.barrier(); }),
                       meets(runtime, barrier_name, "Team::close"));
        CHECK(!second.closed());
        second.barrier(); // belongs together again
        second.close();
        CHECK(second.closed());
    }
    test::check_goes_on(runtime, window);
}

TEST_CASE("windows that are closed in different orders stay open, and the ranks are told") {
    Runtime runtime;
    if (runtime.size() == 1) return;
    Window first{runtime, 80};
    Window second{runtime, 80};
    Window& mine = runtime.rank() == lapwing::Rank{0} ? second : first;
    CHECK_THAT(message_of<MismatchError>([&] { mine.close(); }),
               says({runtime.who(), close_name, "in the same order on all ranks", "stays open"}));
    first.put(test::next(runtime), lapwing::Offset{0}, runtime.rank().value);
    second.put(test::next(runtime), lapwing::Offset{0}, runtime.rank().value);
    runtime.barrier();
    CHECK(first.local_as<int>()[0] == test::previous(runtime).value);
    CHECK(second.local_as<int>()[0] == test::previous(runtime).value);
    second.close();
    first.close();
}

TEST_CASE("a call that waits long says for whom, once") {
    if (test::world_size() == 1) return;
    const lapwing::Settings settings{{"LAPWING_WAIT_REPORT", "1"}};
    Runtime runtime{MPI_COMM_WORLD, settings};
    const std::string text = test::captured_stderr([&] {
        if (runtime.rank() == lapwing::Rank{0}) {
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{2500};
            while (std::chrono::steady_clock::now() < end) usleep(1000);
        }
        runtime.barrier();
    });
    if (runtime.rank() == lapwing::Rank{0}) {
        CHECK(text.empty());
    } else {
        CHECK_THAT(text, says({runtime.who(), barrier_name, "has waited 1 s for rank", "LAPWING_WAIT_REPORT"}));
        CHECK(text.find("has waited") == text.rfind("has waited"));
        if (runtime.size() == 2) CHECK_THAT(text, says({"for rank 0"}));
    }
}

TEST_CASE("barriers with different identities do not match") {
    Runtime runtime;
    Window window{runtime, 80};
    runtime.barrier(5);
    runtime.barrier(runtime.rank().value == 0 ? std::optional<std::int64_t>{5} : std::nullopt); // none matches any
    if (runtime.size() == 1) return;
    const std::int64_t own = 10 + runtime.rank().value;
    const auto differ =
        says({runtime.who(), "Team::barrier", std::to_string(own) + " here",
              "from 10 to " + std::to_string(9 + runtime.size()) + " over all ranks", "must meet in the same barrier"});
    for (int round = 0; round < 3; ++round) {
        CHECK_THAT(message_of<MismatchError>([&] { runtime.barrier(own); }), differ);
        runtime.notify(own);
        CHECK_THAT(message_of<MismatchError>([&] { runtime.wait(own); }), differ);
    }
    // A rank without identity also gets the error about the others' difference.
    if (runtime.size() > 2) {
        const auto mine = runtime.rank().value == 0 ? std::nullopt : std::optional<std::int64_t>{own};
        CHECK_THAT(message_of<MismatchError>([&] { runtime.barrier(mine); }),
                   says({runtime.who(), mine ? std::to_string(own) : "none", "from 11 to"}));
    }
    test::check_goes_on(runtime, window);
}

TEST_CASE("all ranks ask for the same number of notification counters") {
    Runtime runtime;
    Window window{runtime, 80};
    if (runtime.size() == 1) return;
    const unsigned counters = runtime.rank().value == 0 ? 4 : 5;
    CHECK_THAT(
        message_of<MismatchError>([&] { Window{runtime, 80, {.name = "counted", .notification_counters = counters}}; }),
        says({runtime.who(), "Window(\"counted\")",
              "rank 0 passes 4 notification counters, and rank 1 5 notification counters",
              "pass the same on all ranks"}));
    test::check_goes_on(runtime, window);
}

TEST_CASE("values that must be the same on all ranks are compared") {
    Runtime runtime;
    Window window{runtime, 80};
    const std::array<std::int64_t, 2> same{INT64_MIN, INT64_MAX};
    runtime.require_same(same, "make", "the extents");
    if (runtime.size() == 1) return;
    const std::array<std::int64_t, 2> mine{100, runtime.rank().value == 0 ? 7 : 8};
    CHECK_THAT(message_of<MismatchError>([&] { runtime.require_same(mine, "make", "the extents"); }),
               says({runtime.who(), "make", "rank 0 passes the extents 100 x 7, and rank 1 the extents 100 x 8",
                     "pass the same on all ranks"}));
    const std::span<const std::int64_t> part{mine.data(), runtime.rank().value == 0 ? 1U : 2U};
    CHECK_THAT(message_of<MismatchError>([&] { runtime.require_same(part, "make", "the extents"); }),
               says({"rank 0 passes the extents 100, and rank 1 the extents 100 x 8"}));
    test::check_goes_on(runtime, window);
}

TEST_CASE("two runtimes that are closed in different order on different ranks") {
    Runtime runtime;
    Window window{runtime, 80};
    if (runtime.size() == 1) return;
    for (int round = 0; round < 3; ++round) {
        Runtime first;
        Runtime second;
        // The rank that closes the older one first is stopped; the others' order is completed.
        if (runtime.rank().value == round % runtime.size()) {
            CHECK_THAT(message_of<UsageError>([&] { first.close(); }),
                       says({runtime.who(), "Team::close", "waits in the close of another team",
                             "same order on all ranks", "close that one now, then call close again"}));
            CHECK(!first.closed());
            second.close();
            first.close();
        } else {
            second.close();
            first.close();
        }
        CHECK(first.closed());
        CHECK(second.closed());
        test::check_goes_on(runtime, window);
    }
}

TEST_CASE("two runtimes of different ranks that are closed in different order") {
    Runtime runtime;
    Window window{runtime, 80};
    if (runtime.size() < 3) return;
    // Ranks 0 and 1 share both.
    MPI_Comm pair = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, runtime.rank().value < 2 ? 0 : MPI_UNDEFINED, 1 - runtime.rank().value, &pair);
    {
        Runtime all;
        if (pair != MPI_COMM_NULL) {
            Runtime two{pair};
            if (runtime.rank().value == 1) {
                CHECK_THAT(
                    message_of<UsageError>([&] { all.close(); }),
                    says({runtime.who(), "Team::close", "rank 0 of this team", "of 2 ranks", "close that one now"}));
            }
            two.close();
        }
        all.close();
    }
    if (pair != MPI_COMM_NULL) MPI_Comm_free(&pair);
    test::check_goes_on(runtime, window);
}

TEST_CASE("two runtimes that are destroyed in different order on different ranks") {
    Runtime runtime;
    Window window{runtime, 80};
    if (runtime.size() == 1) return;
    auto first = std::make_unique<Runtime>();
    auto second = std::make_unique<Runtime>();
    if (runtime.rank().value == 0) first.reset(); // says on standard error what close() would have thrown
    second.reset();
    first.reset();
    test::check_goes_on(runtime, window);
}
