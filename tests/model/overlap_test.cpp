// How much of a transfer overlaps with a computation, for simulated transfers: clocks, and calls that keep the
// processor.
#include "model/measure_transfers.hpp"

#include "support/catch.hpp"

#include <chrono>

using namespace lapwing::detail::model;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

void spin_until(Clock::time_point end) {
    while (Clock::now() < end) {
    }
}
void spin_for(microseconds time) { spin_until(Clock::now() + time); }

constexpr std::size_t count = 24;

} // namespace

TEST_CASE("a transfer that needs no processor is hidden whole, though some of its calls take long") {
    Clock::time_point end;
    int calls = 0;
    const double overlap = measure_overlap(
        [&] {
            end = Clock::now() + microseconds{500};
            spin_for(++calls % 7 == 3 ? microseconds{700} : microseconds{50});
        },
        [&] { spin_until(end); }, count, 0);
    CHECK(overlap > 0.8);
}

TEST_CASE("a transfer that goes on only while it is waited for is not hidden") {
    const double overlap =
        measure_overlap([] { spin_for(microseconds{50}); }, [] { spin_for(microseconds{450}); }, count, 0);
    CHECK(overlap < 0.2);
}

TEST_CASE("a transfer that the call does itself leaves nothing to hide") {
    CHECK(measure_overlap([] { spin_for(microseconds{500}); }, [] { spin_for(microseconds{5}); }, count, 0) == 0);
}
