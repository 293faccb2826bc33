// Locks and barriers of UPC.
#include "tests/upc/upc_test.hpp"

#include <cstdint>
#include <vector>

TEST_CASE("a lock excludes, and orders what is done under it") {
    const test::UpcProgram program;
    const lapwing_upc_pointer lock = lapwing_upc_all_lock_alloc();
    const lapwing_upc_pointer count = lapwing_upc_all_alloc(1, 8);
    if (program.me == 0) lapwing_upc_memset(count, 0, 8);
    lapwing_upc_barrier(nullptr);
    constexpr int rounds = 100;
    for (int round = 0; round < rounds; ++round) {
        lapwing_upc_lock(lock);
        std::int64_t value = 0;
        lapwing_upc_get(&value, count, 8);
        ++value;
        lapwing_upc_put(count, &value, 8);
        lapwing_upc_unlock(lock);
    }
    lapwing_upc_barrier(nullptr);
    std::int64_t value = 0;
    lapwing_upc_get(&value, count, 8);
    CHECK(value == rounds * program.threads);
    lapwing_upc_all_free(count);
    lapwing_upc_all_lock_free(lock);
}

TEST_CASE("thousands of locks, many held at a time, in any order") {
    const test::UpcProgram program;
    std::vector<lapwing_upc_pointer> locks;
    for (int k = 0; k < 3000; ++k) locks.push_back(lapwing_upc_global_lock_alloc());
    for (std::size_t k = 0; k < 500; ++k) lapwing_upc_lock(locks[k]);
    for (std::size_t k = 0; k < 500; ++k) lapwing_upc_unlock(locks[k * 7 % 500]);
    for (const lapwing_upc_pointer& lock : locks) lapwing_upc_lock_free(lock);
    lapwing_upc_barrier(nullptr);
}

TEST_CASE("an attempt takes a free lock, and no other") {
    const test::UpcProgram program;
    const lapwing_upc_pointer lock = lapwing_upc_all_lock_alloc();
    if (program.me == 0) CHECK(lapwing_upc_lock_attempt(lock) == 1);
    lapwing_upc_barrier(nullptr);
    if (program.me != 0) {
        CHECK(lapwing_upc_lock_attempt(lock) == 0);
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_unlock(lock); }), test::says({"upc_unlock", "does not hold the lock"}));
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_lock_free(lock); }), test::says({"upc_lock_free", "a thread holds the lock"}));
    } else {
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_lock(lock); }), test::says({"upc_lock", "holds the lock already"}));
    }
    lapwing_upc_barrier(nullptr);
    if (program.me == 0) lapwing_upc_unlock(lock);
    lapwing_upc_barrier(nullptr);
    lapwing_upc_all_lock_free(lock);
}

TEST_CASE("barriers with names, in two phases, and different names") {
    const test::UpcProgram program;
    const int name = 7;
    lapwing_upc_barrier(&name);
    lapwing_upc_notify(&name);
    lapwing_upc_wait(&name);
    lapwing_upc_notify(&name);
    lapwing_upc_wait(nullptr); // a missing name is no other one
    lapwing_upc_notify(nullptr);
    lapwing_upc_wait(&name);
    lapwing_upc_barrier(program.me == 0 ? nullptr : &name);
    if (program.threads > 1) {
        const int other = program.me == 1 ? 8 : 7;
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_barrier(&other); }), test::says({"7", "8"}));
    }
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_wait(nullptr); }), test::says({"notify"}));
    lapwing_upc_barrier(nullptr);
    const std::uint64_t begin = lapwing_upc_ticks_now();
    CHECK(lapwing_upc_ticks_to_ns(lapwing_upc_ticks_now() - begin) < 10'000'000'000U);
}

TEST_CASE("calls before the start, and a second one, are errors") {
    lapwing_upc_set_error_handler([](const char* message) { throw test::UpcError{message}; });
    CHECK_THAT(test::upc_error_of([] { (void)lapwing_upc_mythread(); }), test::says({"MYTHREAD", "lapwing_upc_start"}));
    const test::UpcProgram program;
    CHECK_THAT(test::upc_error_of([] { lapwing_upc_start(nullptr, nullptr); }), test::says({"started already"}));
    lapwing_upc_barrier(nullptr);
}
