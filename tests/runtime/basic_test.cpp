#include <lapwing/error.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <mutex>
#include <numeric>
#include <vector>

using lapwing::Offset;
using lapwing::Rank;

namespace {

Rank next(const lapwing::Team& team) { return Rank{(team.rank().value + 1) % team.size()}; }

} // namespace

TEST_CASE("a get returns what its owner wrote, within a packet and in bulk") {
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, 1U << 20, {.name = "numbers"}};
    const auto own = window.local_as<std::int64_t>();
    std::iota(own.begin(), own.end(), 1'000'000 * std::int64_t{runtime.rank().value});
    runtime.barrier();
    const std::int64_t first = 1'000'000 * std::int64_t{next(runtime).value};
    for (std::uint64_t i = 0; i < 50; ++i)
        REQUIRE(window.get<std::int64_t>(next(runtime), Offset::of<std::int64_t>(i)) ==
                first + static_cast<std::int64_t>(i));
    std::vector<std::int64_t> all(own.size());
    window.get(next(runtime), Offset{0}, std::span<std::int64_t>{all});
    for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == first + static_cast<std::int64_t>(i));
    runtime.barrier();
}

TEST_CASE("own puts are seen by own later gets, and by the owner after a barrier") {
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, 1U << 18};
    for (std::int64_t i = 0; i < 200; ++i)
        window.put(next(runtime), Offset::of<std::int64_t>(static_cast<std::uint64_t>(i)), -i);
    const std::vector<std::int64_t> many(4000, 7);
    window.put(next(runtime), Offset::of<std::int64_t>(100), std::span<const std::int64_t>{many});
    REQUIRE(window.get<std::int64_t>(next(runtime), Offset::of<std::int64_t>(99)) == -99);
    REQUIRE(window.get<std::int64_t>(next(runtime), Offset::of<std::int64_t>(150)) == 7);
    runtime.barrier();
    REQUIRE(window.local_as<std::int64_t>()[99] == -99);
    REQUIRE(window.local_as<std::int64_t>()[4099] == 7);
    REQUIRE(window.local_as<std::int64_t>()[4100] == 0);
    runtime.barrier();
}

TEST_CASE("atomics and locks lose no update") {
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, 64};
    for (int i = 0; i < 200; ++i) window.atomic<std::int64_t>(Rank{0}, Offset{0}).fetch_add(1);
    lapwing::Lock lock{runtime};
    for (int i = 0; i < 30; ++i) {
        const std::lock_guard guard{lock};
        window.put(Rank{0}, Offset{8}, window.get<std::int64_t>(Rank{0}, Offset{8}) + 1);
    }
    REQUIRE_THROWS_AS(lock.unlock(), lapwing::UsageError);
    runtime.barrier();
    REQUIRE(window.get<std::int64_t>(Rank{0}, Offset{0}) == 200 * runtime.size());
    REQUIRE(window.get<std::int64_t>(Rank{0}, Offset{8}) == 30 * runtime.size());
    runtime.barrier();
}

TEST_CASE("a notified put shows its bytes with its counter, and keeps program order") {
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, 1U << 16};
    for (const std::size_t count : {std::size_t{1}, std::size_t{2000}}) {
        const std::vector<std::int64_t> values(count, static_cast<std::int64_t>(count));
        window.put_notify(next(runtime), Offset{0}, std::span<const std::int64_t>{values}, 3);
        REQUIRE(window.get<std::int64_t>(next(runtime), Offset{0}) == static_cast<std::int64_t>(count));
        window.wait_notified(3);
        REQUIRE(window.local_as<std::int64_t>()[count - 1] == static_cast<std::int64_t>(count));
        runtime.barrier();
    }
}

TEST_CASE("errors name the values and leave the program able to go on") {
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, 80, {.name = "small"}};
    REQUIRE_THROWS_WITH(window.get<double>(Rank{0}, Offset{76}),
                        Catch::Contains("small") && Catch::Contains("76") && Catch::Contains("80 bytes"));
    REQUIRE_THROWS_AS(window.put(Rank{runtime.size()}, Offset{0}, 1.0), lapwing::RangeError);
    REQUIRE_THROWS_AS(window.atomic<std::int64_t>(Rank{0}, Offset{4}).fetch_add(1), lapwing::RangeError);
    REQUIRE_THROWS_AS(lapwing::Settings({{"LAPWING_PATH", "telegraph"}}), lapwing::SettingError);
    REQUIRE_THROWS_WITH(lapwing::Settings({{"LAPWING_PAHT", "auto"}}), Catch::Contains("LAPWING_PATH"));
    REQUIRE_THROWS_AS(runtime.wait(), lapwing::UsageError);
    runtime.barrier(5);
    if (runtime.size() > 1) REQUIRE_THROWS_AS(runtime.barrier(runtime.rank().value), lapwing::MismatchError);
    window.close();
    REQUIRE_THROWS_AS(window.get<double>(Rank{0}, Offset{0}), lapwing::UsageError);
}
