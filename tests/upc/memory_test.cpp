// Pointers-to-shared, accesses and memory functions of UPC, against a look at every element.
#include "tests/distribution/random_maps.hpp"
#include "tests/upc/upc_test.hpp"

#include <lapwing/detail/config.hpp>
#include <lapwing/team.hpp>
#include <lapwing/upc/prefetched.hpp>
#include <lapwing/upc/program.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace {

/// Element i of an object in blocks, by UPC's definition (language specification 1.3, section 6.5.1.1): block i / B is
/// thread (i / B) mod THREADS's, its (i / B / THREADS)-th.
lapwing_upc_pointer element(std::uint64_t begin, std::uint64_t bytes, std::int64_t block, int threads, std::int64_t i) {
    if (block == 0) return {begin + static_cast<std::uint64_t>(i) * bytes, 0, 0};
    const std::int64_t number = i / block;
    return {begin + static_cast<std::uint64_t>(number / threads * block + i % block) * bytes,
            static_cast<std::uint32_t>(number % threads), static_cast<std::uint32_t>(i % block)};
}

/// lapwing_upc_add(), which at assertion level 2 wants an object; these pointers are into none.
lapwing_upc_pointer add(const lapwing_upc_pointer& p, std::size_t bytes, std::size_t block, std::int64_t elements) {
    if constexpr (lapwing::assertion_level >= 2)
        return lapwing::upc::detail::heap_access.threads.add(p, bytes, block, elements);
    else return lapwing_upc_add(p, bytes, block, elements);
}

bool same(const lapwing_upc_pointer& a, const lapwing_upc_pointer& b) {
    return lapwing_upc_equal(a, b) != 0 && a.phase == b.phase;
}

} // namespace

TEST_CASE("pointers go through blocks and threads in UPC's order, both ways, by any distance") {
    const test::UpcProgram program;
    test::Random random{71};
    for (int round = 0; round < 20000; ++round) {
        const std::int64_t block = random.number(0, random.number(0, 2) == 0 ? 100 : 5);
        const auto bytes = static_cast<std::uint64_t>(random.number(1, 24));
        const std::int64_t i = random.number(0, 3000);
        const std::int64_t j = random.number(0, 3000);
        const lapwing_upc_pointer from = element(4096, bytes, block, program.threads, i);
        const lapwing_upc_pointer to = element(4096, bytes, block, program.threads, j);
        REQUIRE(same(add(from, bytes, static_cast<std::size_t>(block), j - i), to));
        REQUIRE(lapwing_upc_difference(to, from, bytes, static_cast<std::size_t>(block)) == j - i);
    }
    // Far away.
    const std::int64_t far = std::int64_t{1} << 40;
    REQUIRE(
        same(add(element(4096, 8, 7, program.threads, 3), 8, 7, far), element(4096, 8, 7, program.threads, far + 3)));
}

TEST_CASE("the part of an object that a thread has") {
    const test::UpcProgram program;
    for (const std::size_t block : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{100}})
        for (std::size_t total = 0; total < 60; ++total) {
            std::vector<std::size_t> own(static_cast<std::size_t>(program.threads));
            for (std::size_t byte = 0; byte < total; ++byte) ++own[block == 0 ? 0 : byte / block % own.size()];
            for (std::size_t thread = 0; thread < own.size(); ++thread)
                REQUIRE(lapwing_upc_affinitysize(total, block, thread) == own[thread]);
        }
}

TEST_CASE("memory of the heap begins at multiples of 64 on every path, and holds types that need it") {
    const test::UpcProgram program;
    for (std::size_t bytes = 8; bytes < 200; bytes += 16) {
        lapwing_upc_pointer all = lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), bytes);
        lapwing_upc_pointer own = lapwing_upc_alloc(bytes);
        all.thread = static_cast<std::uint32_t>(program.me);
        REQUIRE(reinterpret_cast<std::uintptr_t>(lapwing_upc_cast(all)) % 64 == 0);
        REQUIRE(reinterpret_cast<std::uintptr_t>(lapwing_upc_cast(own)) % 64 == 0);
    }
}

TEST_CASE("elements of an array in blocks are written and read by all threads, and cast by their own") {
    const test::UpcProgram program;
    constexpr std::int64_t block = 5;
    constexpr std::int64_t n = 203;
    const auto blocks = static_cast<std::size_t>((n - 1) / block + 1);
    const lapwing_upc_pointer array = lapwing_upc_all_alloc(blocks, block * sizeof(std::int64_t));
    for (std::int64_t i = program.me; i < n; i += program.threads) {
        const std::int64_t value = 1000 + i;
        lapwing_upc_put(lapwing_upc_add(array, 8, block, i), &value, 8);
    }
    lapwing_upc_barrier(nullptr);
    for (std::int64_t i = 0; i < n; ++i) {
        const lapwing_upc_pointer p = lapwing_upc_add(array, 8, block, i);
        std::int64_t value = 0;
        lapwing_upc_get(&value, p, 8);
        REQUIRE(value == 1000 + i);
        REQUIRE(lapwing_upc_threadof(p) == static_cast<std::size_t>(i / block % program.threads));
        REQUIRE(lapwing_upc_phaseof(p) == static_cast<std::size_t>(i % block));
        void* const here = lapwing_upc_cast(p);
        // Memory that MPI_Win_allocate gives lies as MPI has it.
        if (lapwing::upc::detail::heap_window().team().network_path() != lapwing::Path::rma)
            REQUIRE(reinterpret_cast<std::uintptr_t>(
                        lapwing_upc_cast({array.address, static_cast<std::uint32_t>(program.me), 0})) %
                        64 ==
                    0);
        if (lapwing_upc_threadof(p) == static_cast<std::size_t>(program.me)) {
            REQUIRE(here != nullptr);
            REQUIRE(*static_cast<std::int64_t*>(here) == 1000 + i);
            REQUIRE(lapwing_upc_equal(lapwing_upc_own_pointer(here), p) != 0);
        } else if (here != nullptr) {
            REQUIRE(*static_cast<std::int64_t*>(here) == 1000 + i);
        }
    }
    lapwing_upc_barrier(nullptr);
    std::int64_t strict = -1;
    if (program.me == 0) lapwing_upc_put_strict(array, &strict, 8);
    lapwing_upc_barrier(nullptr);
    std::int64_t found = 0;
    lapwing_upc_get_strict(&found, array, 8);
    CHECK(found == -1);
    lapwing_upc_all_free(array);
}

TEST_CASE("blocks of memory are moved between any two threads, and set") {
    const test::UpcProgram program;
    constexpr std::size_t bytes = 5'000'000; // more than the piece that travels through the caller
    const auto threads = static_cast<std::uint32_t>(program.threads);
    const lapwing_upc_pointer from = lapwing_upc_all_alloc(threads, bytes);
    const lapwing_upc_pointer to = lapwing_upc_all_alloc(threads, bytes);
    auto* const own =
        static_cast<unsigned char*>(lapwing_upc_cast({from.address, static_cast<std::uint32_t>(program.me), 0}));
    for (std::size_t k = 0; k < bytes; ++k)
        own[k] = static_cast<unsigned char>(k * 7 + static_cast<std::size_t>(program.me));
    lapwing_upc_barrier(nullptr);
    // Thread 0 moves what thread t has to thread t + 1.
    if (program.me == 0)
        for (std::uint32_t t = 0; t < threads; ++t)
            lapwing_upc_memcpy({to.address, (t + 1) % threads, 0}, {from.address, t, 0}, bytes);
    lapwing_upc_barrier(nullptr);
    const auto before = static_cast<std::size_t>((program.me + program.threads - 1) % program.threads);
    const auto* const copied =
        static_cast<const unsigned char*>(lapwing_upc_cast({to.address, static_cast<std::uint32_t>(program.me), 0}));
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < bytes; ++k) wrong += copied[k] == static_cast<unsigned char>(k * 7 + before) ? 0U : 1U;
    CHECK(wrong == 0);
    lapwing_upc_barrier(nullptr);
    const std::uint32_t next = static_cast<std::uint32_t>(program.me + 1) % threads;
    lapwing_upc_memset({to.address + 3, next, 0}, 0x5a, 100'000);
    lapwing_upc_barrier(nullptr);
    CHECK(copied[2] == static_cast<unsigned char>(2 * 7 + before));
    CHECK(copied[3] == 0x5a);
    CHECK(copied[100'002] == 0x5a);
    CHECK(copied[100'003] == static_cast<unsigned char>(100'003 * 7 + before));
    std::vector<unsigned char> part(1000);
    lapwing_upc_memget(part.data(), {from.address + 17, next, 0}, part.size());
    CHECK(part[999] == static_cast<unsigned char>((17 + 999) * 7 + next));
    lapwing_upc_barrier(nullptr);
    lapwing_upc_memput({to.address, next, 0}, part.data(), part.size());
    lapwing_upc_barrier(nullptr);
    CHECK(copied[999] == static_cast<unsigned char>((17 + 999) * 7 + static_cast<std::size_t>(program.me)));
    lapwing_upc_all_free(from);
    lapwing_upc_all_free(to);
}

TEST_CASE("single accesses of every size, aligned and not, read what was written, and no byte beside it changes") {
    const test::UpcProgram program;
    constexpr std::size_t bytes = 4096;
    const lapwing_upc_pointer all = lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), bytes);
    auto* const own =
        static_cast<unsigned char*>(lapwing_upc_cast({all.address, static_cast<std::uint32_t>(program.me), 0}));
    const auto initial = [](int thread, std::size_t k) {
        return static_cast<unsigned char>(k * 5 + static_cast<std::size_t>(thread));
    };
    for (std::size_t k = 0; k < bytes; ++k) own[k] = initial(program.me, k);
    lapwing_upc_barrier(nullptr);
    const int next = (program.me + 1) % program.threads;
    std::vector<unsigned char> expected(bytes);
    for (std::size_t k = 0; k < bytes; ++k) expected[k] = initial(next, k);
    const auto at = [&](std::size_t k) {
        return lapwing_upc_pointer{all.address + k, static_cast<std::uint32_t>(next), 0};
    };
    test::Random random{29};
    std::size_t wrong = 0;
    // More often than a cache takes to keep the pages at hand.
    for (int round = 0; round < 4000; ++round) {
        const auto size = static_cast<std::size_t>(random.number(1, 9));
        const std::size_t step = random.number(0, 1) == 0 ? 1 : size;
        const std::size_t k = static_cast<std::size_t>(random.number(0, bytes - 9)) / step * step;
        std::array<unsigned char, 9> value{};
        if (random.number(0, 2) == 0) {
            for (std::size_t b = 0; b < size; ++b)
                expected[k + b] = value[b] = static_cast<unsigned char>(static_cast<std::size_t>(round) + 3 * b);
            lapwing_upc_put(at(k), value.data(), size);
        } else {
            lapwing_upc_get(value.data(), at(k), size);
            wrong += std::memcmp(value.data(), expected.data() + k, size) == 0 ? 0U : 1U;
        }
    }
    CHECK(wrong == 0);
    lapwing_upc_barrier(nullptr);
    std::vector<unsigned char> found(bytes);
    lapwing_upc_memget(found.data(), at(0), bytes);
    CHECK(found == expected);
    lapwing_upc_barrier(nullptr);
    lapwing_upc_all_free(all);
}

TEST_CASE("accesses to nothing, to no thread and beyond a part say so") {
    const test::UpcProgram program;
    double x = 0;
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_get(&x, {}, 8); }),
               test::says({"thread " + std::to_string(program.me), "get", "null pointer"}));
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_put({65536, 77, 0}, &x, 8); }),
               test::says({"put", "thread 77", "threads are numbered from 0 to"}));
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_memget(&x, {65536, 0, 0}, std::size_t{1} << 50); }),
               test::says({"upc_memget", "leave the thread's part"}));
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_own_pointer(&x); }),
               test::says({"own_pointer", "not in the calling thread's part"}));
    CHECK(lapwing_upc_is_null({}) != 0);
    CHECK(lapwing_upc_cast({}) == nullptr);
    lapwing_upc_barrier(nullptr);
}
