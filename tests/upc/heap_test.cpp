// The shared heap: no two allocations overlap, whoever makes them, and what was freed is there again.
#include "tests/distribution/random_maps.hpp"
#include "tests/upc/upc_test.hpp"

#include <cstdint>
#include <vector>

namespace {

struct Allocation {
    lapwing_upc_pointer pointer;
    std::size_t bytes = 0;
    unsigned char value = 0;
};

/// Fills an allocation of one thread's memory, and looks whether it still has what it was filled with.
void fill(const Allocation& allocation) { lapwing_upc_memset(allocation.pointer, allocation.value, allocation.bytes); }
bool holds(const Allocation& allocation) {
    std::vector<unsigned char> found(allocation.bytes);
    lapwing_upc_memget(found.data(), allocation.pointer, found.size());
    for (const unsigned char byte : found)
        if (byte != allocation.value) return false;
    return true;
}

} // namespace

TEST_CASE("all threads allocate and free at once, and nothing overlaps") {
    const test::UpcProgram program;
    test::Random random{static_cast<unsigned>(80 + program.me)};
    std::vector<Allocation> mine;
    for (int round = 0; round < 250; ++round) {
        if (mine.empty() || random.number(0, 2) > 0) {
            Allocation made;
            made.bytes = static_cast<std::size_t>(random.number(1, random.number(0, 3) == 0 ? 5000 : 60));
            made.value = static_cast<unsigned char>(random.number(1, 255));
            // Of blocks only the first thread's are looked at: the others lie at the same addresses.
            made.pointer =
                random.number(0, 1) == 0
                    ? lapwing_upc_global_alloc(static_cast<std::size_t>(random.number(1, program.threads)), made.bytes)
                    : lapwing_upc_alloc(made.bytes);
            REQUIRE(lapwing_upc_is_null(made.pointer) == 0);
            REQUIRE(made.pointer.address % 16 == 0);
            fill(made);
            mine.push_back(made);
        } else {
            const auto k = static_cast<std::size_t>(random.number(0, static_cast<std::int64_t>(mine.size()) - 1));
            REQUIRE(holds(mine[k]));
            lapwing_upc_free(mine[k].pointer);
            mine[k] = mine.back();
            mine.pop_back();
        }
    }
    lapwing_upc_barrier(nullptr);
    for (const Allocation& allocation : mine) REQUIRE(holds(allocation));
    for (const Allocation& allocation : mine) lapwing_upc_free(allocation.pointer);
    lapwing_upc_barrier(nullptr);
    // All of it is one piece again.
    const lapwing_upc_pointer most =
        lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), (std::size_t{64} << 20) - 32);
    CHECK(lapwing_upc_is_null(most) == 0);
    lapwing_upc_all_free(most);
    const lapwing_upc_pointer own = lapwing_upc_alloc((std::size_t{16} << 20) - 32);
    CHECK(own.thread == static_cast<std::uint32_t>(program.me));
    lapwing_upc_barrier(nullptr);
    lapwing_upc_free(own);
}

TEST_CASE("a thread frees what another one has allocated") {
    const test::UpcProgram program;
    const lapwing_upc_pointer exchange =
        lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), sizeof(lapwing_upc_pointer));
    const lapwing_upc_pointer made = lapwing_upc_alloc(100);
    // Pointers lie in shared memory themselves.
    lapwing_upc_put({exchange.address, static_cast<std::uint32_t>((program.me + 1) % program.threads), 0}, &made,
                    sizeof(made));
    lapwing_upc_barrier(nullptr);
    lapwing_upc_pointer given{};
    lapwing_upc_get(&given, {exchange.address, static_cast<std::uint32_t>(program.me), 0}, sizeof(given));
    CHECK(given.thread == static_cast<std::uint32_t>((program.me + program.threads - 1) % program.threads));
    lapwing_upc_free(given);
    lapwing_upc_barrier(nullptr);
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_free(made); }), test::says({"upc_free", "freed before"}));
    lapwing_upc_all_free(exchange);
}

TEST_CASE("a heap that is exhausted, and what cannot be freed, say why, and the program goes on") {
    const test::UpcProgram program;
    CHECK_THAT(test::upc_error_of([&] {
                   (void)lapwing_upc_global_alloc(static_cast<std::size_t>(program.threads), std::size_t{2} << 30);
               }),
               test::says({"upc_global_alloc", "2147483648 bytes for each thread", "LAPWING_UPC_HEAP"}));
    CHECK_THAT(test::upc_error_of([&] { (void)lapwing_upc_all_alloc(SIZE_MAX, SIZE_MAX); }),
               test::says({"upc_all_alloc", "2^64"}));
    CHECK_THAT(test::upc_error_of([&] { (void)lapwing_upc_alloc(std::size_t{1} << 60); }),
               test::says({"upc_alloc", "LAPWING_UPC_LOCAL_HEAP"}));
    const lapwing_upc_pointer p = lapwing_upc_alloc(1000);
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_free({p.address + 16, p.thread, 0}); }),
               test::says({"upc_free", "no allocation begins there"}));
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_free({p.address + 3, p.thread, 0}); }),
               test::says({"no allocation begins there"}));
    lapwing_upc_free(p);
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_free(p); }), test::says({"freed before"}));
    lapwing_upc_free({});
    CHECK(lapwing_upc_is_null(lapwing_upc_alloc(0)) != 0);
    CHECK(lapwing_upc_is_null(lapwing_upc_global_alloc(0, 8)) != 0);
    lapwing_upc_barrier(nullptr);
}
