// Atomics: each type, operation and memory order, and what contention must not lose.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"
#include "window/oracle.hpp"

#include <lapwing/atomic_reference.hpp>
#include <lapwing/error.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/located_value.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using Operation = lapwing::detail::mpi::AtomicOperation;
using test::same_bits;

constexpr std::array orders{std::memory_order_relaxed, std::memory_order_acquire, std::memory_order_release,
                            std::memory_order_acq_rel, std::memory_order_seq_cst};
constexpr std::array operations{Operation::add,  Operation::min,     Operation::max,    Operation::replace,
                                Operation::read, Operation::bit_and, Operation::bit_or, Operation::bit_xor};

/// Values at the ends of what T holds, where signed and unsigned differ.
template <class T>
std::vector<T> values() {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>)
        return {
            T{0}, -T{0}, T{1.5}, T{-2.25}, Limits::max(), Limits::lowest(), Limits::infinity(), Limits::denorm_min()};
    else
        return {T{0},
                T{1},
                static_cast<T>(-1),
                Limits::max(),
                Limits::min(),
                static_cast<T>(Limits::max() - 1),
                static_cast<T>(Limits::max() / 2 + 1),
                static_cast<T>(Limits::min() + 1),
                T{0x5A5A5A5A}};
}

} // namespace

TEST_CASE("a reference for atomics outlives its window's close, and says so") {
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, 64};
    const lapwing::AtomicReference<int> reference = window.atomic<int>(runtime.rank(), Offset{0});
    CHECK(reference.fetch_add(3) == 0);
    CHECK(reference.load() == 3);
    window.close();
    CHECK_THROWS_AS(reference.load(), lapwing::UsageError);
    CHECK_THROWS_AS(reference.add(1), lapwing::UsageError);
}

TEMPLATE_TEST_CASE("every operation returns the value from before and leaves the right one", "", std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t, float, double) {
    using T = TestType;
    Runtime runtime;
    Window window{runtime, 256};
    // Each rank has a place of its own at the target, one before the end of a cache line.
    const Offset place{56 + 64 * static_cast<std::uint64_t>(runtime.rank().value % 3)};
    for (const Rank target : {runtime.rank(), test::next(runtime)}) {
        std::size_t order = 0;
        for (const Operation operation : operations) {
            const bool bits =
                operation == Operation::bit_and || operation == Operation::bit_or || operation == Operation::bit_xor;
            if (std::is_floating_point_v<T> && bits) continue;
            for (const T before : values<T>())
                for (const T operand : values<T>()) {
                    const T after = test::after_atomic(operation, before, operand);
                    // Which of two zeros is the smaller nobody says.
                    if (std::is_floating_point_v<T> && before == 0 && operand == 0) continue;
                    window.put(target, place, before);
                    const T seen =
                        test::call_atomic(operation, window, target, place, operand, orders[order++ % orders.size()]);
                    const T left = window.get<T>(target, place);
                    INFO("operation " << static_cast<int>(operation) << " of " << +before << " and " << +operand
                                      << ": saw " << +seen << ", left " << +left);
                    CHECK(same_bits(seen, before));
                    CHECK((same_bits(left, after) || (std::is_floating_point_v<T> && left != left && after != after)));
                }
        }
        runtime.barrier();
    }
}

TEMPLATE_TEST_CASE("compare_swap compares bit by bit", "", std::int32_t, std::uint32_t, std::int64_t, std::uint64_t,
                   float, double) {
    using T = TestType;
    Runtime runtime;
    Window window{runtime, 256};
    const Offset place{56 + 64 * static_cast<std::uint64_t>(runtime.rank().value % 3)};
    std::vector<T> all = values<T>();
    if constexpr (std::is_floating_point_v<T>) {
        all.push_back(std::numeric_limits<T>::quiet_NaN());
        all.push_back(-std::numeric_limits<T>::quiet_NaN());
    }
    for (const Rank target : {runtime.rank(), test::next(runtime)}) {
        std::size_t order = 0;
        for (const T before : all)
            for (const T expected : all) {
                const T desired = 42;
                window.put(target, place, before);
                const T seen =
                    window.atomic<T>(target, place).compare_swap(expected, desired, orders[order++ % orders.size()]);
                CHECK(same_bits(seen, before));
                // So -0.0 is not 0.0, and a NaN is equal to itself.
                CHECK(same_bits(window.get<T>(target, place), same_bits(before, expected) ? desired : before));
            }
        runtime.barrier();
    }
}

namespace {

enum class Colour : std::int16_t { red = -3, green = 5 };

/// Every operation of integers of 1 and 2 bytes by single calls.
template <class T>
T fetched(Window& window, Operation operation, Rank target, Offset place, T operand) {
    const lapwing::AtomicReference<T> value = window.atomic<T>(target, place);
    switch (operation) {
    case Operation::add: return value.fetch_add(operand);
    case Operation::min: return value.fetch_min(operand);
    case Operation::max: return value.fetch_max(operand);
    case Operation::replace: return value.exchange(operand);
    case Operation::read: return value.load();
    case Operation::bit_and: return value.fetch_and(operand);
    case Operation::bit_or: return value.fetch_or(operand);
    case Operation::bit_xor: return value.fetch_xor(operand);
    }
    return {};
}
template <class T>
T expected_of(Operation operation, T before, T operand) {
    switch (operation) {
    case Operation::add: return static_cast<T>(before + operand);
    case Operation::min: return std::min(before, operand);
    case Operation::max: return std::max(before, operand);
    case Operation::replace: return operand;
    case Operation::read: return before;
    case Operation::bit_and: return static_cast<T>(before & operand);
    case Operation::bit_or: return static_cast<T>(before | operand);
    case Operation::bit_xor: return static_cast<T>(before ^ operand);
    }
    return {};
}

} // namespace

TEMPLATE_TEST_CASE("integers of 1 and 2 bytes have atomics, which leave their neighbours as they are", "", std::int8_t,
                   std::uint8_t, std::int16_t, std::uint16_t) {
    using T = TestType;
    using Limits = std::numeric_limits<T>;
    Runtime runtime;
    // Every rank has 8 bytes at the target.
    Window window{runtime, 8 * static_cast<std::uint64_t>(runtime.size())};
    const std::uint64_t first = 8 * static_cast<std::uint64_t>(runtime.rank().value);
    const std::array values{T{0}, T{1}, static_cast<T>(-1), Limits::max(), Limits::min(), static_cast<T>(0x55)};
    for (const Rank target : {runtime.rank(), test::next(runtime)})
        for (std::uint64_t at = 0; at < 4; at += sizeof(T))
            for (const Operation operation : operations)
                for (const T before : values)
                    for (const T operand : {values[1], values[2], values[3], values[5]}) {
                        std::array<T, 8 / sizeof(T)> around;
                        around.fill(static_cast<T>(0x3C));
                        around[at / sizeof(T)] = before;
                        window.put(target, Offset{first}, around);
                        window.flush(target);
                        const T found = fetched(window, operation, target, Offset{first + at}, operand);
                        around[at / sizeof(T)] = expected_of(operation, before, operand);
                        const auto after = window.get<std::array<T, 8 / sizeof(T)>>(target, Offset{first});
                        if (found != before || after != around)
                            FAIL("operation " << static_cast<int>(operation) << " of " << +before << " and "
                                              << +operand);
                    }
    runtime.barrier();
    // Neighbours in one word, by all ranks.
    window.put(Rank{0}, Offset{0}, std::int64_t{0});
    runtime.barrier();
    constexpr int rounds = 25;
    for (int i = 0; i < rounds; ++i) {
        window.atomic<T>(Rank{0}, Offset{0}).fetch_add(T{1});
        window.atomic<T>(Rank{0}, Offset{sizeof(T)}).add(T{2});
    }
    runtime.barrier();
    CHECK(window.atomic<T>(Rank{0}, Offset{0}).load() == static_cast<T>(rounds * runtime.size()));
    CHECK(window.atomic<T>(Rank{0}, Offset{sizeof(T)}).load() == static_cast<T>(2 * rounds * runtime.size()));
    CHECK(window.atomic<T>(Rank{0}, Offset{2 * sizeof(T)}).load() == 0);
    runtime.barrier();
}

TEST_CASE("flags and enumerations are swapped, one of those that try gets it") {
    Runtime runtime;
    Window window{runtime, 16};
    std::int64_t won = window.atomic<bool>(Rank{0}, Offset{1}).compare_swap(false, true) ? 0 : 1;
    runtime.sum(std::span{&won, 1});
    CHECK(won == 1);
    CHECK(window.atomic<bool>(Rank{0}, Offset{1}).load());
    CHECK(window.atomic<bool>(Rank{0}, Offset{1}).fetch_or(true));
    runtime.barrier();
    won = window.atomic<Colour>(Rank{0}, Offset{2}).compare_swap(Colour{}, Colour::red) == Colour{} ? 1 : 0;
    runtime.sum(std::span{&won, 1});
    CHECK(won == 1);
    CHECK(window.atomic<Colour>(test::next(runtime), Offset{6}).exchange(Colour::green) == Colour{});
    CHECK(window.get<Colour>(test::next(runtime), Offset{6}) == Colour::green);
    enum class Wide : std::int64_t { none, some };
    CHECK(window.atomic<Wide>(test::next(runtime), Offset{8}).compare_swap(Wide::none, Wide::some) == Wide::none);
    window.atomic<Wide>(test::next(runtime), Offset{8}).store(Wide::none);
    CHECK(window.atomic<Wide>(test::next(runtime), Offset{8}).load() == Wide::none);
    runtime.barrier();
}

namespace {

/// A pointer with a counter, as lock-free programs have it.
struct Tagged {
    std::uint64_t place = 0;
    std::uint64_t tag = 0;
    friend bool operator==(const Tagged&, const Tagged&) = default;
};
struct Half {
    std::int16_t first = 0;
    std::int16_t second = 0;
    friend bool operator==(const Half&, const Half&) = default;
    friend Half operator+(Half one, Half other) {
        return {static_cast<std::int16_t>(one.first + other.first),
                static_cast<std::int16_t>(one.second + other.second)};
    }
};

/// A value whose bytes all count.
template <class T>
T value_of(int number) {
    if constexpr (std::is_same_v<T, Tagged>) return {static_cast<std::uint64_t>(number), ~std::uint64_t{0} - 7};
    else if constexpr (std::is_same_v<T, Half>) return {static_cast<std::int16_t>(number), -3};
    else return static_cast<T>(static_cast<float>(number));
}

} // namespace

TEMPLATE_TEST_CASE("values that travel as bits are read, swapped and compared", "", Tagged, Half, std::complex<float>,
                   std::complex<double>, long double) {
    using T = TestType;
    Runtime runtime;
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    Window window{runtime, (ranks + 1) * sizeof(T)};
    const Offset place{static_cast<std::uint64_t>(runtime.rank().value) * sizeof(T)};
    const Offset common{ranks * sizeof(T)};
    for (const Rank target : {runtime.rank(), test::next(runtime), Rank{0}}) {
        window.put(target, place, value_of<T>(1));
        CHECK(window.atomic<T>(target, place).load() == value_of<T>(1)); // comes after the put
        CHECK(window.atomic<T>(target, place).exchange(value_of<T>(2)) == value_of<T>(1));
        CHECK(window.atomic<T>(target, place).compare_swap(value_of<T>(1), value_of<T>(3)) == value_of<T>(2));
        CHECK(window.get<T>(target, place) == value_of<T>(2));
        CHECK(window.atomic<T>(target, place).compare_swap(value_of<T>(2), value_of<T>(3), std::memory_order_seq_cst) ==
              value_of<T>(2));
        CHECK(window.get<T>(target, place) == value_of<T>(3));
        window.atomic<T>(target, place).store(value_of<T>(4));
        CHECK(window.atomic<T>(target, place).load() == value_of<T>(4));
        runtime.barrier();
    }
    // One of those that try gets it.
    if (runtime.rank() == Rank{0}) window.put(Rank{0}, common, value_of<T>(0));
    runtime.barrier();
    std::int64_t won =
        window.atomic<T>(Rank{0}, common).compare_swap(value_of<T>(0), value_of<T>(9)) == value_of<T>(0) ? 1 : 0;
    runtime.sum(std::span{&won, 1});
    CHECK(won == 1);
    CHECK(window.atomic<T>(Rank{0}, common).load() == value_of<T>(9));
    runtime.barrier();
}

TEMPLATE_TEST_CASE("no update by a type's own operators is lost", "", Half, std::complex<float>, std::complex<double>,
                   long double) {
    using T = TestType;
    Runtime runtime;
    // Elements of complex numbers begin at multiples of 8 bytes only.
    Window window{runtime, 8 + 2 * sizeof(T)};
    const Offset place{sizeof(T) == 4 ? 4U : 8U};
    constexpr int rounds = 25;
    if (runtime.rank() == Rank{0}) window.put(Rank{0}, place, T{});
    runtime.barrier();
    const T one = [] {
        if constexpr (std::is_same_v<T, Half>) return Half{1, -1};
        else return static_cast<T>(1);
    }();
    T sum{};
    for (int i = 0; i < rounds; ++i) {
        (void)window.atomic<T>(Rank{0}, place).fetch_add(one);
        window.atomic<T>(Rank{0}, place).add(one);
    }
    for (int i = 0; i < 2 * rounds * runtime.size(); ++i) sum = sum + one;
    runtime.barrier();
    CHECK(window.atomic<T>(Rank{0}, place).load() == sum);
    if constexpr (std::is_same_v<T, long double>) {
        CHECK(window.atomic<T>(Rank{0}, place).fetch_max(T{-1}) == sum);
        CHECK(window.atomic<T>(Rank{0}, place).fetch_min(sum) == sum);
    }
    runtime.barrier();
    CHECK(window.atomic<T>(Rank{0}, place).load() == sum);
    runtime.barrier();
}

TEMPLATE_TEST_CASE("the minimum and maximum of numbers with their location", "", double, std::int64_t, std::uint64_t) {
    using Pair = lapwing::LocatedValue<TestType, 1>;
    Runtime runtime;
    const std::int64_t own = runtime.rank().value;
    const std::int64_t last = runtime.size() - 1;
    // 16 bytes at a multiple of 8 only; before and after it are others' bytes.
    Window window{runtime, 8 + 2 * sizeof(Pair) + 8};
    constexpr Offset least{8};
    constexpr Offset most{8 + sizeof(Pair)};
    const Rank home{runtime.size() - 1};
    const auto number = [](std::int64_t value) { return static_cast<TestType>(value); };
    if (runtime.rank() == home) {
        window.put(home, least, Pair{number(1000), {-1}});
        window.put(home, most, Pair{number(0), {-1}});
    }
    runtime.barrier();
    // Each rank has values that repeat on the others, and better ones than before, in any order.
    constexpr std::int64_t rounds = 20;
    for (std::int64_t i = rounds; i-- > 0;) {
        const Pair pair{number(500 + i), {100 * own + i}};
        if (i % 2 == 0) window.atomic<Pair>(home, least).min(pair);
        else (void)window.atomic<Pair>(home, least).fetch_min(pair);
        if (i % 2 == 0) (void)window.atomic<Pair>(home, most).fetch_max(pair, std::memory_order_acq_rel);
        else window.atomic<Pair>(home, most).max(pair);
    }
    runtime.barrier();
    // Of equal values the lowest index, which is that of rank 0.
    CHECK(window.atomic<Pair>(home, least).load() == Pair{number(500), {0}});
    CHECK(window.atomic<Pair>(home, most).load() == Pair{number(500 + rounds - 1), {rounds - 1}});
    CHECK(window.get<std::uint64_t>(home, Offset{0}) == 0);
    CHECK(window.get<std::uint64_t>(home, Offset{8 + 2 * sizeof(Pair)}) == 0);
    runtime.barrier();
    if (own == 0) {
        CHECK(window.atomic<Pair>(home, least).fetch_min(Pair{number(500), {1}}) == Pair{number(500), {0}});
        CHECK(window.atomic<Pair>(home, least).fetch_min(Pair{number(500), {-7}}) == Pair{number(500), {0}});
        CHECK(window.atomic<Pair>(home, least).fetch_max(Pair{number(500), {-8}}) == Pair{number(500), {-7}});
        CHECK(window.atomic<Pair>(home, least).fetch_max(Pair{number(499), {-9}}) == Pair{number(500), {-8}});
        CHECK(window.atomic<Pair>(home, least).fetch_max(Pair{number(501), {last}}) == Pair{number(500), {-8}});
        CHECK(window.get<Pair>(home, least) == Pair{number(501), {last}});
    }
    runtime.barrier();
    if constexpr (std::is_signed_v<TestType>) {
        if (own == 0)
            CHECK(window.atomic<Pair>(home, least).fetch_min(Pair{number(-3), {9}}) == Pair{number(501), {last}});
    } else if (own == 0) {
        const auto high = static_cast<TestType>(std::uint64_t{1} << 63);
        CHECK(window.atomic<Pair>(home, least).fetch_max(Pair{high, {9}}) == Pair{number(501), {last}});
        CHECK(window.atomic<Pair>(home, least).fetch_min(Pair{number(501), {9}}) == Pair{high, {9}});
    }
    runtime.barrier();
}

TEST_CASE("a NaN is neither the minimum nor the maximum with location") {
    using Pair = lapwing::LocatedValue<double, 1>;
    Runtime runtime;
    Window window{runtime, sizeof(Pair)};
    const Rank next = test::next(runtime);
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    window.atomic<Pair>(next, Offset{0}).store(Pair{2, {5}});
    CHECK(window.atomic<Pair>(next, Offset{0}).fetch_min(Pair{nan, {1}}) == Pair{2, {5}});
    CHECK(window.atomic<Pair>(next, Offset{0}).fetch_max(Pair{nan, {1}}) == Pair{2, {5}});
    CHECK(window.atomic<Pair>(next, Offset{0}).load() == Pair{2, {5}});
    window.atomic<Pair>(next, Offset{0}).store(Pair{-0.0, {5}});
    (void)window.atomic<Pair>(next, Offset{0}).fetch_max(Pair{0.0, {6}}); // as large, with a higher index
    CHECK(window.atomic<Pair>(next, Offset{0}).load().index[0] == 5);
    runtime.barrier();
}

TEST_CASE("an array's elements are minima with their location") {
    using Pair = lapwing::LocatedValue<double, 1>;
    Runtime runtime;
    lapwing::GlobalArray<Pair, 1> best{runtime, {2 * runtime.size()}, lapwing::Block{}};
    lapwing::GlobalArray<double, 1> values{runtime, {10 * runtime.size()}};
    for (auto [i] : values.local_domain()) values.local(i) = static_cast<double>((7 * i + 3) % 10);
    best.fill({std::numeric_limits<double>::infinity(), {0}});
    runtime.barrier();
    for (auto [i] : values.local_domain()) best(i % 2).atomic().min({values.local(i), {i}});
    runtime.barrier();
    CHECK(best(1).atomic().load() == values.min_location());
    CHECK(best(0).get() == Pair{1, {4}});
    CHECK(best(2 * runtime.size() - 1).atomic().fetch_max({1, {0}}).value > 1);
    runtime.barrier();
}

TEST_CASE("an atomic on 16 bytes that leaves the part says why") {
    Runtime runtime;
    Window window{runtime, 64};
    CHECK_THAT(test::message_of<lapwing::RangeError>(
                   [&] { (void)window.atomic<Tagged>(test::next(runtime), Offset{56}).load(); }),
               test::says({runtime.who(), "load", "56", "16 bytes", "64"}));
    CHECK_THROWS_AS(window.atomic<Tagged>(Rank{runtime.size()}, Offset{0}).exchange(Tagged{}), lapwing::RangeError);
    runtime.barrier();
}

TEST_CASE("small atomics that leave the part, or lie across it, say why") {
    Runtime runtime;
    Window window{runtime, 6};
    const Rank target = test::next(runtime);
    CHECK_THAT(
        test::message_of<lapwing::RangeError>(
            [&] { (void)window.atomic<std::int16_t>(target, Offset{4}).fetch_add(1); }),
        test::says({runtime.who(), "fetch_add", "2 bytes at offset 4", "part of 6 bytes", "multiple of 4 bytes"}));
    CHECK_THAT(test::message_of<lapwing::RangeError>(
                   [&] { (void)window.atomic<std::int16_t>(target, Offset{1}).compare_swap(1, 2); }),
               test::says({"compare_swap", "offset 1 is not a multiple of the 2 bytes"}));
    CHECK_THROWS_AS(window.atomic<bool>(Rank{runtime.size()}, Offset{0}).fetch_or(true), lapwing::RangeError);
    CHECK_THROWS_AS(window.atomic<bool>(target, Offset{-1}).fetch_or(true), lapwing::RangeError);
    (void)window.atomic<std::int16_t>(target, Offset{2}).fetch_add(1);
    runtime.barrier();
}

TEST_CASE("neighbours of an atomic value are not touched") {
    Runtime runtime;
    Window window{runtime, 64};
    std::ranges::fill(window.local(), std::byte{0x77});
    runtime.barrier();
    if (runtime.rank().value == 0) {
        const Rank target = test::next(runtime);
        window.atomic<int>(target, Offset{12}).fetch_add(1);
        window.atomic<int>(target, Offset{20}).compare_swap(0x77777777, 5);
        window.atomic<double>(target, Offset{32}).exchange(1.0);
        window.atomic<unsigned>(target, Offset{44}).fetch_min(1U);
    }
    runtime.barrier();
    if (runtime.rank() == Rank{1 % runtime.size()})
        for (const std::size_t i : {11U, 16U, 19U, 24U, 31U, 40U, 43U, 48U})
            CHECK(window.local()[i] == std::byte{0x77});
    runtime.barrier();
}

TEMPLATE_TEST_CASE("adds without a result are all there after a barrier, in few messages", "", std::int32_t,
                   std::uint64_t, float, double) {
    using T = TestType;
    Runtime runtime;
    constexpr std::uint64_t places = 100;
    constexpr std::uint64_t times = 3000;
    Window window{runtime, places * sizeof(T), {.name = "table"}};
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    const auto own = static_cast<std::uint64_t>(runtime.rank().value);
    std::uint64_t remote = 0;
    for (std::uint64_t i = 0; i < times; ++i) {
        const Rank target{static_cast<int>((i + own) % ranks)};
        window.atomic<T>(target, Offset::of<T>(i * 7 % places)).add(T{1});
        remote += window.reachable(target).empty() ? 1 : 0;
        // With a result, on the same values.
        if (i % 500 == 0) (void)window.atomic<T>(target, Offset::of<T>(i % places)).fetch_add(T{1});
    }
    runtime.barrier();
    T sum = 0;
    for (const T value : window.local_as<T>()) sum = static_cast<T>(sum + value);
    double total = static_cast<double>(sum);
    runtime.sum(std::span{&total, 1});
    constexpr std::uint64_t adds = times + times / 500; // of a rank
    CHECK(total == static_cast<double>(ranks * adds));
    const auto statistics = window.statistics();
    CHECK(statistics[lapwing::Counter::atomic_adds] == remote);
    CHECK(statistics[lapwing::Counter::atomic_add_messages] <= remote / 200 + 12 * ranks);
    runtime.barrier();
}

TEST_CASE("adds without a result to one rank do not wait for each other") {
    Runtime runtime;
    constexpr std::uint64_t places = 64;
    constexpr std::int64_t times = 20'000;
    Window window{runtime, places * 8 + 8, {.name = "table"}};
    const Rank target = test::next(runtime);
    if (window.reachable(target).empty()) {
        window.put(target, Offset{places * 8},
                   std::int64_t{7}); // under way, and of other bytes: nobody waits for it either
        const auto before = window.statistics();
        for (std::int64_t i = 0; i < times; ++i)
            window.atomic<std::int64_t>(target, Offset{static_cast<std::uint64_t>(i) % places * 8}).add(1);
        const auto after = window.statistics();
        CHECK(after[lapwing::Counter::atomic_add_messages] - before[lapwing::Counter::atomic_add_messages] > 30);
        CHECK(after[lapwing::Counter::conflicts] == before[lapwing::Counter::conflicts]);
        CHECK(after[lapwing::Counter::rma_flushes] == before[lapwing::Counter::rma_flushes]);
        CHECK(after[lapwing::Counter::service_flushes] == before[lapwing::Counter::service_flushes]);
        // But other accesses wait for the adds that were sent long before, as for those that are gathered still.
        CHECK(window.get<std::int64_t>(target, Offset{0}) == (times + places - 1) / places);
        window.release();
        CHECK(window.get<std::int64_t>(target, Offset{places * 8}) == 7);
    }
    runtime.barrier();
    if (window.reachable(test::previous(runtime)).empty())
        CHECK(window.local_as<std::int64_t>()[places - 1] == times / static_cast<std::int64_t>(places));
    runtime.barrier();
}

TEST_CASE("an add without a result keeps its place among the rank's operations on its bytes") {
    Runtime runtime;
    for (const lapwing::CacheMode mode : {lapwing::CacheMode::off, lapwing::CacheMode::epoch}) {
        Window window{runtime, 8192, {.name = "order", .cache = {.mode = mode}}};
        const Rank target = test::next(runtime); // nobody else uses its part
        const Offset place{128};
        std::vector<std::int64_t> many(1000);
        for (std::int64_t round = 1; round <= 5; ++round) {
            window.put(target, place, round);
            window.atomic<std::int64_t>(target, place).add(100);
            CHECK(window.get<std::int64_t>(target, place) == round + 100);
            window.atomic<std::int64_t>(target, place).add(1000);
            CHECK(window.atomic<std::int64_t>(target, place).fetch_add(1) == round + 1100);
            window.atomic<std::int64_t>(target, place).add(5);
            window.put(target, place, -round);
            CHECK(window.get<std::int64_t>(target, place) == -round);
            window.atomic<std::int64_t>(target, place).add(7);
            CHECK(window.atomic<std::int64_t>(target, place).compare_swap(7 - round, 0) == 7 - round);
            window.atomic<std::int64_t>(target, place).add(3);
            window.get(target, Offset{0}, std::span{many});
            CHECK(many[16] == 3);
            window.atomic<std::int64_t>(target, place).add(4);
            window.start_get(target, Offset{0}, std::span{many}).wait();
            CHECK(many[16] == 7);
            window.atomic<std::int64_t>(target, place).add(4);
            window.start_put(target, Offset{0}, std::span<const std::int64_t>{many}).wait();
            window.atomic<std::int64_t>(target, place).add(1);
            window.flush(target);
            CHECK(window.get<std::int64_t>(target, place) == 8);
        }
        runtime.barrier();
        CHECK(window.local_as<std::int64_t>()[16] == 8);
        window.close();
    }
}

TEST_CASE(
    "adds that were gathered for a rank that has left are reported by the next release, and those for others arrive") {
    try {
        Runtime runtime{MPI_COMM_WORLD, {{"LAPWING_HELD_WRITES", "0"}}}; // they wait for the release
        Window window{runtime, 64, {.name = "tally"}};
        Window behind{runtime, 64, {.name = "behind", .cache = {.mode = lapwing::CacheMode::epoch}}};
        // Not by MPI's windows: MPICH over UCX ends with an abort in MPI_Finalize when some are open that it has used.
        if (!test::agree(runtime, runtime.rank() == Rank{0} || window.path(Rank{0}) == lapwing::Path::service)) return;
        MPI_Comm stayed = MPI_COMM_NULL;
        const bool leaves = runtime.rank() == Rank{0};
        MPI_Comm_split(MPI_COMM_WORLD, leaves ? 1 : 0, 0, &stayed);
        if (!leaves)
            for (int i = 0; i < 3; ++i) window.atomic<std::int64_t>(Rank{0}, Offset{0}).add(1);
        test::world_barrier();
        if (leaves) {
            MPI_Comm_free(&stayed);
            throw std::logic_error{"an error of the program"};
        }
        // Until the news is here. The place is none of the adds, which stay.
        (void)test::message_of<lapwing::PeerLeftError>([&] {
            for (;;) (void)window.atomic<std::int64_t>(Rank{0}, Offset{8}).fetch_add(1);
        });
        const Rank other{runtime.rank().value % (runtime.size() - 1) + 1};
        for (int i = 0; i < 5; ++i) window.atomic<std::int64_t>(other, Offset{16}).add(1);
        behind.put(other, Offset{0}, std::int64_t{7}); // leaves with a release of its window
        CHECK_THAT(test::message_of<lapwing::PeerLeftError>([&] { runtime.release(); }),
                   test::says({runtime.who(), "Window(\"tally\")", "3 adds to rank 0", "left the team"}));
        window.release(); // reported once
        test::serving_barrier(runtime, stayed);
        window.acquire();
        CHECK(window.local_as<std::int64_t>()[2] == 5);
        CHECK(behind.local_as<std::int64_t>()[0] == 7);
        MPI_Comm_free(&stayed);
    } catch (const std::logic_error& error) {
        CHECK(std::string{error.what()} == "an error of the program");
    }
    test::world_barrier();
}

TEMPLATE_TEST_CASE("no update is lost under contention", "", std::int32_t, std::uint64_t, float, double) {
    using T = TestType;
    Runtime runtime;
    Window window{runtime, 64};
    constexpr int times = 150;
    for (int home = 0; home < runtime.size(); ++home) {
        std::array<T, 2> taken{};
        for (int i = 0; i < times; ++i) {
            const Rank target{home};
            switch ((i + runtime.rank().value) % 3) {
            case 0: window.atomic<T>(target, Offset{0}).fetch_add(T{1}); break;
            case 1: { // the same by compare_swap
                T before = window.atomic<T>(target, Offset{0}).load();
                for (;;) {
                    const T seen = window.atomic<T>(target, Offset{0}).compare_swap(before, static_cast<T>(before + 1));
                    if (same_bits(seen, before)) break;
                    before = seen;
                }
                break;
            }
            default: // takes all away, and adds one
                taken[0] += window.atomic<T>(target, Offset{0}).exchange(T{1});
                break;
            }
        }
        runtime.barrier();
        auto all = static_cast<double>(taken[0]);
        runtime.sum(std::span{&all, 1});
        if (runtime.rank().value == home)
            CHECK(all + static_cast<double>(window.local_as<T>()[0]) == times * runtime.size());
        if (runtime.rank().value == home) window.local_as<T>()[0] = 0;
        runtime.barrier();
    }
}

TEST_CASE("a swap and a compare_swap of one place exclude each other") {
    // What a queue lock does: ranks append themselves by swap and take themselves off by compare_swap.
    Runtime runtime;
    Window window{runtime, 64};
    const std::int64_t own = runtime.rank().value + 1;
    for (int home = 0; home < runtime.size(); ++home) {
        std::int64_t found = 0;   // what this rank's swaps replaced, zeros aside
        std::int64_t removed = 0; // what its compare_swaps replaced
        constexpr int times = 400;
        for (int i = 0; i < times; ++i) {
            if (window.atomic<std::int64_t>(Rank{home}, Offset{0}).exchange(own) != 0) ++found;
            if (window.atomic<std::int64_t>(Rank{home}, Offset{0}).compare_swap(own, 0) == own) ++removed;
        }
        runtime.barrier();
        // Every value that was written was replaced once, or is there still.
        std::array<std::int64_t, 2> all{found + removed, 0};
        if (runtime.rank().value == home) all[1] = window.local_as<std::int64_t>()[0] != 0 ? 1 : 0;
        runtime.sum(all);
        CHECK(all[0] + all[1] == times * runtime.size());
        runtime.barrier();
        if (runtime.rank().value == home) window.local_as<std::int64_t>()[0] = 0;
        runtime.barrier();
    }
}

TEST_CASE("minima and maxima of many ranks, and bits of each") {
    Runtime runtime;
    Window window{runtime, 64};
    const auto own = static_cast<std::uint64_t>(runtime.rank().value);
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    if (own == 0) window.local_as<std::uint64_t>()[0] = UINT64_MAX;
    runtime.barrier();
    constexpr std::uint64_t top = std::uint64_t{1} << 63;
    for (std::uint64_t i = 0; i < 50; ++i) {
        window.atomic<std::uint64_t>(Rank{0}, Offset{0}).fetch_min(top + 1000 - i * ranks - own);
        window.atomic<std::uint64_t>(Rank{0}, Offset{8}).fetch_max(top + i * ranks + own);
        window.atomic<std::uint64_t>(Rank{0}, Offset{16}).fetch_or(std::uint64_t{1} << own);
        window.atomic<std::uint64_t>(Rank{0}, Offset{24}).fetch_xor(std::uint64_t{1} << own);
        window.atomic<std::uint32_t>(Rank{0}, Offset{32}).fetch_max(0xFFFFFF00U + static_cast<std::uint32_t>(own));
    }
    runtime.barrier();
    if (own == 0) {
        const auto cells = window.local_as<std::uint64_t>();
        CHECK(cells[0] == top + 1000 - 50 * ranks + 1);
        CHECK(cells[1] == top + 50 * ranks - 1);
        CHECK(cells[2] == (std::uint64_t{1} << ranks) - 1);
        CHECK(cells[3] == 0);
        CHECK(window.local_as<std::uint32_t>()[8] == 0xFFFFFF00U + ranks - 1);
    }
    runtime.barrier();
}

TEST_CASE("threads of a rank and ranks add to one value") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    Window window{runtime, 64};
    constexpr int threads = 3;
    constexpr int times = 60;
    std::vector<std::thread> workers;
    workers.reserve(threads);
    for (int thread = 0; thread < threads; ++thread)
        workers.emplace_back([&] {
            for (int i = 0; i < times; ++i) window.atomic<std::int64_t>(Rank{0}, Offset{0}).fetch_add(1);
        });
    for (std::thread& worker : workers) worker.join();
    runtime.barrier();
    CHECK(window.get<std::int64_t>(Rank{0}, Offset{0}) == threads * times * runtime.size());
    runtime.barrier();
}
