// Distances of reuse, compared with an exact count.
#include "src/trace/reuse.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <list>
#include <random>

using namespace lapwing::detail::trace;

namespace {

/// Hits of a cache that replaces the page used longest ago.
class ExactCache {
public:
    explicit ExactCache(std::size_t pages) : pages_{pages} {}
    bool access(std::uint64_t page) {
        const auto found = std::ranges::find(order_, page);
        const bool hit = found != order_.end();
        if (hit) order_.erase(found);
        order_.push_front(page);
        if (order_.size() > pages_) order_.pop_back();
        return hit;
    }

private:
    std::size_t pages_;
    std::list<std::uint64_t> order_;
};

} // namespace

TEST_CASE("distances of reuse give the hits of caches of any size") {
    ReuseSample sample;
    ReuseCounts counts;
    ExactCache small{8};
    ExactCache large{64};
    std::uint64_t small_hits = 0;
    std::uint64_t large_hits = 0;
    std::mt19937 random{7};
    constexpr std::uint64_t accesses = 20000;
    for (std::uint64_t k = 0; k < accesses; ++k) {
        const std::uint64_t page = random() % 4 == 0 ? random() % 200 : k / 50 % 30; // some anywhere, most near
        small_hits += small.access(page) ? 1 : 0;
        large_hits += large.access(page) ? 1 : 0;
        add(counts, sample.touch(1, page, false), false);
    }
    CHECK(counts.total() == accesses);
    CHECK(counts.cold == 200);
    CHECK(counts.hits(8) == Approx(static_cast<double>(small_hits)).epsilon(0.02));
    CHECK(counts.hits(64) == Approx(static_cast<double>(large_hits)).epsilon(0.02));
    CHECK(counts.hits(1 << 20) == Approx(static_cast<double>(accesses - 200)));
}

TEST_CASE("of many pages a sample is examined, and represents all") {
    ReuseSample sample;
    ReuseCounts counts;
    constexpr std::uint64_t pages = 100'000;
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t page = 0; page < pages; ++page) add(counts, sample.touch(1, page, page != 0), false);
    // The first half of the sample was taken at a higher rate than the rest, hence roughly.
    CHECK(static_cast<double>(counts.cold) == Approx(pages).epsilon(0.25));
    const double hits = counts.hits(UINT64_MAX >> 1);
    CHECK(hits == Approx(pages).epsilon(0.25));
    CHECK(counts.hits(1000) == 0); // every page comes again after all others
    CHECK(static_cast<double>(counts.sequential) == Approx(static_cast<double>(counts.cold)).epsilon(0.01));
}

TEST_CASE("a sequence point empties what caches hold") {
    ReuseSample sample;
    ReuseCounts within;
    ReuseCounts over;
    for (int round = 0; round < 3; ++round) {
        for (int k = 0; k < 10; ++k) {
            const auto distance = sample.touch(1, 5, false);
            add(within, distance, true);
            add(over, distance, false);
        }
        sample.sequence_point();
    }
    CHECK(within.cold == 3);
    CHECK(within.at[0] == 27);
    CHECK(over.cold == 1);
    CHECK(over.at[0] == 29);
}
