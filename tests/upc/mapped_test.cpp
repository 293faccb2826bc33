// Shared arrays as memory: of all block sizes, ranges, sizes of elements, and on demand.
#include "tests/distribution/random_maps.hpp"
#include "tests/upc/upc_test.hpp"

#include <lapwing/upc.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include <unistd.h>

namespace upc = lapwing::upc;

namespace {

/// Everything, on demand where a thread of the library's may call MPI.
template <class T, std::size_t B, std::size_t N>
[[nodiscard]] auto asked_for(const upc::SharedArray<T, B, N>& a) {
    return test::many_threads_allowed() ? upc::mapped(a, lapwing::OnDemand{}) : upc::mapped(a);
}

template <std::size_t B>
void check_mapped(const upc::SharedArray<std::int64_t, B>& a, std::int64_t begin, std::int64_t end) {
    const auto n = static_cast<std::int64_t>(a.size());
    const auto all = upc::mapped(a);
    const auto some = upc::mapped(a, {{begin, end}});
    const auto demanded = asked_for(a);
    for (std::int64_t step = 1; step <= 3; ++step) {
        upc::barrier(); // others have read
        upc::forall(0, n, a, [&](std::int64_t i) { a[i] = 1000 * step + i; });
        upc::barrier();
        all.refresh();
        some.refresh();
        demanded.refresh();
        for (std::int64_t i = 0; i < n; ++i) REQUIRE(all[i] == 1000 * step + i);
        for (std::int64_t i = begin; i < end; ++i) REQUIRE(some.data()[i] == 1000 * step + i);
        for (std::int64_t i = step; i < n; i += 1 + step) REQUIRE(demanded[i] == 1000 * step + i);
    }
    upc::barrier();
}

struct Point {
    double x, y, z;
};

} // namespace

TEST_CASE("mapped shared arrays have all elements in order, as of the last refresh") {
    const test::UpcProgram program;
    test::Random random{52};
    for (int round = 0; round < 6; ++round) {
        // Some parts are pages long, others share one.
        const std::int64_t n = random.number(1, round % 2 == 0 ? 300 : 9000);
        const std::int64_t begin = random.number(0, n - 1);
        const std::int64_t end = random.number(begin, n);
        INFO("elements " << n << ", from " << begin << " to " << end);
        const auto size = static_cast<std::size_t>(n);
        check_mapped(upc::SharedArray<std::int64_t>{size}, begin, end);
        check_mapped(upc::SharedArray<std::int64_t, 8>{size}, begin, end);
        check_mapped(upc::SharedArray<std::int64_t, upc::indefinite>{size}, begin, end);
        check_mapped(upc::SharedArray<std::int64_t, upc::dynamic_block>{size}, begin, end); // [*]
        const auto block = static_cast<std::size_t>(random.number(1, 700));
        check_mapped(upc::SharedArray<std::int64_t, upc::dynamic_block>{size, block}, begin, end);
    }
}

TEST_CASE("elements of several dimensions, and of any size, are mapped") {
    const test::UpcProgram program;
    const upc::SharedArray<std::int32_t, 3, 2> plane{{40, 70}};
    // Allocations after this one begin where 24 does not divide the address.
    const upc::SharedArray<char> shift{1};
    const upc::SharedArray<Point, 5> points{1000};
    const upc::SharedArray<Point, upc::dynamic_block> stretch{1000};
    upc::forall(0, 2800, upc::every_thread, [&](std::int64_t i) {
        if (plane.threadof(i) == upc::mythread()) plane.at_linear(i) = static_cast<std::int32_t>(i);
        if (i >= 1000) return;
        const auto x = static_cast<double>(i);
        if (points.threadof(i) == upc::mythread()) points[i] = Point{x, x + 1, x + 2};
        if (stretch.threadof(i) == upc::mythread()) stretch[i] = Point{x, x + 1, x + 2};
    });
    upc::barrier();
    const auto rows = upc::mapped(plane);
    const auto all = upc::mapped(points);
    const auto in_blocks = upc::mapped(stretch, {{700, 900}, {100, 700}});
    for (std::int64_t i = 0; i < 40; ++i)
        for (std::int64_t j = 0; j < 70; ++j) REQUIRE(rows(i, j) == 70 * i + j);
    for (std::int64_t i = 0; i < 1000; ++i) {
        const auto x = static_cast<double>(i);
        REQUIRE((all[i].x == x && all[i].y == x + 1 && all[i].z == x + 2));
        if (i >= 100 && i < 900) REQUIRE((in_blocks[i].x == x && in_blocks[i].z == x + 2));
    }
    upc::barrier();
}

TEST_CASE("own elements in one block are shown where they are, and what is given up is used again") {
    const test::UpcProgram program;
    constexpr std::int64_t each = 4096; // pages
    const upc::SharedArray<std::int64_t, upc::dynamic_block> a{static_cast<std::size_t>(each * program.threads)};
    const std::int64_t* memory = nullptr;
    {
        const auto v = upc::mapped(a);
        memory = v.data();
        // The middle of the part is no copy, unless MPI has allocated it: on paths that take its windows.
        const std::int64_t i = each * program.me + each / 2;
        const char* const path = std::getenv("LAPWING_PATH");
        const bool may_be_mpis = path == nullptr || std::string_view{path} != "service";
        a[i] = 77;
        if (v.memory() < sizeof(std::int64_t) * static_cast<std::uint64_t>(each * program.threads) || !may_be_mpis)
            CHECK(v[i] == 77);
        v.refresh();
        CHECK(v[i] == 77);
    }
    CHECK(upc::mapped(a).data() == memory);
    upc::evict(a);
    CHECK(upc::mapped(a)[each * program.me + each / 2] == 77);
    upc::barrier();
}

TEST_CASE("ranges of a shared array may overlap, and have strides; what is between them is not opened") {
    const test::UpcProgram program;
    constexpr std::int64_t n = 100'000;
    const upc::SharedArray<std::int64_t, 7> a{n};
    upc::forall(0, n, a, [&](std::int64_t i) { a[i] = 3 * i; });
    upc::barrier();
    const auto both = upc::mapped(a, {{0, 100}, {50, 150}, {150, 160}, {20, 30}});
    for (std::int64_t i = 0; i < 160; ++i) REQUIRE(both[i] == 3 * i);
    const auto strided = upc::mapped(a, {lapwing::Range::strided(5, 10, 9000), {4, 8}});
    for (std::int64_t k = 0; k < 10; ++k) REQUIRE(strided[5 + 9000 * k] == 3 * (5 + 9000 * k));
    CHECK(strided.memory() <= 11 * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
    // On demand one says what is handed to others.
    const auto asked = asked_for(a);
    asked.pin(lapwing::Domain<1>{{5000, 9000}});
    for (std::int64_t i = 5000; i < 9000; ++i) REQUIRE(asked[i] == 3 * i);
    const upc::SharedArray<std::int32_t, 3, 2> plane{{400, 700}};
    const upc::SharedArray<Point> points{3000};
    upc::forall(0, 3000, points, [&](std::int64_t i) { points[i] = Point{1.0 * static_cast<double>(i), 0, 2}; });
    upc::barrier();
    asked_for(plane).pin({{0, 400}, {0, 700}});
    const auto all = asked_for(points);
    all.pin(lapwing::Domain<1>{{600, 3000}});
    for (std::int64_t i = 600; i < 3000; ++i) REQUIRE(all[i].x == static_cast<double>(i));
    try {
        all.pin(lapwing::Domain<1>{{0, 3001}});
        FAIL("no error");
    } catch (const lapwing::RangeError& error) {
        CHECK_THAT(error.what(), test::says({"upc::SharedArray(3000 in blocks of 1)", "[0, 3000)"}));
    }
    const upc::SharedArray<double> none{0};
    upc::mapped(none).refresh();
    upc::barrier();
}

TEST_CASE("a range that a shared array does not have, and an array that is gone, are errors of mapped") {
    const test::UpcProgram program;
    auto a = std::make_unique<upc::SharedArray<double>>(std::size_t{10});
    CHECK_THAT(test::upc_error_of([&] { (void)upc::mapped(*a, {{0, 2}, {5, 11}}); }),
               test::says({"mapped", "5 to 11", "array of 10", "thread"}));
    CHECK_THAT(test::upc_error_of([&] { (void)upc::mapped(*a, {{-1, 3}}); }), test::says({"-1 to 3"}));
    const auto empty = upc::mapped(*a, {{4, 4}});
    empty.refresh();
    const auto v = upc::mapped(*a);
    a.reset();
    try {
        v.refresh();
        FAIL("no error");
    } catch (const lapwing::UsageError& error) {
        CHECK_THAT(error.what(),
                   test::says({"thread", "upc::SharedArray(10 in blocks of 1).mapped().refresh", "destroyed"}));
    }
    CHECK(v[3] == 0); // the memory stays
    upc::barrier();
}
