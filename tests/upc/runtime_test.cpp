// UPC on a program's Runtime: UPC's synchronisation orders the runtime's windows, and the runtime's orders UPC's
// objects.
#include "tests/upc/upc_test.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/upc.hpp>
#include <lapwing/window.hpp>

#include <mpi.h>

#include <cstdint>
#include <mutex>

namespace upc = lapwing::upc;
using lapwing::Offset;
using lapwing::Rank;

namespace {

constexpr std::uint64_t flag = 4096;
constexpr std::int64_t words = 50;

upc::ProgramOptions cached() { return {.cache = {.mode = lapwing::CacheMode::epoch}}; }

/// Both kinds of memory of all threads, both with a cache between nodes.
struct Memories {
    explicit Memories(lapwing::Team& runtime)
        : window{runtime, 8192, {.cache = {.mode = lapwing::CacheMode::epoch}}},
          array{static_cast<std::size_t>(words * upc::threads())} {}

    std::int64_t word(int thread, std::int64_t k) {
        return window.get<std::int64_t>(Rank{thread}, Offset::of<std::int64_t>(static_cast<std::uint64_t>(k)));
    }
    void set_word(int thread, std::int64_t k, std::int64_t value) {
        window.put(Rank{thread}, Offset::of<std::int64_t>(static_cast<std::uint64_t>(k)), value);
    }
    auto element(int thread, std::int64_t k) { return array[words * thread + k]; }

    lapwing::Window window;
    upc::SharedArray<std::int64_t, words> array;
};

/// Each thread writes to the next one, in the window and in the array; what all read after a barrier is what was
/// written.
template <class Barrier>
int stale_behind(Memories& memories, Barrier barrier) {
    int stale = 0;
    const int next = (upc::mythread() + 1) % upc::threads();
    for (std::int64_t round = 1; round <= 40; ++round) {
        for (std::int64_t k = 0; k < words; k += 7) {
            memories.set_word(next, k, round);
            memories.element(next, k) = round;
        }
        barrier();
        for (int t = 0; t < upc::threads(); ++t)
            for (std::int64_t k = 0; k < words; k += 7)
                stale += (memories.word(t, k) != round ? 1 : 0) + (+memories.element(t, k) != round ? 1 : 0);
        barrier();
    }
    return stale;
}

/// Counters in the window and in the array, with the last thread, that each thread counts up under a lock.
template <class Lock>
void count_under(Memories& memories, Lock& lock) {
    constexpr int rounds = 60;
    const int last = upc::threads() - 1;
    memories.set_word(upc::mythread(), 0, 0);
    memories.element(upc::mythread(), 0) = 0;
    upc::barrier();
    for (int k = 0; k < rounds; ++k) {
        const std::lock_guard guard{lock};
        memories.set_word(last, 0, memories.word(last, 0) + 1);
        memories.element(last, 0) += 1;
    }
    upc::barrier();
    CHECK(memories.word(last, 0) == rounds * upc::threads());
    CHECK(+memories.element(last, 0) == rounds * upc::threads());
    upc::barrier();
}

/// Thread 0 writes to the last one, and to itself, and raises a flag; what the last one reads after it is what was
/// written.
template <class Raise, class Wait>
void pass_by(Memories& memories, Raise raise, Wait wait) {
    const int last = upc::threads() - 1;
    if (last == 0) return;
    for (std::int64_t round = 1; round <= 30; ++round) {
        if (upc::mythread() == 0) {
            for (const int t : {0, last}) {
                memories.set_word(t, 9, round);
                memories.element(t, 9) = round;
            }
            raise(last, round);
            wait(0, round);
        } else if (upc::mythread() == last) {
            for (const int t : {0, last}) // into the cache
                static_cast<void>(memories.word(t, 9) + memories.element(t, 9));
            wait(last, round);
            for (const int t : {0, last}) {
                REQUIRE(memories.word(t, 9) == round);
                REQUIRE(+memories.element(t, 9) == round);
            }
            raise(0, round);
        }
    }
    upc::barrier();
}

/// All of UPC's synchronisation, and all of the runtime's.
void order_both(lapwing::Team& runtime) {
    REQUIRE(&upc::runtime() == &runtime);
    CHECK(upc::threads() == runtime.size());
    CHECK(upc::mythread() == runtime.rank().value);
    Memories memories{upc::runtime()};
    CHECK(stale_behind(memories, [] { upc::barrier(); }) == 0);
    CHECK(stale_behind(memories, [] {
              upc::notify();
              upc::wait();
          }) == 0);
    CHECK(stale_behind(memories, [&] { runtime.barrier(); }) == 0);
    CHECK(stale_behind(memories, [&] {
              runtime.notify();
              runtime.wait();
          }) == 0);
    {
        upc::Lock of_upc;
        count_under(memories, of_upc);
        lapwing::Lock of_runtime{runtime, Rank{runtime.size() - 1}};
        count_under(memories, of_runtime);
        upc::LockPointer pointer = upc::LockPointer::all_alloc();
        struct Attempts {
            upc::LockPointer& pointer;
            void lock() {
                while (!pointer.try_lock()) {
                }
            }
            void unlock() { pointer.unlock(); }
        } attempts{pointer};
        count_under(memories, attempts);
        pointer.all_free();
    }
    const auto threads = static_cast<std::size_t>(upc::threads());
    {
        const upc::SharedArray<upc::strict<std::int64_t>> flags{threads};
        pass_by(
            memories, [&](int t, std::int64_t round) { flags[t] = round; },
            [&](int t, std::int64_t round) {
                while (+flags[t] != round) {
                }
            });
    }
    {
        const upc::SharedArray<std::int64_t> flags{threads};
        const upc::AtomicDomain<std::int64_t> domain;
        const auto raise = [&](int t, std::int64_t round) {
            upc::fence();
            domain.set(flags[t], round);
        };
        pass_by(memories, raise, [&](int t, std::int64_t round) {
            while (domain.get(flags[t]) != round) {
            }
            upc::fence();
        });
        pass_by(
            memories,
            [&](int t, std::int64_t round) {
                runtime.fence();
                memories.window.atomic<std::int64_t>(Rank{t}, Offset{flag}).store(round);
            },
            [&](int t, std::int64_t round) {
                while (memories.window.atomic<std::int64_t>(Rank{t}, Offset{flag}).load() != round) {
                }
                runtime.fence();
            });
    }
    upc::barrier();
    memories.window.close();
}

} // namespace

TEST_CASE("a program over a runtime: all synchronisation of either orders both") {
    lapwing::Runtime runtime;
    {
        const upc::Program program{runtime, cached()};
        order_both(runtime);
    }
    {
        const upc::Program again{runtime}; // the runtime is there still
        const upc::Shared<int> s;
        if (upc::mythread() == 0) s = 3;
        upc::barrier();
        CHECK(s == 3);
        upc::barrier();
    }
    runtime.barrier();
    runtime.close();
}

TEST_CASE("a program beside a runtime is over it") {
    lapwing::Runtime runtime;
    const upc::Program program{cached()};
    order_both(runtime);
}

TEST_CASE("a program over other ranks than all, and one without a runtime of the program's") {
    lapwing_upc_set_error_handler([](const char* message) { throw test::UpcError{message}; });
    CHECK_THAT(test::upc_error_of([] { (void)upc::runtime(); }), test::says({"runtime", "has not been started"}));
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    {
        lapwing::Runtime runtime{half};
        const upc::Program program{runtime};
        CHECK(upc::threads() == (ranks + 1 - rank % 2) / 2);
        const upc::SharedArray<int> a{static_cast<std::size_t>(upc::threads())};
        a[upc::mythread()] = rank;
        upc::barrier();
        for (int t = 0; t < upc::threads(); ++t) REQUIRE(a[t] % 2 == rank % 2);
        upc::barrier();
    }
    {
        // One over some ranks is not taken.
        lapwing::Runtime runtime{half};
        const upc::Program program;
        CHECK(upc::threads() == ranks);
        CHECK((ranks == 1 || &upc::runtime() != &runtime));
        upc::barrier();
    }
    MPI_Comm_free(&half);
}
