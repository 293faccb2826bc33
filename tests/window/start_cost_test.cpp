// Whether small transfers go by MPI or as messages: by the cost of the starts that were measured last.
#include "window/start_cost.hpp"

#include <catch2/catch.hpp>

#include <chrono>

using lapwing::window::StartCost;

namespace {

/// Starts until enough have been measured, the first `slow` of them slow ones.
void measure(StartCost& cost, int slow) {
    int starts = 0;
    for (; cost.due() && starts < 1000; ++starts)
        cost.add(starts < slow ? std::chrono::microseconds{20} : std::chrono::nanoseconds{100});
    REQUIRE(starts < 1000);
}

} // namespace

TEST_CASE("starts by MPI that cost a system call each are left for messages") {
    StartCost cost;
    CHECK(cost.due());
    CHECK_FALSE(cost.messages_are_cheaper());
    measure(cost, 1000);
    CHECK(cost.messages_are_cheaper());
}

TEST_CASE("cheap starts stay with MPI, and those that are slow as MPI connects change nothing") {
    StartCost cost;
    measure(cost, 8);
    CHECK_FALSE(cost.messages_are_cheaper());
}

TEST_CASE("the cost is measured again after some thousand transfers") {
    StartCost cost;
    measure(cost, 1000);
    int transfers = 0;
    for (; !cost.due() && transfers < 100'000; ++transfers) cost.count();
    CHECK(transfers >= 1000);
    REQUIRE(cost.due());
    CHECK_FALSE(cost.messages_are_cheaper()); // those that are measured are MPI's
    measure(cost, 0);
    CHECK_FALSE(cost.messages_are_cheaper());
}

TEST_CASE("what is assumed is not measured") {
    StartCost cost;
    cost.assume_messages();
    for (int i = 0; i < 100'000; ++i) cost.count();
    CHECK_FALSE(cost.due());
    CHECK(cost.messages_are_cheaper());
}
