// Shared arrays of every shape, loops that divide their iterations, members, qualifiers.
#include "tests/distribution/random_maps.hpp"
#include "tests/upc/upc_test.hpp"

#include <lapwing/upc.hpp>

#include <cstdint>
#include <vector>

namespace upc = lapwing::upc;

namespace {

/// Whose element i is, by UPC's definition (language specification 1.3, section 6.5.1.1).
int owner(std::int64_t i, std::int64_t block) { return block == 0 ? 0 : static_cast<int>(i / block % upc::threads()); }

template <std::size_t B>
void check_elements(const upc::SharedArray<std::int64_t, B>& a, std::int64_t n, std::int64_t block) {
    REQUIRE(upc::blocksizeof(a) == static_cast<std::size_t>(block));
    std::int64_t own = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        REQUIRE(+a[i] == 0); // as UPC's arrays are at the start
        REQUIRE(a.threadof(i) == owner(i, block));
        REQUIRE((a + i).threadof() == owner(i, block));
        REQUIRE((a + i).phaseof() == static_cast<std::size_t>(block == 0 ? 0 : i % block));
        own += owner(i, block) == upc::mythread() ? 1 : 0;
    }
    REQUIRE(a.size_at(upc::mythread()) == static_cast<std::size_t>(own));
    upc::barrier();
    upc::forall(0, n, a, [&](std::int64_t i) { a[i] = 5 * i; });
    upc::barrier();
    auto p = a + (n - 1);
    for (std::int64_t i = n; i-- > 0; --p) {
        REQUIRE(+a[i] == 5 * i);
        REQUIRE(p - a.begin() == i);
        REQUIRE(+*p == 5 * i);
        if (i == 0) break;
    }
    upc::barrier();
    // Loops get own elements as plain memory where they can.
    upc::forall(n / 3, n, a, [&](auto i) { a[i] += 1; });
    upc::barrier();
    for (std::int64_t i = 0; i < n; ++i) REQUIRE(+a[i] == 5 * i + (i >= n / 3 ? 1 : 0));
    upc::barrier();
}

/// Every element through a view, read and written, and the whole through pointers that walk.
template <std::size_t B>
void check_views(const upc::SharedArray<std::int64_t, B>& a, std::int64_t n) {
    const auto v = upc::view(a);
    upc::forall(0, n, a, [&](std::int64_t i) { v[i] = 7 * i; });
    upc::barrier();
    for (std::int64_t i = 0; i < n; ++i) {
        REQUIRE(+v[i] == 7 * i);
        REQUIRE(v[i].place().thread == a.place(i).thread);
        REQUIRE(v[i].place().address == a.place(i).address);
    }
    upc::barrier();
    upc::forall(0, n, a, [&](std::int64_t i) { v[i] += 1; });
    upc::barrier();
    {
        // Accesses that must go through the runtime do, where the view is made then.
        const upc::ConsistencyScope scope{upc::Consistency::strict};
        const auto strict = upc::view(a);
        REQUIRE((n == 0 || strict.near_element(0) == nullptr));
        if (n > 0) REQUIRE(+strict[n - 1] == 7 * (n - 1) + 1);
    }
    // Two pointers, of which one begins within a block, and other threads' blocks between its own ones.
    for (const std::int64_t first : {std::int64_t{0}, n / 3}) {
        std::int64_t seen = first;
        bool right = true;
        const auto look = [&](auto&& one, auto&& other) {
            const std::int64_t x = +one;
            const std::int64_t y = +other;
            right = right && x == 7 * seen + 1 && y == 7 * (seen - first) + 1;
            ++seen;
        };
        upc::walk(n - first, look, a + first, a.begin());
        REQUIRE(right);
        REQUIRE(seen == n);
    }
    upc::barrier();
    if (upc::mythread() == upc::threads() - 1) {
        upc::walk(n, [](auto&& x) { x = -x; }, a.begin());
        upc::fence();
    }
    upc::barrier();
    for (std::int64_t i = 0; i < n; ++i) REQUIRE(+a[i] == -7 * i - 1);
    upc::barrier();
}

/// Elements at random, of which a thread reads and writes those that are its own to use in a round, and all read all
/// after it.
template <class T>
void check_reads_at_random(std::size_t size, std::size_t block) {
    const upc::SharedArray<T, upc::dynamic_block> a{size, block};
    const auto n = static_cast<std::int64_t>(size);
    std::vector<T> expected(size);
    const auto near_elements = [&] {
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < n; ++i) count += a.near_element(i) != nullptr ? 1 : 0;
        return count;
    };
    const std::int64_t near = near_elements();
    std::int64_t first_near = 0;
    while (near != 0 && a.near_element(first_near) == nullptr) ++first_near;
    // Enough of them are elsewhere and in the cache, in blocks that are large enough.
    const bool mixes = block * sizeof(T) >= 16384 && near < n;
    for (int round = 0; round < 3; ++round) {
        INFO(size << " elements of " << sizeof(T) << " bytes in blocks of " << block << ", round " << round);
        test::Random random{static_cast<unsigned>(100 + round)}; // the same on all threads
        std::int64_t wrong = 0;
        for (std::int64_t k = 0; k < 4 * n; ++k) {
            const std::int64_t i = random.number(0, n - 1);
            T& value = expected[static_cast<std::size_t>(i)];
            if ((i + round) % upc::threads() == upc::mythread()) wrong += T{a[i]} != value ? 1 : 0;
            value = static_cast<T>(value + 1);
            if ((i + round) % upc::threads() == upc::mythread()) a[i] = value;
        }
        CHECK(wrong == 0);
        upc::barrier();
        const auto v = upc::view(a);
        for (std::int64_t k = 0; k < 4 * n; ++k) {
            const std::int64_t i = random.number(0, n - 1);
            const T value = k % 2 == 0 ? T{a[i]} : T{v[i]};
            wrong += value != expected[static_cast<std::size_t>(i)] ? 1 : 0;
        }
        CHECK(wrong == 0);
        if (mixes) CHECK(near_elements() == 0);
        upc::barrier();
        // Own elements are written and read in the plain way again.
        if (near != 0) a[first_near] = +a[first_near];
        CHECK(near_elements() == near);
        upc::barrier();
    }
}

struct Particle {
    double mass;
    std::int32_t charge;
    std::int16_t tags[4];
};

/// Writes the elements of the thread after this one, in every way; each write is in the copies at once.
template <std::size_t B>
void check_writes_to_copies(const upc::SharedArray<std::int64_t, B>& a, std::int64_t n, bool consistent) {
    const int next = (upc::mythread() + 1) % upc::threads();
    const upc::SharedArray<std::int64_t> values{static_cast<std::size_t>(n)}; // element i is at other threads as well
    upc::forall(0, n, values, [&](std::int64_t i) { values[i] = 9000 + i; });
    upc::barrier();
    std::vector<const std::int64_t*> places;
    for (std::int64_t i = 0; i < n; ++i) places.push_back(a.near_element(i));
    {
        upc::Prefetched copies{a, 0, n, {.consistent = consistent}};
        copies.update();
        const auto v = upc::view(a);
        upc::barrier();
        int way = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            if (a.threadof(i) != next) continue;
            if (!consistent && next != upc::mythread()) REQUIRE(a.near_element(i) == nullptr);
            std::int64_t value = 9000 + i;
            INFO("element " << i << ", way " << way);
            switch (way++ % 9) {
            case 0: a[i] = value; break;
            case 1: a[i] = 1, a[i] += value - 1; break;
            case 2: *(a + i) = value; break;
            case 3: v[i] = value; break;
            case 4: lapwing_upc_memput((a + i).raw(), &value, sizeof value); break;
            case 5: lapwing_upc_memset((a + i).raw(), 1, sizeof value), value = 0x0101010101010101; break;
            case 6: lapwing_upc_memcpy((a + i).raw(), (values + i).raw(), sizeof value); break;
            case 7: lapwing_upc_sync(lapwing_upc_memcpy_nb((a + i).raw(), (values + i).raw(), sizeof value)); break;
            default: upc::walk(1, [&](auto&& element) { element = value; }, a + i); break;
            }
            REQUIRE(copies[i] == value);
            REQUIRE(+a[i] == value);
        }
        upc::barrier();
        // Own elements, as before.
        upc::forall(0, n, a, [&](auto i) { a[i] = 3 * i; });
        upc::barrier();
        for (std::int64_t i = 0; i < n; ++i) REQUIRE(+a[i] == 3 * i);
        upc::barrier();
    }
    for (std::int64_t i = 0; i < n; ++i) REQUIRE(a.near_element(i) == places[static_cast<std::size_t>(i)]);
    upc::barrier();
}

} // namespace

TEST_CASE("arrays whose block size is known when the program runs") {
    const test::UpcProgram program;
    test::Random random{11};
    for (int round = 0; round < 30; ++round) {
        const std::int64_t n = random.number(1, 200);
        const std::int64_t block = random.number(0, 12);
        const upc::SharedArray<std::int64_t, upc::dynamic_block> a{static_cast<std::size_t>(n),
                                                                   static_cast<std::size_t>(block)};
        check_elements(a, n, block);
        check_views(a, n);
    }
    const upc::SharedArray<std::int64_t, 3> fixed{100};
    check_elements(fixed, 100, 3);
    check_views(fixed, 100);
    const upc::SharedArray<std::int64_t, upc::dynamic_block> star{100}; // shared [*]
    check_elements(star, 100, (100 - 1) / upc::threads() + 1);
    CHECK(upc::localsizeof(star) == 8 * static_cast<std::size_t>((100 - 1) / upc::threads() + 1));
    CHECK(upc::elemsizeof(star) == 8);
    const upc::SharedArray<std::int64_t, upc::indefinite> whole{50};
    check_elements(whole, 50, 0);
    check_views(whole, 50);
    const upc::SharedArray<std::int64_t> ones{70};
    check_views(ones, 70);
    CHECK(upc::localsizeof(whole) == 400);
    const upc::SharedArray<double> empty{0};
    CHECK(empty.size() == 0);
    upc::barrier();
}

TEST_CASE("casts between block sizes and types, and pointers that lie in shared memory") {
    const test::UpcProgram program;
    const upc::SharedArray<std::int32_t, 4> a{64};
    upc::forall(0, 64, a, [&](std::int64_t i) { a[i] = static_cast<std::int32_t>(i); });
    const upc::Pointer<std::int32_t, 4> fourth = a + 5;
    const upc::Pointer<std::int32_t> by_one{fourth};
    CHECK(by_one.phaseof() == 0);
    CHECK(by_one == upc::Pointer<std::int32_t>{upc::resetphase(fourth)});
    CHECK(upc::threadof(by_one + 1) == (upc::threadof(fourth) + 1) % upc::threads());
    const upc::Pointer<std::int32_t, upc::dynamic_block> dynamic{fourth, 4};
    CHECK(dynamic.phaseof() == 1);
    CHECK((dynamic + 3).threadof() == (a + 8).threadof());
    const upc::Pointer<std::int16_t, 4> halves{fourth}; // other elements
    CHECK(halves.phaseof() == 0);
    const upc::Pointer<const std::int32_t, 4> read_only{fourth};
    CHECK(read_only.phaseof() == 1);
    // Thread t publishes a pointer to its first element.
    using Shared = upc::Pointer<std::int32_t, 4>;
    const upc::SharedArray<Shared> pointers{static_cast<std::size_t>(upc::threads())};
    pointers[upc::mythread()] = a + 4 * upc::mythread();
    upc::barrier();
    for (int t = 0; t < upc::threads(); ++t) {
        const Shared p = pointers[t];
        REQUIRE(p.threadof() == t);
        REQUIRE(+p[2] == 4 * t + 2);
    }
    upc::barrier();
}

TEST_CASE("arrays of several dimensions are distributed as one row") {
    const test::UpcProgram program;
    constexpr std::int64_t n = 6;
    constexpr std::int64_t m = 7;
    constexpr std::int64_t k = 3;
    const upc::SharedArray<std::int32_t, 5, 3> a{{n, m, k}};
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < m; ++j)
            for (std::int64_t l = 0; l < k; ++l)
                if (owner((i * m + j) * k + l, 5) == upc::mythread())
                    a[i][j][l] = static_cast<std::int32_t>(100 * i + 10 * j + l);
    upc::barrier();
    for (std::int64_t i = 0; i < n; ++i) {
        const upc::Pointer<std::int32_t, 5> row = a[i];
        REQUIRE(+*row == 100 * i);
        REQUIRE(a[i].threadof() == owner(i * m * k, 5));
        for (std::int64_t j = 0; j < m; ++j)
            for (std::int64_t l = 0; l < k; ++l) {
                REQUIRE(+a[i][j][l] == 100 * i + 10 * j + l);
                REQUIRE(+a(i, j, l) == 100 * i + 10 * j + l);
                REQUIRE(+row[j * k + l] == 100 * i + 10 * j + l);
            }
    }
    CHECK(a.extent(1) == 7);
    upc::barrier();
}

TEST_CASE("loops share their iterations by a number, an element, a pointer, or not at all") {
    const test::UpcProgram program;
    const upc::SharedArray<std::int64_t> times{60};
    const upc::SharedArray<std::int64_t, 3> a{60};
    upc::AtomicDomain<std::int64_t> domain;
    const auto expect = [&](std::int64_t begin, std::int64_t end, std::int64_t step, std::int64_t count) {
        upc::barrier();
        for (std::int64_t i = 0; i < 60; ++i) {
            const bool in = i >= begin && i < end && (i - begin) % step == 0;
            REQUIRE(+times[i] == (in ? count : 0));
        }
        upc::barrier();
        upc::forall(0, 60, times, [&](std::int64_t i) { times[i] = 0; });
        upc::barrier();
    };
    const auto count = [&](std::int64_t i) { domain.add(times[i], 1); };
    upc::barrier();
    upc::forall(3, 50, [&](std::int64_t i) {
        CHECK(i % upc::threads() == upc::mythread());
        count(i);
    });
    expect(3, 50, 1, 1);
    upc::forall(lapwing::Range{3, 50}.by(4), count);
    expect(3, 50, 4, 1);
    upc::forall(0, 60, a, count);
    expect(0, 60, 1, 1);
    upc::forall(
        0, 60, [&](std::int64_t i) { return a + i; },
        [&](std::int64_t i) {
            CHECK(a.threadof(i) == upc::mythread());
            count(i);
        });
    expect(0, 60, 1, 1);
    upc::forall(0, 60, [](std::int64_t i) { return -i; }, count); // numbers below zero have a thread, too
    expect(0, 60, 1, 1);
    upc::forall(0, 60, upc::every_thread, count);
    expect(0, 60, 1, upc::threads());
    // Inside a loop that shares its iterations out, each thread does all of the inner ones; inside one that does not,
    // they are shared out.
    upc::forall(0, upc::threads(), [&](std::int64_t) { upc::forall(0, 60, a, count); });
    expect(0, 60, 1, upc::threads());
    upc::forall(0, 2, upc::every_thread, [&](std::int64_t) { upc::forall(0, 60, a, count); });
    expect(0, 60, 1, 2);
}

TEST_CASE("structures, their members, and shared scalars") {
    const test::UpcProgram program;
    const upc::SharedArray<Particle, 2> particles{20};
    upc::Shared<double> total;
    CHECK(+total == 0);
    upc::Lock lock;
    upc::forall(0, 20, particles, [&](std::int64_t i) {
        particles[i] = Particle{.mass = 0.5, .charge = static_cast<std::int32_t>(i), .tags = {1, 2, 3, 4}};
    });
    upc::barrier();
    const auto next = static_cast<std::int64_t>((upc::mythread() + 1) % upc::threads());
    particles[2 * next]->*& Particle::charge += 1000;
    (particles + (2 * next + 1))->*& Particle::mass = 2.0;
    upc::barrier();
    for (std::int64_t t = 0; t < upc::threads() && t < 10; ++t) {
        REQUIRE(+(particles[2 * t]->*&Particle::charge) == 2 * t + 1000);
        REQUIRE(particles[2 * t].get().mass == 0.5);
        REQUIRE(particles[2 * t].get().tags[3] == 4);
        REQUIRE(+(particles[2 * t + 1]->*&Particle::mass) == 2.0);
    }
    lock.lock();
    total = total + 1.5;
    *total += 1;
    lock.unlock();
    upc::barrier();
    CHECK(total == 2.5 * upc::threads());
    CHECK(upc::threadof(total.pointer()) == 0);
    upc::barrier();
}

TEST_CASE("blocks of memory with types, and memory that a thread allocates") {
    const test::UpcProgram program;
    const upc::SharedArray<double, upc::dynamic_block> a{static_cast<std::size_t>(10 * upc::threads())};
    const int next = (upc::mythread() + 1) % upc::threads();
    std::vector<double> out(10, 1.0 + upc::mythread());
    upc::memput(a + 10 * next, out.data(), 80);
    upc::barrier();
    std::vector<double> in(10);
    upc::memget(in.data(), a + 10 * next, 80);
    CHECK(in == out);
    upc::barrier();
    upc::memset(a + 10 * upc::mythread(), 0, 40);
    upc::barrier();
    CHECK(+a[10 * next] == 0.0);
    CHECK(+a[10 * next + 5] == 1.0 + upc::mythread());
    // A directory: each thread's memory, whose pointer is in a shared array.
    const upc::SharedArray<upc::Pointer<std::int32_t, upc::indefinite>> directory{
        static_cast<std::size_t>(upc::threads())};
    const auto mine = upc::alloc<std::int32_t>(100);
    for (std::int32_t i = 0; i < 100; ++i) mine[i] = 100 * upc::mythread() + i;
    directory[upc::mythread()] = mine;
    upc::barrier();
    CHECK(+directory[next].get()[42] == 100 * next + 42);
    upc::barrier();
    upc::free(directory[next].get()); // by another thread
    upc::barrier();
    const auto together = upc::all_alloc<std::int64_t, 4>(static_cast<std::size_t>(upc::threads()));
    CHECK(upc::threadof(together + 4) == 1 % upc::threads());
    upc::all_free(together);
}

TEST_CASE("non-blocking copies, explicit and implicit") {
    const test::UpcProgram program;
    constexpr std::size_t bytes = 100'000;
    constexpr std::int64_t each = bytes / 8;
    const upc::SharedArray<std::int64_t, upc::dynamic_block> a{static_cast<std::size_t>(each * upc::threads())};
    const upc::SharedArray<std::int64_t, upc::dynamic_block> b{static_cast<std::size_t>(each * upc::threads())};
    upc::forall(0, each * upc::threads(), a, [&](std::int64_t i) { a[i] = i; });
    upc::barrier();
    const int me = upc::mythread();
    const int threads = upc::threads();
    {
        std::vector<std::vector<std::int64_t>> parts(static_cast<std::size_t>(threads),
                                                     std::vector<std::int64_t>(each));
        std::vector<upc::Handle> handles;
        handles.reserve(parts.size());
        for (int t = 0; t < threads; ++t)
            handles.push_back(upc::memget_nb(parts[static_cast<std::size_t>(t)].data(), a + each * t, bytes));
        for (upc::Handle& handle : handles)
            while (!handle.test()) {
            }
        for (int t = 0; t < threads; ++t)
            for (std::int64_t i = 0; i < each; i += 997)
                REQUIRE(parts[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)] == t * each + i);
    }
    upc::barrier();
    const std::int64_t next = (me + 1) % threads;
    {
        std::vector<std::int64_t> source(each, 1000 + me);
        upc::Handle put = upc::memput_nb(b + each * next, source.data(), bytes / 2);
        put.wait();
        source.assign(each, -1); // it may be written to
        upc::Handle copy = upc::memcpy_nb(b + (each * next + each / 2), a + each * ((me + 2) % threads),
                                          bytes / 4); // often between two other threads
        copy.wait();
        upc::memset_nbi(b + (each * next + each / 4 * 3), 0, 64);
        upc::synci();
    }
    upc::barrier();
    const std::int64_t before = (me + threads - 1) % threads;
    CHECK(+b[each * me] == 1000 + before);
    CHECK(+b[each * me + each / 2 - 1] == 1000 + before);
    CHECK(+b[each * me + each / 2] == each * ((before + 2) % threads));
    CHECK(+b[each * me + each / 4 * 3] == 0);
    upc::barrier();
    std::vector<std::int64_t> here(static_cast<std::size_t>(threads));
    for (int t = 0; t < threads; ++t) upc::memget_nbi(&here[static_cast<std::size_t>(t)], a + (each * t + 5), 8);
    while (!upc::synci_attempt()) {
    }
    for (int t = 0; t < threads; ++t) CHECK(here[static_cast<std::size_t>(t)] == each * t + 5);
    CHECK(test::upc_error_of([&] { lapwing_upc_memget_nb(here.data(), {}, 8); }).find("null pointer") !=
          std::string::npos);
    upc::barrier();
}

TEST_CASE("prefetched ranges of arrays read as the arrays do, and manual copies stay until they are updated") {
    const test::UpcProgram program;
    test::Random random{5};
    for (int round = 0; round < 12; ++round) {
        const std::int64_t n = 300;
        const std::int64_t block = random.number(0, 40);
        const upc::SharedArray<std::int64_t, upc::dynamic_block> a{n, static_cast<std::size_t>(block)};
        const std::int64_t begin = random.number(0, n - 1);
        const std::int64_t end = random.number(begin, n);
        upc::Prefetched automatic{a, begin, end};
        upc::Prefetched manual{a, begin, end, {.consistent = false}};
        for (std::int64_t step = 1; step <= 3; ++step) {
            upc::forall(0, n, a, [&](std::int64_t i) { a[i] = 1000 * step + i; });
            upc::barrier();
            if (step != 2) manual.update();
            for (std::int64_t i = begin; i < end; ++i) {
                REQUIRE(automatic[i] == 1000 * step + i);
                const bool own = a.threadof(i) == upc::mythread();
                REQUIRE(manual[i] == 1000 * (step == 2 && !own ? 1 : step) + i);
            }
            upc::barrier();
        }
        CHECK((manual.memory() > 0) == [&] {
            for (std::int64_t i = begin; i < end; ++i)
                if (a.threadof(i) != upc::mythread()) return true;
            return false;
        }());
        upc::barrier();
    }
    const upc::SharedArray<double> b{10};
    CHECK_THAT(test::upc_error_of([&] { const upc::Prefetched wrong{b, 5, 11}; }),
               test::says({"a prefetch", "5 to 11", "array of 10"}));
    upc::barrier();
}

TEST_CASE("a thread's writes to what it has prefetched go to the copies, on the node, too") {
    const test::UpcProgram program;
    const std::int64_t n = 60 * program.threads;
    const upc::SharedArray<std::int64_t> single{static_cast<std::size_t>(n)};
    const upc::SharedArray<std::int64_t, 4> blocks{static_cast<std::size_t>(n)};
    const upc::SharedArray<std::int64_t, 60> one_block{static_cast<std::size_t>(n)};
    const upc::SharedArray<std::int64_t, upc::dynamic_block> chosen{static_cast<std::size_t>(n), 5};
    for (const bool consistent : {true, false}) {
        INFO("consistent " << consistent);
        check_writes_to_copies(single, n, consistent);
        check_writes_to_copies(blocks, n, consistent);
        check_writes_to_copies(one_block, n, consistent);
        check_writes_to_copies(chosen, n, consistent);
    }
}

TEST_CASE("a view for a constant number of threads is refused with another") {
    const test::UpcProgram program;
    const upc::SharedArray<std::int64_t, 2> a{64};
    const auto read = [&]<int Threads>() {
        const auto v = upc::view<Threads>(a);
        upc::forall(0, 64, a, [&](std::int64_t i) { v[i] = i; });
        upc::barrier();
        bool right = true;
        for (std::int64_t i = 0; i < 64; ++i) right = right && +v[i] == i;
        CHECK(right);
        upc::barrier();
    };
    switch (upc::threads()) {
    case 1: read.operator()<1>(); break;
    case 2: read.operator()<2>(); break;
    case 3: read.operator()<3>(); break;
    default: break;
    }
    CHECK_THAT(test::upc_error_of([&] { (void)upc::view<1000>(a); }), test::says({"upc::view<1000>", "1000 threads"}));
    upc::barrier();
}

TEST_CASE("a view of several dimensions has the array's elements") {
    const test::UpcProgram program;
    const upc::SharedArray<std::int32_t, 4, 2> a{{9, 10}};
    const auto v = upc::view(a);
    for (std::int64_t i = 0; i < 9; ++i)
        for (std::int64_t j = 0; j < 10; ++j)
            if (owner(i * 10 + j, 4) == upc::mythread()) v(i, j) = static_cast<std::int32_t>(100 * i + j);
    upc::barrier();
    bool right = true;
    for (std::int64_t i = 0; i < 9; ++i)
        for (std::int64_t j = 0; j < 10; ++j) right = right && +a[i][j] == 100 * i + j && +v(i, j) == 100 * i + j;
    CHECK(right);
    upc::barrier();
}

TEST_CASE("elements of all threads are read at random, and between writes to others") {
    upc::ProgramOptions options;
    options.cache.mode = lapwing::CacheMode::epoch;
    const upc::Program program{options};
    for (const std::size_t block : {0U, 1U, 16U, 100U, 1500U}) {
        check_reads_at_random<double>(3000, block);
        check_reads_at_random<std::int16_t>(3000, block);
    }
    check_reads_at_random<double>(16000, 16000 / static_cast<std::size_t>(upc::threads()));
    // Another array in the memory of one before.
    for (const std::size_t size : {2000U, 2000U, 999U}) check_reads_at_random<std::int32_t>(size, size / 3 + 1);
}
