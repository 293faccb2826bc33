// What may be handed to puts and gets: values and contiguous ranges of any kind, which are moved by their elements.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/error.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

using Three = std::array<double, 3>;

struct Pair {
    std::int32_t first;
    float second;
    friend bool operator==(const Pair&, const Pair&) = default;
};

struct Version {
    int major_number;
    int minor_number;
    friend auto operator<=>(const Version&, const Version&) = default;
};

/// Moves `source` by each of the calls that write, and hands what arrived, as three values, to `check`.
template <class Source, class Check>
void by_every_put(Runtime& runtime, Window& window, Source& source, Check check) {
    const Rank target = test::next(runtime);
    for (int call = 0; call < 3; ++call) {
        std::ranges::fill(window.local(), std::byte{0});
        runtime.barrier();
        switch (call) {
        case 0: window.put(target, Offset{8}, source); break;
        case 1: window.start_put(target, Offset{8}, source).wait(); break;
        default: window.put_notify(target, Offset{8}, source, 0); window.wait_notified(0);
        }
        runtime.barrier();
        INFO("call " << call);
        check();
        runtime.barrier();
    }
}

} // namespace

TEST_CASE("ranges of any kind are sent by their elements, and nothing else of them") {
    Runtime runtime;
    Window window{runtime, 64};
    const auto arrived = [&] {
        const auto own = window.local_as<double>();
        CHECK(std::vector<double>(own.begin(), own.end()) == std::vector<double>{0, 1, 2, 3, 0, 0, 0, 0});
    };
    double c_array[3] = {1, 2, 3};
    const double constant_c_array[3] = {1, 2, 3};
    Three array{1, 2, 3};
    const Three constant_array{1, 2, 3};
    std::vector<double> vector{1, 2, 3};
    const std::vector<double> constant_vector{1, 2, 3};
    std::span<double> span{vector};
    const std::span<const double> constant_span{vector};
    std::span<double, 3> fixed_span{c_array};
    const std::span<const double, 3> constant_fixed_span{c_array};
    std::array<Three, 1> nested{{{1, 2, 3}}};
    by_every_put(runtime, window, c_array, arrived);
    by_every_put(runtime, window, constant_c_array, arrived);
    by_every_put(runtime, window, array, arrived);
    by_every_put(runtime, window, constant_array, arrived);
    by_every_put(runtime, window, vector, arrived);
    by_every_put(runtime, window, constant_vector, arrived);
    by_every_put(runtime, window, span, arrived);
    by_every_put(runtime, window, constant_span, arrived);
    by_every_put(runtime, window, fixed_span, arrived);
    by_every_put(runtime, window, constant_fixed_span, arrived);
    by_every_put(runtime, window, nested, arrived);

    std::string text = "abc";
    by_every_put(runtime, window, text, [&] { CHECK(window.local_as<char>()[10] == 'c'); });
    std::string_view view = text;
    by_every_put(runtime, window, view, [&] { CHECK(window.local_as<char>()[10] == 'c'); });
}

TEST_CASE("single values go by every call, temporaries where nothing needs them later") {
    Runtime runtime;
    Window window{runtime, 64};
    double number = 4.5;
    const Pair pair{7, 0.25F};
    by_every_put(runtime, window, number, [&] { CHECK(window.local_as<double>()[1] == 4.5); });
    by_every_put(runtime, window, pair, [&] { CHECK(window.local_as<Pair>()[1] == pair); });

    const Rank target = test::next(runtime);
    window.put(target, Offset{0}, 3);
    window.put(target, Offset{8}, std::vector{5, 6});
    window.start_put(target, Offset{16}, std::span{&number, 1}).wait(); // the span goes, the number stays
    window.put_notify(target, Offset{24}, Pair{1, 2}, 1);
    window.wait_notified(1);
    runtime.barrier();
    CHECK(window.local_as<int>()[0] == 3);
    CHECK(window.local_as<int>()[3] == 6);
    CHECK(window.local_as<double>()[2] == 4.5);
    CHECK(window.local_as<Pair>()[3] == Pair{1, 2});
    runtime.barrier();
}

TEST_CASE("gets fill values and ranges of any kind") {
    Runtime runtime;
    Window window{runtime, 32};
    std::ranges::copy(Three{1, 2, 3}, window.local_as<double>().begin());
    runtime.barrier();
    const Rank target = test::next(runtime);
    const Three expected{1, 2, 3};
    const auto by_both = [&](auto& destination) {
        const auto clear = [&] { std::ranges::fill(destination, 0.0); };
        clear();
        window.get(target, Offset{0}, destination);
        CHECK(std::ranges::equal(destination, expected));
        clear();
        window.start_get(target, Offset{0}, destination).wait();
        CHECK(std::ranges::equal(destination, expected));
    };
    double c_array[3];
    Three array;
    std::vector<double> vector(3);
    std::span<double> span{vector};
    const std::span<double, 3> fixed_span{c_array};
    by_both(c_array);
    by_both(array);
    by_both(vector);
    by_both(span);
    by_both(fixed_span);
    std::ranges::fill(vector, 0.0);
    window.get(target, Offset{8}, std::span{vector}.subspan(1));
    CHECK(vector == std::vector<double>{0, 2, 3});

    double number = 0;
    window.get(target, Offset{16}, number);
    CHECK(number == 3);
    window.start_get(target, Offset{8}, number).wait();
    CHECK(number == 2);
    CHECK(window.get<double>(target, Offset{0}) == 1);
    CHECK(window.get<Three>(target, Offset{0}) == expected);
    runtime.barrier();
}

TEST_CASE("offsets and ranks of signed numbers") {
    Runtime runtime;
    Window window{runtime, 10 * sizeof(int)};
    const Rank own = runtime.rank();
    for (int i = 0; i < 10; ++i) window.put(own, Offset::of<int>(i), i);
    for (std::int64_t i = 0; i < 10; ++i) CHECK(window.get<int>(own, Offset{i * 4}) == i);
    const std::int64_t bytes = 8;
    Window of_signed{runtime, bytes};
    CHECK(of_signed.size(own) == 8);
    // A negative place lies outside, and is reported as it was written.
    CHECK_THAT(test::message_of<lapwing::RangeError>([&] { window.put(own, Offset{-8}, 1); }),
               test::says({"sign it is -8)", "40 bytes"}));
    CHECK_THAT(test::message_of<lapwing::RangeError>([&] { window.put(own, Offset::of<int>(-2), 1); }),
               test::says({"sign it is -8)"}));
    CHECK(Offset::of<double>(std::numeric_limits<std::int64_t>::min()).bytes >= std::uint64_t{1} << 63);
    CHECK(Offset::of<double>(std::numeric_limits<std::uint64_t>::max()).bytes ==
          std::numeric_limits<std::uint64_t>::max());
    CHECK_THROWS_AS((Window{runtime, std::int64_t{-1}}), lapwing::RangeError);
    runtime.barrier();
}

TEST_CASE("ranks compare with numbers of any type, and are none") {
    constexpr Rank two{2};
    STATIC_REQUIRE(two == 2);
    STATIC_REQUIRE(2U == two);
    STATIC_REQUIRE(two != (std::uint64_t{1} << 32 | 2));
    STATIC_REQUIRE(two < 3);
    STATIC_REQUIRE(two > -1);
    STATIC_REQUIRE(Rank{-1} < 0U); // as numbers, not as bits
    STATIC_REQUIRE(Rank{std::int64_t{2}} == two);
    STATIC_REQUIRE(Rank{std::int64_t{1} << 32} == -1); // no rank at all, rather than rank 0
    // Numbers are taken for ranks and offsets where those are asked for, and nothing else is.
    STATIC_REQUIRE(std::is_convertible_v<int, Rank>);
    STATIC_REQUIRE(std::is_convertible_v<std::uint64_t, Offset>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<Rank, int>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<bool, Rank>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<double, Rank>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<Rank, Offset>);
    STATIC_REQUIRE_FALSE(std::is_convertible_v<Offset, Rank>);
}

TEST_CASE("ranks and offsets may be plain integers in every call") {
    Runtime runtime;
    Window window{runtime, 256};
    const int target = test::next(runtime).value;
    const std::size_t wide = static_cast<std::size_t>(target);
    window.put(target, 0, 3.0);
    CHECK(window.get<double>(target, 0) == 3);
    double value = 0;
    window.get(wide, 0U, value);
    CHECK(value == 3);
    window.put_notify(target, std::int64_t{8}, 4.0, 0);
    window.wait_notified(0);
    window.flush(target);
    CHECK(window.local_as<double>()[1] == 4);
    CHECK(window.size(target) == 256);
    CHECK(window.path(target) == window.path(Rank{target}));
    window.start_put(target, 16, value).wait();
    window.start_get(target, 16, value).wait();
    CHECK(window.atomic<int>(target, 24).fetch_add(1) == 0);
    CHECK(window.atomic<unsigned long>(target, 32).compare_swap(0UL, 1) == 0UL);
    CHECK(runtime.broadcast(runtime.rank().value + 7, 0) == 7);
    CHECK(runtime.path(0) == window.path(0));
    // With layouts, too.
    const auto one = lapwing::Layout::from_mpi(MPI_DOUBLE);
    window.put(one, &value, target, 40, one);
    window.get(Rank{target}, 40, one, one, &value);
    CHECK(value == 3);
    CHECK_THAT(test::message_of<lapwing::RangeError>([&] { window.put(-1, 0, 1); }), test::says({"rank -1"}));
    lapwing::Lock lock{runtime, 0};
    runtime.barrier();
}

TEST_CASE("spans are values of any transfer, whatever their constness") {
    Runtime runtime;
    Window window{runtime, 256};
    const Rank target = test::next(runtime);
    std::vector<double> source{1, 2, 3};
    const std::vector<double> constant{4, 5};
    const std::span named{source};
    window.put(target, Offset{0}, named);
    window.put(target, Offset{24}, std::span<const double>{constant});
    std::vector<double> back(5);
    window.get(target, Offset{0}, std::span{back});
    CHECK(back == std::vector<double>{1, 2, 3, 4, 5});
    window.start_put(target, Offset{40}, std::span{source}).wait();
    window.start_get(target, Offset{40}, std::span{back}.first(3)).wait();
    CHECK(back == std::vector<double>{1, 2, 3, 4, 5});
    window.put_notify(target, Offset{64}, std::span{source}, 1);
    window.wait_notified(1);
    CHECK(window.local_as<double>()[9] == 2);
    std::vector<std::byte> bytes(8);
    window.get(target, Offset{64}, {bytes.data(), 8}); // braces are bytes
    window.put(target, Offset{96}, {bytes.data(), 8});
    CHECK(window.get<double>(target, Offset{96}) == 1);
    window.put_notify(target, Offset{88}, {bytes.data(), 8}, 1);
    window.wait_notified(1);
    CHECK(window.local_as<double>()[11] == 1);
    window.put<double>(target, Offset{0}, 7); // as a double
    CHECK(window.get<double>(target, Offset{0}) == 7);
    runtime.barrier();
}

TEST_CASE("reductions of any type with an operation") {
    Runtime runtime;
    const int size = runtime.size();
    const int own = runtime.rank().value;
    CHECK(runtime.max(own == 0));
    CHECK(runtime.min(own == 0) == (size == 1));
    CHECK(runtime.max(false) == false);
    const std::complex<double> sum = runtime.sum(std::complex<double>{1, static_cast<double>(own)});
    CHECK(sum == std::complex<double>(size, 0.5 * size * (size - 1)));
    CHECK(runtime.sum(1.5L) == 1.5L * size);
    CHECK(runtime.max(static_cast<long double>(own)) == size - 1);
    const Version version = runtime.min(Version{own, 7});
    CHECK(version.major_number == 0);
    CHECK(version.minor_number == 7);
    CHECK(runtime.sum(short{3}) == 3 * size);
    // In the order of the ranks: digits of a number.
    const auto append = [](std::array<int, 2> a, std::array<int, 2> b) {
        return std::array{a[0] * b[1] + b[0], a[1] * b[1]};
    };
    struct Digits {
        std::array<int, 2> of;
    };
    const Digits all =
        runtime.reduce(Digits{{own + 1, 10}}, [&](Digits a, Digits b) { return Digits{append(a.of, b.of)}; });
    int expected = 0;
    for (int rank = 1; rank <= size; ++rank) expected = 10 * expected + rank;
    CHECK(all.of[0] == expected);
}

TEST_CASE("reductions and broadcasts of single numbers") {
    Runtime runtime;
    const int size = runtime.size();
    const int own = runtime.rank().value;
    CHECK(runtime.sum(own + 1) == size * (size + 1) / 2);
    CHECK(runtime.sum(std::uint8_t{1}) == size);
    CHECK(runtime.sum(0.5F) == 0.5F * static_cast<float>(size));
    CHECK(runtime.sum(0.25) == 0.25 * size);
    CHECK(runtime.sum(std::int64_t{-3}) == -3 * size);
    // Modulo 2^64.
    CHECK(runtime.sum(std::uint64_t{1} << 63) == (size % 2 == 0 ? 0 : std::uint64_t{1} << 63));
    CHECK(runtime.min(own - 5) == -5);
    CHECK(runtime.max(own) == size - 1);
    CHECK(runtime.min(1.0 + own) == 1.0);
    // Unsigned ones above 2^63 are large, not negative.
    CHECK(runtime.min((std::uint64_t{1} << 63) + static_cast<unsigned>(own)) == std::uint64_t{1} << 63);
    CHECK(runtime.max(own == 0 ? std::uint64_t{1} << 63 : 1) == std::uint64_t{1} << 63);
    CHECK(runtime.max(std::uint32_t{0xffffffff}) == 0xffffffff);
    if (size > 1)
        CHECK_THAT(
            test::message_of<lapwing::RangeError>([&] { (void)runtime.sum(std::numeric_limits<std::int32_t>::max()); }),
            test::says({runtime.who(), "Team::sum", std::to_string(size * std::int64_t{0x7fffffff}), "32 bits"}));

    const Rank last{size - 1};
    CHECK(runtime.broadcast(10 * own, last) == 10 * (size - 1));
    CHECK(runtime.broadcast(Pair{own, 1.5F}, Rank{0}) == Pair{0, 1.5F});
    std::vector<int> list(3, own);
    runtime.broadcast(list, last);
    CHECK(list == std::vector<int>(3, size - 1));
    double c_array[2] = {1.0 * own, 2.0};
    runtime.broadcast(c_array, Rank{0});
    CHECK(c_array[0] == 0.0);
    list[0] = own;
    runtime.broadcast(std::span{list}.first(1), Rank{0});
    CHECK(list[0] == 0);
    CHECK(list[1] == size - 1);
}
