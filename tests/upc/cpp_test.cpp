// The C++ side of UPC: arrays in blocks, pointers, forall and locks.
#include "tests/upc/upc_test.hpp"

#include <lapwing/upc.hpp>

#include <cstdint>
#include <mutex>
#include <vector>

namespace upc = lapwing::upc;

namespace {

struct Body {
    double mass;
    std::int32_t x, y;
    friend bool operator==(const Body&, const Body&) = default;
};

template <std::size_t B>
void check_array(int threads, int me) {
    constexpr std::int64_t n = 97;
    upc::SharedArray<std::int32_t, B> a{n};
    std::int64_t mine = 0;
    upc::forall(0, n, a, [&](std::int64_t i) {
        REQUIRE((a + i).threadof() == me);
        a[i] = static_cast<std::int32_t>(3 * i);
        ++mine;
    });
    CHECK(static_cast<std::size_t>(mine) == a.size_at(me));
    upc::barrier();
    upc::Pointer<std::int32_t, B> p = a.begin();
    for (std::int64_t i = 0; i < n; ++i, ++p) {
        REQUIRE(+a[i] == 3 * i);
        REQUIRE(+*p == 3 * i);
        REQUIRE(p - a.begin() == i);
        REQUIRE(p == a + i);
        REQUIRE((p <=> a.begin() + 50) == (i <=> std::int64_t{50}));
        REQUIRE((p.cast() != nullptr || p.threadof() != me));
    }
    for (std::int64_t i = n; i-- > 0;) REQUIRE(+*--p == 3 * i);
    upc::barrier();
    // Own elements as plain memory, in the order of the blocks.
    std::int32_t* own = a.local();
    upc::forall(0, n, a, [&](std::int64_t i) { REQUIRE(*own++ == 3 * i); });
    // Part of the array, from the middle of a block on.
    std::vector<int> seen;
    upc::forall(5, 40, a, [&](std::int64_t i) { seen.push_back(static_cast<int>(i)); });
    std::size_t expected = 0;
    for (std::int64_t i = 5; i < 40; ++i)
        if ((a + i).threadof() == me) REQUIRE(seen.at(expected++) == i);
    CHECK(seen.size() == expected);
    static_cast<void>(threads);
    upc::barrier();
    a[n - 1] += 1; // by all threads: the last of them wins, or several add up
    upc::barrier();
    CHECK(a[n - 1] > 3 * (n - 1));
    upc::barrier();
}

} // namespace

TEST_CASE("arrays of every block size, their pointers, and loops over own elements") {
    const test::UpcProgram program;
    check_array<1>(program.threads, program.me);
    check_array<4>(program.threads, program.me);
    check_array<7>(program.threads, program.me);
    check_array<1000>(program.threads, program.me);
    check_array<upc::indefinite>(program.threads, program.me);
    std::int64_t count = 0;
    upc::forall(-7, 20, [&](std::int64_t i) {
        REQUIRE((i % program.threads + program.threads) % program.threads == program.me);
        ++count;
    });
    CHECK(count >= 27 / program.threads);
    upc::barrier();
}

TEST_CASE("structures, shared pointers to shared, and casts between block sizes") {
    const test::UpcProgram program;
    {
        upc::SharedArray<Body, 3> bodies{20};
        upc::SharedArray<upc::Pointer<Body, 3>> list{static_cast<std::size_t>(program.threads)};
        upc::forall(0, 20, bodies, [&](std::int64_t i) { bodies[i] = Body{0.5 * static_cast<double>(i), static_cast<std::int32_t>(i), -1}; });
        list[program.me] = bodies + (program.me + 5) % 20;
        upc::barrier();
        const int next = (program.me + 1) % program.threads;
        const upc::Pointer<Body, 3> given = list[next];
        CHECK(given - bodies.begin() == (next + 5) % 20);
        CHECK((*given).get().x == (next + 5) % 20);
        const upc::Pointer<Body> dealt{bodies + 4};
        CHECK((bodies + 4).phaseof() == 1);
        CHECK(dealt.phaseof() == 0);
        CHECK(dealt.threadof() == (bodies + 4).threadof());
        CHECK((*dealt).get() == (*(bodies + 4)).get());
        upc::barrier();
        if (program.me == 0) bodies[19] = bodies[2];
        upc::barrier();
        CHECK(bodies[19].get() == Body{1, 2, -1});
        bodies[0].put_strict(bodies[0].get_strict());
        upc::barrier();
    }
    upc::barrier();
}

TEST_CASE("a lock of a scope") {
    const test::UpcProgram program;
    {
        upc::Lock lock;
        upc::SharedArray<std::int64_t, upc::indefinite> sum{1};
        if (program.me == 0) sum[0] = 0;
        upc::barrier(1);
        for (int round = 0; round < 20; ++round) {
            const std::lock_guard guard{lock};
            sum[0] += program.me + 1;
        }
        upc::barrier(2);
        CHECK(sum[0] == 20 * program.threads * (program.threads + 1) / 2);
        upc::barrier();
    }
    CHECK_THAT(test::upc_error_of([] { static_cast<void>(upc::Pointer<double>{}[0].get()); }), test::says({"null pointer"}));
    upc::barrier();
}
