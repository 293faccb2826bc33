// Locks and barriers of UPC.
#include "tests/upc/upc_test.hpp"

#include <cstdint>
#include <string>
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
    locks.reserve(3000);
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
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_unlock(lock); }),
                   test::says({"upc_unlock", "does not hold the lock"}));
    } else {
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_lock(lock); }),
                   test::says({"upc_lock", "already holds the lock"}));
    }
    lapwing_upc_barrier(nullptr);
    if (program.me == 0) lapwing_upc_unlock(lock);
    lapwing_upc_barrier(nullptr);
    lapwing_upc_all_lock_free(lock);
}

TEST_CASE("a lock is freed whether it is held or not, and is none any more") {
    const test::UpcProgram program;
    lapwing_upc_lock_free({}); // nothing happens
    for (int round = 0; round < 3; ++round) {
        const lapwing_upc_pointer lock = lapwing_upc_global_lock_alloc();
        lapwing_upc_lock(lock);
        lapwing_upc_lock_free(lock);
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_unlock(lock); }),
                   test::says({"upc_unlock", "does not hold the lock"}));
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_lock(lock); }),
                   test::says({"upc_lock", "there is no lock, or it was freed"}));
        CHECK_THAT(test::upc_error_of([&] { (void)lapwing_upc_lock_attempt(lock); }),
                   test::says({"upc_lock_attempt", "it was freed"}));
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_lock_free(lock); }),
                   test::says({"upc_lock_free", "it was freed"}));
    }
    lapwing_upc_barrier(nullptr);
    // Held by the last thread, and freed by the first, which makes another in its place.
    const lapwing_upc_pointer places = lapwing_upc_all_alloc(1, sizeof(lapwing_upc_pointer));
    if (program.me == 0) {
        const lapwing_upc_pointer made = lapwing_upc_global_lock_alloc();
        lapwing_upc_put(places, &made, sizeof made);
    }
    lapwing_upc_barrier(nullptr);
    lapwing_upc_pointer lock{};
    lapwing_upc_get(&lock, places, sizeof lock);
    const int last = program.threads - 1;
    if (program.me == last) lapwing_upc_lock(lock);
    lapwing_upc_barrier(nullptr);
    if (program.me == 0) {
        lapwing_upc_lock_free(lock);
        const lapwing_upc_pointer other = lapwing_upc_global_lock_alloc();
        CHECK(lapwing_upc_equal(other, lock) != 0);
        lapwing_upc_put(places, &other, sizeof other);
    }
    lapwing_upc_barrier(nullptr);
    lapwing_upc_pointer other{};
    lapwing_upc_get(&other, places, sizeof other);
    if (program.me == last && last > 0)
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_unlock(lock); }), test::says({"upc_unlock", "it was freed"}));
    for (int round = 0; round < 20; ++round) {
        lapwing_upc_lock(other);
        lapwing_upc_unlock(other);
    }
    lapwing_upc_barrier(nullptr);
    if (program.me == last) lapwing_upc_lock(other);
    lapwing_upc_all_lock_free(other); // also of the thread that holds it
    lapwing_upc_barrier(nullptr);     // after it all know that it is none
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_lock(other); }), test::says({"upc_lock", "it was freed"}));
    lapwing_upc_barrier(nullptr);
    lapwing_upc_all_free(places);
}

TEST_CASE("what is not a lock is refused, and stays as it is") {
    const test::UpcProgram program;
    const lapwing_upc_pointer data = lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), 64);
    auto* const own =
        static_cast<std::int64_t*>(lapwing_upc_cast({data.address, static_cast<std::uint32_t>(program.me), 0}));
    own[0] = 0;
    own[1] = 1;
    own[2] = -1;
    lapwing_upc_barrier(nullptr);
    const auto other = static_cast<std::uint32_t>((program.me + 1) % program.threads);
    for (const std::uint64_t offset : {0U, 1U, 8U, 16U}) {
        const lapwing_upc_pointer lock{data.address + offset, other, 0};
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_lock(lock); }), test::says({"upc_lock", "there is no lock"}));
        CHECK_THAT(test::upc_error_of([&] { (void)lapwing_upc_lock_attempt(lock); }),
                   test::says({"upc_lock_attempt", "there is no lock"}));
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_unlock(lock); }),
                   test::says({"upc_unlock", "there is no lock"}));
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_lock_free(lock); }),
                   test::says({"upc_lock_free", "there is no lock"}));
    }
    CHECK_THAT(test::upc_error_of([] { lapwing_upc_lock({}); }),
               test::says({"upc_lock", "the null pointer is not a lock"}));
    CHECK_THAT(test::upc_error_of([] { lapwing_upc_lock({72, 0, 0}); }), test::says({"upc_lock"}));
    lapwing_upc_barrier(nullptr);
    CHECK(own[0] == 0);
    CHECK(own[1] == 1);
    CHECK(own[2] == -1);
    lapwing_upc_all_free(data);
}

TEST_CASE("collective calls with different arguments are errors on all threads") {
    const test::UpcProgram program;
    if (program.threads == 1) return;
    const bool odd_one = program.me == 1;
    const lapwing_upc_pointer p = lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), 8);
    const lapwing_upc_pointer q = lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), 8);
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_all_free(odd_one ? q : p); }),
               test::says({"upc_all_free", "another thread passes another pointer"}));
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_all_free(odd_one ? lapwing_upc_pointer{} : p); }),
               test::says({"upc_all_free", "another thread passes another pointer"}));
    lapwing_upc_all_free(p); // nothing was freed
    lapwing_upc_all_free(q);
    const lapwing_upc_pointer lock = lapwing_upc_all_lock_alloc();
    const lapwing_upc_pointer other = lapwing_upc_all_lock_alloc();
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_all_lock_free(odd_one ? other : lock); }),
               test::says({"upc_all_lock_free", "another thread passes another pointer"}));
    lapwing_upc_all_lock_free(lock);
    lapwing_upc_all_lock_free(other);
    lapwing_upc_pointer made{};
    const std::string error = test::upc_error_of([&] { made = lapwing_upc_all_alloc(odd_one ? 1 : 100, 32); });
    lapwing_upc_barrier(nullptr);
    if (program.me == 0) lapwing_upc_free(made);
    if (odd_one)
        CHECK_THAT(error, test::says({"upc_all_alloc", "1 blocks of 32 bytes", "thread 0 asks for 100 of 32"}));
}

TEST_CASE("who asks for a lock again and again does not keep its holder from its work") {
    const test::UpcProgram program;
    const lapwing_upc_pointer lock = lapwing_upc_all_lock_alloc();
    const lapwing_upc_pointer data = lapwing_upc_all_alloc(static_cast<std::size_t>(program.threads), 8);
    lapwing_upc_barrier(nullptr);
    std::uint64_t attempts = 1;
    while (lapwing_upc_lock_attempt(lock) == 0) ++attempts;
    for (int k = 0; k < 300; ++k) {
        std::int64_t value = 0;
        lapwing_upc_get(&value, {data.address, static_cast<std::uint32_t>((program.me + 1) % program.threads), 0},
                        sizeof value);
    }
    lapwing_upc_unlock(lock);
    // Attempts come less and less often: without that they are millions.
    CHECK(attempts < 20'000);
    lapwing_upc_barrier(nullptr);
    lapwing_upc_all_free(data);
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
        CHECK_THAT(test::upc_error_of([&] { lapwing_upc_barrier(&other); }),
                   test::says({"thread " + std::to_string(program.me), ": upc_barrier", "the names differ", "7", "8"}));
    }
    // The messages have UPC's words.
    const std::string who = "thread " + std::to_string(program.me) + " of " + std::to_string(program.threads);
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_wait(nullptr); }),
               test::says({who + ": upc_wait", "no upc_notify before it"}));
    lapwing_upc_notify(&name);
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_notify(nullptr); }),
               test::says({who + ": upc_notify", "the upc_wait for the previous upc_notify is missing"}));
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_barrier(nullptr); }),
               test::says({who + ": upc_barrier", "the upc_wait for the previous upc_notify is missing"}));
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_all_free({}); }),
               test::says({who + ": upc_barrier (or upc_notify and upc_wait)", "upc_wait"}));
    const int eight = 8;
    CHECK_THAT(test::upc_error_of([&] { lapwing_upc_wait(&eight); }),
               test::says({who + ": upc_wait", "its name is 8", "that of the previous upc_notify 7"}));
    lapwing_upc_wait(&name);
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

TEST_CASE("the end called again does nothing") {
    {
        const test::UpcProgram program;
        lapwing_upc_barrier(nullptr);
    }
    lapwing_upc_end();
    lapwing_upc_end();
    CHECK_THAT(test::upc_error_of([] { lapwing_upc_barrier(nullptr); }),
               test::says({"has not been started, or has ended"}));
    const test::UpcProgram again;
    lapwing_upc_barrier(nullptr);
}
