// The C++ side of UPC: arrays in blocks, pointers, forall and locks.
#include "tests/upc/upc_test.hpp"

#include <lapwing/upc.hpp>

#include <cstdint>
#include <mutex>
#include <type_traits>
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
        upc::forall(0, 20, bodies, [&](std::int64_t i) {
            bodies[i] = Body{0.5 * static_cast<double>(i), static_cast<std::int32_t>(i), -1};
        });
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
    CHECK_THAT(test::upc_error_of([] { static_cast<void>(upc::Pointer<double>{}[0].get()); }),
               test::says({"null pointer"}));
    upc::barrier();
}

TEST_CASE("pointers without a type become pointers to blocks of one element, or of none, without a phase") {
    const test::UpcProgram program;
    {
        const upc::SharedArray<int, 4> a{64};
        const upc::GenericPointer generic = a + 1; // shared void *g = &a[1];
        CHECK(generic.phaseof() == 1);
        const upc::Pointer<int, 1> cyclic{generic};
        const upc::Pointer<int, upc::indefinite> plain{generic};
        const upc::Pointer<int, upc::dynamic_block> by_one{generic, 1};
        const upc::Pointer<int, upc::dynamic_block> by_four{generic, 4};
        CHECK(upc::phaseof(cyclic) == 0);
        CHECK(upc::phaseof(plain) == 0);
        CHECK(upc::phaseof(by_one) == 0);
        CHECK(upc::phaseof(by_four) == 1);
        CHECK((upc::Pointer<int, 4>{generic} + 7 == a + 8));
        CHECK(upc::Pointer<int>{generic.raw()} + 1 == upc::Pointer<int>{a + 1} + 1);
        CHECK(cyclic - upc::Pointer<int>{a + 1} == 0);
        // In C there is no cast: the block size of the arithmetic says it.
        const lapwing_upc_pointer raw = (a + 3).raw();
        const lapwing_upc_pointer without = lapwing_upc_resetphase(raw);
        for (const std::size_t block : {std::size_t{0}, std::size_t{1}})
            for (const std::ptrdiff_t k : {-5, -1, 0, 1, 2, 9}) {
                const lapwing_upc_pointer moved = lapwing_upc_add(raw, sizeof(int), block, k);
                const lapwing_upc_pointer expected = lapwing_upc_add(without, sizeof(int), block, k);
                REQUIRE(lapwing_upc_equal(moved, expected) != 0);
                REQUIRE(lapwing_upc_phaseof(moved) == 0);
                REQUIRE(lapwing_upc_difference(moved, raw, sizeof(int), block) == k);
                REQUIRE(lapwing_upc_difference(raw, moved, sizeof(int), block) == -k);
            }
        // And of a collective.
        upc::SharedArray<int, 1> elements{static_cast<std::size_t>(4 * upc::threads())};
        upc::forall(0, 4 * upc::threads(), elements, [&](std::int64_t i) { elements[i] = static_cast<int>(i); });
        const upc::SharedArray<int, 1> sums{static_cast<std::size_t>(4 * upc::threads())};
        const upc::Shared<int> sum;
        lapwing_upc_pointer with_phase = elements.begin().raw();
        with_phase.phase = 3;
        const int n = 4 * upc::threads();
        lapwing_upc_all_reduceI(sum.pointer().raw(), with_phase, LAPWING_UPC_ADD, static_cast<std::size_t>(n), 1,
                                nullptr, 0);
        CHECK(sum == n * (n - 1) / 2);
        lapwing_upc_all_prefix_reduceI(sums.begin().raw(), with_phase, LAPWING_UPC_ADD, static_cast<std::size_t>(n), 1,
                                       nullptr, 0);
        for (int i = 0; i < n; ++i) REQUIRE(+sums[i] == i * (i + 1) / 2);
        upc::barrier();
    }
}

TEST_CASE("pointers of any type and block size compare, and null is one") {
    const test::UpcProgram program;
    {
        const upc::SharedArray<int, 4> a{64};
        upc::Pointer<int, 4> p = a + 4;
        const upc::Pointer<char, 1> q{p};
        CHECK(p == q);
        CHECK(p == upc::GenericPointer{q});
        CHECK(upc::GenericPointer{p} == q);
        CHECK(p != a.begin());
        CHECK(q != a + 5);
        CHECK(p == p.raw());
        CHECK(p != nullptr);
        p = nullptr;
        CHECK(p == nullptr);
        CHECK(nullptr == upc::GenericPointer{});
        upc::GenericPointer generic;
        CHECK(!generic);
        generic = a + 4;
        CHECK(static_cast<bool>(generic));
        CHECK(upc::threadof(generic) == upc::threadof(a + 4));
        CHECK(upc::addrfield(generic) == upc::addrfield(a + 4));
        CHECK(upc::cast(generic) == (a + 4).cast());
        const int value = 17;
        if (upc::mythread() == 0) upc::memput(generic, &value, sizeof value);
        upc::barrier();
        CHECK(+a[4] == 17);
        const upc::Shared<int> s;
        CHECK(upc::blocksizeof(s.pointer()) == 1);
        upc::barrier();
    }
}

namespace {

struct Particle {
    std::int32_t charge;
    double place[3];
    std::int16_t table[2][4];
};

struct Node {
    std::int64_t key;
    upc::Pointer<Node, upc::indefinite> next;
    std::int64_t many[8];
};
struct Large {
    std::int64_t first;
    char room[40000];
    std::int64_t last;
};

} // namespace

TEST_CASE("members that are arrays, and what pointers in shared memory point to") {
    const test::UpcProgram program;
    {
        const upc::SharedArray<Particle> p{static_cast<std::size_t>(upc::threads())};
        const int me = upc::mythread();
        const int next = (me + 1) % upc::threads();
        const auto place = p[next]->*&Particle::place;
        CHECK(place.size() == 3);
        for (int k = 0; k < 3; ++k) place[k] = 10.0 * me + k;
        (p[next]->*&Particle::table)[1][2] = static_cast<std::int16_t>(me);
        ((p + next)->*&Particle::place)[1] += 0.5;
        upc::barrier();
        const int before = (me + upc::threads() - 1) % upc::threads();
        const auto mine = p.local()[0];
        CHECK(mine.place[0] == 10.0 * before);
        CHECK(mine.place[1] == 10.0 * before + 1.5);
        CHECK(mine.place[2] == 10.0 * before + 2);
        CHECK(mine.table[1][2] == before);
        CHECK(*((p[me]->*&Particle::place) + 2) == mine.place[2]);
        CHECK(upc::blocksizeof((p[me]->*&Particle::place).begin()) == upc::indefinite);
        const upc::SharedArray<upc::strict<Particle>> flags{static_cast<std::size_t>(upc::threads())};
        static_assert(std::is_same_v<decltype((flags[0]->*&Particle::place)[0]), upc::Reference<upc::strict<double>>>);

        // shared int *shared rows[THREADS]; rows[t][j], *rows[t], and a list of shared structures.
        const upc::SharedArray<upc::Pointer<int, upc::indefinite>> rows{static_cast<std::size_t>(upc::threads())};
        rows[me] = upc::alloc<int>(5);
        for (int j = 0; j < 5; ++j) rows[me][j] = 100 * me + j;
        const upc::SharedArray<upc::Pointer<Node, upc::indefinite>> list{static_cast<std::size_t>(upc::threads())};
        list[me] = upc::alloc<Node>(1);
        list[me]->*& Node::key = 7 * me;
        upc::barrier();
        list[me]->*& Node::next = +list[next];
        upc::barrier();
        for (int t = 0; t < upc::threads(); ++t) {
            REQUIRE(+*rows[t] == 100 * t);
            for (int j = 0; j < 5; ++j) REQUIRE(+rows[t][j] == 100 * t + j);
            REQUIRE(+(list[t]->*&Node::next->*&Node::key) == 7 * ((t + 1) % upc::threads()));
        }
        upc::barrier();
        upc::free(rows[me].get());
        upc::free(list[me].get());
        upc::barrier();
    }
}

TEST_CASE("members and elements of a null pointer are errors") {
    const test::UpcProgram program;
    const upc::Pointer<Node> null;
    const upc::Pointer<Large, upc::indefinite> large;
    for (int k = 0; k < 2; ++k) { // also where the cache, and strict accesses, come first
        CHECK_THAT(test::upc_error_of([&] { static_cast<void>(+(null->*&Node::key)); }),
                   test::says({"thread", "null pointer"}));
        CHECK_THAT(test::upc_error_of([&] { static_cast<void>(+(null->*&Node::next)); }),
                   test::says({"null pointer", "before the heap"}));
        CHECK_THAT(test::upc_error_of([&] { (null->*&Node::many)[7] = 42; }), test::says({"null pointer"}));
        CHECK_THAT(test::upc_error_of([&] { large->*& Large::last = 42; }), test::says({"null pointer"}));
        CHECK_THAT(test::upc_error_of([&] { *(upc::Pointer<long>{} + upc::threads()) = 5; }),
                   test::says({"null pointer"}));
        CHECK_THAT(test::upc_error_of([&] { (upc::Pointer<long>{} + 9 * upc::threads())[0] = 5; }),
                   test::says({"null pointer"}));
        CHECK_THAT(test::upc_error_of([&] { (null->*&Node::key).put_strict(1); }), test::says({"null pointer"}));
        long x = 0;
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_memget(&x, {72, 0, 0}, 8); }),
                   test::says({"upc_memget", "null pointer"}));
        CHECK(lapwing_upc_cast({72, static_cast<std::uint32_t>(upc::mythread()), 0}) == nullptr);
        upc::AtomicDomain<std::int64_t> domain;
        CHECK_THAT(
            test::upc_error_of([&] { domain.add(upc::Reference<std::int64_t>{lapwing_upc_pointer{72, 0, 0}}, 1); }),
            test::says({"null pointer"}));
    }
    upc::barrier();
    upc::free(upc::global_alloc<long>(10)); // the metadata are intact
    upc::barrier();
}
