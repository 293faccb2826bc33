// When the progress thread keeps its processor, gives way to the threads that share it, and sleeps.
#include "src/messages/polling_policy.hpp"

#include "support/catch.hpp"

#include <chrono>

using namespace lapwing::detail::messages;
using lapwing::detail::support::ProcessorShare;
using Next = PollingPolicy::Next;
using namespace std::chrono_literals;

namespace {

/// A policy beside a computation, and the time.
class Thread {
public:
    explicit Thread(ProcessorShare share) : policy_{{}, share, now_} {}

    /// A round that takes a microsecond.
    Next round(const ProgressRound& found, const ComputationWaits& waits = {}) {
        now_ += 1us;
        return policy_.after(found, waits, now_);
    }
    /// Of so many rounds with the same outcome, those after which the thread gives way.
    int yields(int rounds, const ProgressRound& found) {
        int sum = 0;
        for (int k = 0; k < rounds; ++k) sum += round(found) == Next::yield ? 1 : 0;
        return sum;
    }
    void pass(std::chrono::microseconds time) { now_ += time; }

private:
    PollingPolicy::Clock::time_point now_{1h};
    PollingPolicy policy_;
};

constexpr ProgressRound moved{.moved = true};
constexpr ProgressRound expecting{.awake = true};
constexpr ProgressRound fruitless{};

} // namespace

TEST_CASE("On a shared processor the thread gives way soon after the last thing that moved") {
    Thread thread{ProcessorShare::shared};
    CHECK(thread.round(moved) == Next::round);
    CHECK(thread.round(fruitless) == Next::spin); // the next request of a stream is on its way
    CHECK(thread.yields(100, fruitless) > 90);
}

TEST_CASE("What is merely expected is no reason to keep a shared processor") {
    // Such as a send that is held up because its thread has just lost this processor to the progress thread.
    Thread thread{ProcessorShare::shared};
    CHECK(thread.yields(100, expecting) > 90);
    CHECK(thread.round(moved) == Next::round);
    CHECK(thread.yields(100, expecting) > 90);
}

TEST_CASE("On a processor of its own the thread hardly ever gives way") {
    Thread thread{ProcessorShare::ample};
    CHECK(thread.round(moved) == Next::round);
    const int yields = thread.yields(128, expecting);
    CHECK(yields > 0);
    CHECK(yields <= 4);
}

TEST_CASE("Beside a thread that drives other teams it sleeps, unless something moved that this one should have taken") {
    for (const ProcessorShare share : {ProcessorShare::ample, ProcessorShare::shared, ProcessorShare::crowded}) {
        Thread thread{share};
        const ComputationWaits waits{.begun = 1, .driving = true};
        CHECK(thread.round({.attended = true}, waits) == Next::sleep);
        CHECK(thread.round(moved, waits) == Next::round);
        CHECK(thread.round({.attended = true}, waits) == Next::sleep);
    }
}

TEST_CASE("The thread sleeps when nothing has moved for a while, and where a computation thread drives progress") {
    for (const ProcessorShare share : {ProcessorShare::ample, ProcessorShare::shared, ProcessorShare::crowded}) {
        Thread thread{share};
        CHECK(thread.round(moved) == Next::round);
        CHECK(thread.round({.awake = true, .attended = true}, {.begun = 1, .driving = true}) == Next::sleep);
        CHECK(thread.round(fruitless) != Next::sleep);
        thread.pass(1ms); // the default is to poll for 0.2 ms
        CHECK(thread.round(fruitless) == Next::sleep);
    }
}
