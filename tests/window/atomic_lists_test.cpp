// Atomics without a result, of every operation and type, and lists of atomics with results.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"
#include "window/oracle.hpp"

#include <lapwing/error.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace {

using lapwing::Atomic;
using lapwing::Completion;
using lapwing::Counter;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using test::same_bits;

constexpr std::array updates{Atomic::add, Atomic::min, Atomic::max, Atomic::bit_and, Atomic::bit_or, Atomic::bit_xor};

template <class T>
constexpr bool possible(Atomic operation) {
    const bool bits = operation == Atomic::bit_and || operation == Atomic::bit_or || operation == Atomic::bit_xor;
    return std::is_integral_v<T> || !bits;
}

/// Signed and unsigned, small and at the ends.
template <class T>
T random_value(std::minstd_rand& random) {
    if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(static_cast<int>(random() % 2001) - 1000) / T{8}; // sums are exact
    } else {
        const auto bits = static_cast<std::uint64_t>(random()) << 33 ^ static_cast<std::uint64_t>(random());
        return static_cast<T>(random() % 4 == 0 ? ~std::uint64_t{0} : bits);
    }
}

template <class T>
void update(Window& window, Atomic operation, Rank target, Offset offset, T operand) {
    const lapwing::AtomicReference<T> value = window.atomic<T>(target, offset);
    switch (operation) {
    case Atomic::add: return value.add(operand);
    case Atomic::min: return value.min(operand);
    case Atomic::max: return value.max(operand);
    default: break;
    }
    if constexpr (std::is_integral_v<T>) {
        if (operation == Atomic::bit_and) return value.bit_and(operand);
        if (operation == Atomic::bit_or) return value.bit_or(operand);
        if (operation == Atomic::bit_xor) return value.bit_xor(operand);
    }
}

} // namespace

TEMPLATE_TEST_CASE("updates without a result keep their order among the rank's operations on their bytes", "",
                   std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double) {
    using T = TestType;
    Runtime runtime;
    constexpr int places = 13;
    Window window{runtime, 1024};
    std::minstd_rand random{static_cast<unsigned>(17 + runtime.rank().value)};
    for (const Rank target : {runtime.rank(), test::next(runtime)}) {
        std::array<T, places> expected{};
        window.put(target, Offset{0}, expected);
        for (int step = 0; step < 600; ++step) {
            const Atomic operation = updates[random() % updates.size()];
            if (!possible<T>(operation)) continue;
            const auto place = static_cast<std::size_t>(random() % places);
            const T operand = random_value<T>(random);
            update(window, operation, target, Offset::of<T>(place), operand);
            expected[place] = test::after_atomic(operation, expected[place], operand);
            if (random() % 100 == 0) CHECK(same_bits(window.get<T>(target, Offset::of<T>(place)), expected[place]));
            if (random() % 100 == 0)
                CHECK(same_bits(window.atomic<T>(target, Offset::of<T>(place)).fetch_add(T{0}), expected[place]));
        }
        window.flush(target);
        CHECK(window.get<std::array<T, places>>(target, Offset{0}) == expected);
        runtime.barrier();
    }
}

TEMPLATE_TEST_CASE("updates without a result by all ranks are all there after a barrier", "", std::int32_t,
                   std::uint64_t) {
    using T = TestType;
    Runtime runtime;
    Window window{runtime, 1024};
    const auto own = static_cast<std::uint64_t>(runtime.rank().value);
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    for (int round = 0; round < 3; ++round) {
        window.local_as<T>()[0] = 0; // xor of every rank's number, 101 times
        window.local_as<T>()[1] = 0; // or of a bit of each rank
        window.local_as<T>()[2] = static_cast<T>(-1);
        window.local_as<T>()[3] = 500; // minimum, maximum
        window.local_as<T>()[4] = 500;
        window.local_as<T>()[5] = 0;
        const std::uint64_t before = window.statistics()[Counter::atomic_add_messages];
        runtime.barrier();
        for (std::uint64_t i = 0; i < ranks; ++i) {
            const Rank target{(own + i) % ranks};
            for (int time = 0; time < 101; ++time)
                window.atomic<T>(target, Offset::of<T>(0)).bit_xor(static_cast<T>(own + 7));
            window.atomic<T>(target, Offset::of<T>(1)).bit_or(static_cast<T>(T{1} << own));
            window.atomic<T>(target, Offset::of<T>(2)).bit_and(static_cast<T>(~(T{1} << own)));
            window.atomic<T>(target, Offset::of<T>(3)).min(static_cast<T>(100 + own));
            window.atomic<T>(target, Offset::of<T>(4)).max(static_cast<T>(1000 + own));
            window.atomic<T>(target, Offset::of<T>(5)).add(T{1});
        }
        runtime.barrier();
        // One of each kind.
        CHECK(window.statistics()[Counter::atomic_add_messages] - before <= 6 * ranks);
        T all = 0;
        T every_bit = 0;
        for (std::uint64_t rank = 0; rank < ranks; ++rank) {
            all = static_cast<T>(all ^ static_cast<T>(rank + 7));
            every_bit = static_cast<T>(every_bit | T{1} << rank);
        }
        CHECK(window.local_as<T>()[0] == all);
        CHECK(window.local_as<T>()[1] == every_bit);
        CHECK(window.local_as<T>()[2] == static_cast<T>(~every_bit));
        CHECK(window.local_as<T>()[3] == 100);
        CHECK(window.local_as<T>()[4] == static_cast<T>(1000 + ranks - 1));
        CHECK(window.local_as<T>()[5] == static_cast<T>(ranks));
        runtime.barrier();
    }
}

TEMPLATE_TEST_CASE("a list of atomics returns what each found, in its order", "", std::int32_t, std::uint32_t,
                   std::int64_t, std::uint64_t, float, double) {
    using T = TestType;
    Runtime runtime;
    constexpr std::size_t places = 40;
    Window window{runtime, places * 8};
    std::minstd_rand random{static_cast<unsigned>(29 + runtime.rank().value)};
    for (const Rank target : {runtime.rank(), test::next(runtime)}) {
        std::vector<T> expected(places, T{3});
        window.put(target, Offset{0}, expected);
        for (const Atomic operation : {Atomic::add, Atomic::min, Atomic::max, Atomic::bit_and, Atomic::bit_or,
                                       Atomic::bit_xor, Atomic::replace, Atomic::read}) {
            if (!possible<T>(operation)) continue;
            // More than a message holds, with places that come again and again.
            std::vector<Offset> offsets;
            std::vector<T> operands;
            std::vector<T> found;
            for (int k = 0; k < 1100; ++k) {
                const std::size_t place = random() % places;
                offsets.push_back(Offset::of<T>(place));
                operands.push_back(random_value<T>(random));
                found.push_back(expected[place]);
                expected[place] = test::after_atomic(operation, expected[place], operands.back());
            }
            std::vector<T> before(offsets.size());
            window.fetch(operation, target, offsets, operands, before);
            INFO("operation " << static_cast<int>(operation));
            CHECK(before == found);
            std::vector<T> left(places);
            window.get(target, Offset{0}, left);
            CHECK(left == expected);
        }
        // One operand for all, and several lists under way, waited for in another order.
        std::vector<Offset> offsets;
        for (std::size_t k = 0; k < places; ++k) offsets.push_back(Offset::of<T>(k));
        std::vector<T> zeros(places, T{0});
        window.put(target, Offset{0}, zeros);
        std::array<std::vector<T>, 3> before;
        std::array<Completion, 3> lists;
        for (std::size_t i = 0; i < lists.size(); ++i) {
            before[i].assign(places, T{99});
            lists[i] = window.start_fetch(Atomic::add, target, offsets, 2, before[i]);
        }
        for (std::size_t i = lists.size(); i-- > 0;) {
            while (!lists[i].test()) runtime.progress();
            CHECK(before[i] == std::vector<T>(places, static_cast<T>(2 * i)));
        }
        // Claims: the even ones are free.
        for (std::size_t k = 1; k < places; k += 2) zeros[k] = T{7};
        window.put(target, Offset{0}, zeros);
        std::vector<T> seen(places);
        std::vector<T> wanted(places);
        for (std::size_t k = 0; k < places; ++k) wanted[k] = static_cast<T>(100 + k);
        window.compare_swap(target, offsets, T{0}, wanted, seen);
        CHECK(seen == zeros);
        for (std::size_t k = 0; k < places; k += 2) zeros[k] = wanted[k];
        std::vector<T> left(places);
        window.get(target, Offset{0}, left);
        CHECK(left == zeros);
        runtime.barrier();
    }
}

TEST_CASE("lists of atomics travel hundreds in a message, and exclude each other with single ones") {
    Runtime runtime;
    constexpr int times = 5;
    constexpr std::size_t count = 400;
    Window window{runtime, 64};
    const Rank home{0};
    const std::vector<Offset> offsets(count, Offset{8});
    std::vector<std::int64_t> before(count);
    runtime.barrier();
    const std::uint64_t messages = runtime.statistics()[Counter::messages_sent];
    std::int64_t last = -1;
    for (int time = 0; time < times; ++time) {
        window.fetch(Atomic::add, home, offsets, 1, before);
        for (const std::int64_t value : before) {
            CHECK(value > last);
            last = value;
        }
        last = window.atomic<std::int64_t>(home, Offset{8}).fetch_add(1);
    }
    // One, and what keeps the other end awake.
    if (runtime.rank() != home && window.reachable(home).empty())
        CHECK(runtime.statistics()[Counter::messages_sent] - messages <= 10 * times);
    runtime.barrier();
    CHECK(window.get<std::int64_t>(home, Offset{8}) == times * (static_cast<std::int64_t>(count) + 1) * runtime.size());
    runtime.barrier();
}

TEST_CASE("wrong lists of atomics are refused before anything happens") {
    Runtime runtime;
    Window window{runtime, 64, {.name = "few"}};
    const Rank target = test::next(runtime);
    std::vector<std::int64_t> before(2);
    const std::vector<Offset> two{Offset{0}, Offset{8}};
    const auto refused = [&](auto call, std::vector<std::string> parts) {
        parts.insert(parts.begin(), {runtime.who(), "Window(\"few\").fetch"});
        CHECK_THAT(test::message_of<lapwing::RangeError>(call), test::says(std::move(parts)));
    };
    refused([&] { window.fetch(Atomic::add, target, std::vector{Offset{0}}, 1, before); }, {"1 offsets", "2 results"});
    refused([&] { window.fetch(Atomic::add, target, two, std::vector<std::int64_t>(3), before); }, {"3 operands"});
    refused([&] { window.fetch(Atomic::add, target, std::vector{Offset{0}, Offset{64}}, 1, before); },
            {"offset 64", "64 bytes"});
    refused([&] { window.fetch(Atomic::add, target, std::vector{Offset{0}, Offset{4}}, 1, before); },
            {"offset 4", "multiple of the 8"});
    refused([&] { window.fetch(Atomic::add, Rank{-1}, two, 1, before); }, {"rank -1"});
    std::vector<double> numbers(2);
    CHECK_THAT(test::message_of<lapwing::UsageError>([&] { window.fetch(Atomic::bit_or, target, two, 1.0, numbers); }),
               test::says({"bit_or", "integers"}));
    runtime.barrier();
    CHECK(window.local_as<std::int64_t>()[0] == 0);
    window.fetch(Atomic::add, target, {}, 1, std::span<std::int64_t>{});
    runtime.barrier();
}
