// Shared arrays as memory: of all block sizes, ranges, sizes of elements, and on demand.
#include "tests/distribution/random_maps.hpp"
#include "tests/upc/upc_test.hpp"

#include <lapwing/upc.hpp>

#include <array>
#include <cstdint>
#include <memory>

namespace upc = lapwing::upc;

namespace {

template <std::size_t B>
void check_mapped(const upc::SharedArray<std::int64_t, B>& a, std::int64_t begin, std::int64_t end) {
    const auto n = static_cast<std::int64_t>(a.size());
    const auto all = upc::mapped(a);
    const auto some = upc::mapped(a, {{begin, end}});
    const auto demanded = upc::mapped(a, lapwing::OnDemand{});
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
        // The middle of the part is no copy, unless MPI has allocated it.
        const std::int64_t i = each * program.me + each / 2;
        const std::uint64_t copies = v.memory();
        a[i] = 77;
        if (copies < sizeof(std::int64_t) * static_cast<std::uint64_t>(each * program.threads)) CHECK(v[i] == 77);
        v.refresh();
        CHECK(v[i] == 77);
    }
    CHECK(upc::mapped(a).data() == memory);
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
        CHECK_THAT(error.what(), test::says({"thread", "upc::SharedArray.mapped().refresh", "map it again"}));
    }
    CHECK(v[3] == 0); // the memory stays
    upc::barrier();
}
