// Strict and relaxed accesses, with and without a cache, and random programs against an array in one process.
#include "tests/distribution/random_maps.hpp"
#include "tests/upc/upc_test.hpp"
#include "upc/guarded.hpp"

#include <lapwing/team.hpp>
#include <lapwing/upc.hpp>

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace upc = lapwing::upc;

namespace {

/// A program with options whose errors are thrown.
class Started {
public:
    explicit Started(const upc::ProgramOptions& options = {}) {
        lapwing_upc_set_error_handler([](const char* message) { throw test::UpcError{message}; });
        program_.emplace(options);
    }

private:
    std::optional<upc::Program> program_;
};

/// Thread 0 writes data and raises a flag, the last thread waits for the flag: what it then reads is the data.
template <class Data, class Flags>
void pass_messages(const Data& data, const Flags& flags, int rounds) {
    const int last = upc::threads() - 1;
    if (last == 0) return;
    for (std::int32_t round = 1; round <= rounds; ++round) {
        if (upc::mythread() == 0) {
            data[last] = 10 * round;
            flags[last] = round;
            while (+flags[0] != round) {
            }
        } else if (upc::mythread() == last) {
            while (+flags[last] != round) {
            }
            REQUIRE(+data[last] == 10 * round);
            flags[0] = round;
        }
    }
    upc::barrier();
}

/// Two threads each write their own word and read the other's: not both find the old value (store buffering).
template <class Words>
void store_buffering(const Words& words, int rounds) {
    upc::SharedArray<std::int64_t> found{static_cast<std::size_t>(upc::threads())};
    const int other = upc::threads() - 1;
    if (other == 0) return;
    for (std::int32_t round = 1; round <= rounds; ++round) {
        upc::barrier();
        if (upc::mythread() == 0) {
            words[0] = round;
            found[0] = words[other];
        } else if (upc::mythread() == other) {
            words[other] = round;
            found[other] = words[0];
        }
        upc::barrier();
        const bool seen = +found[0] == round || +found[other] == round;
        REQUIRE(seen);
    }
    upc::barrier();
}

/// Two threads each write a word; two others read both, in opposite orders: they do not see the writes in different
/// orders (independent reads of independent writes).
template <class Words>
void independent_reads(const Words& words, int rounds) {
    if (upc::threads() < 4) return;
    const upc::SharedArray<std::int64_t> found{static_cast<std::size_t>(4 * upc::threads())};
    for (std::int32_t round = 1; round <= rounds; ++round) {
        upc::barrier();
        const int me = upc::mythread();
        if (me < 2) {
            words[me] = round;
        } else if (me < 4) {
            const std::int32_t first = words[me - 2];
            const std::int32_t second = words[3 - me];
            found[2 * me] = first;
            found[2 * me + 1] = second;
        }
        upc::barrier();
        // Thread 2 has seen the write of 0 and not that of 1, thread 3 that of 1 and not that of 0.
        const bool orders_differ = +found[4] == round && +found[5] != round && +found[6] == round && +found[7] != round;
        REQUIRE(!orders_differ);
    }
    upc::barrier();
}

upc::ProgramOptions cached() { return {.cache = {.mode = lapwing::CacheMode::epoch}}; }
upc::ProgramOptions mupc() { return {.cache = upc::mupc_cache(64, 256)}; }

/// Random writes, block copies and reads between barriers, of disjoint elements, beside a plain array.
void random_program(unsigned seed) {
    constexpr std::int64_t n = 500;
    const upc::SharedArray<std::int32_t, 7> a{n};
    const upc::SharedArray<std::int32_t, upc::dynamic_block> b{n};
    std::vector<std::int32_t> oracle_a(n), oracle_b(n);
    test::Random random{seed}; // the same on all threads: each knows what all do
    std::int32_t value = 0;
    for (int phase = 0; phase < 15; ++phase) {
        for (std::int64_t i = 0; i < n; ++i) {
            if (random.number(0, 3) != 0) continue;
            const auto writer = random.number(0, upc::threads() - 1);
            const bool first = random.number(0, 1) == 0;
            ++value;
            (first ? oracle_a : oracle_b)[static_cast<std::size_t>(i)] = value;
            if (writer != upc::mythread()) continue;
            if (first) a[i] = value;
            else upc::memput(b + i, &value, 4);
            // Own writes are seen at once.
            REQUIRE((first ? +a[i] : +b[i]) == value);
        }
        if (random.number(0, 2) == 0) {
            upc::notify(phase);
            upc::wait(phase);
        } else {
            upc::barrier();
        }
        for (std::int64_t k = 0; k < 200; ++k) {
            const std::int64_t i = random.number(0, n - 1);
            REQUIRE(+a[i] == oracle_a[static_cast<std::size_t>(i)]);
            REQUIRE(+b[i] == oracle_b[static_cast<std::size_t>(i)]);
        }
        // A part of b, which lies with one thread.
        const std::int64_t share = (n - 1) / upc::threads() + 1;
        const std::int64_t begin = std::min(n - 1, share * random.number(0, upc::threads() - 1));
        const std::int64_t end = std::min(n, begin + share);
        std::vector<std::int32_t> part(static_cast<std::size_t>(end - begin));
        upc::memget(part.data(), b + begin, part.size() * 4);
        for (std::size_t k = 0; k < part.size(); ++k) REQUIRE(part[k] == oracle_b[static_cast<std::size_t>(begin) + k]);
        upc::barrier();
    }
}

} // namespace

TEST_CASE("strict accesses by object order others, and are seen") {
    for (const upc::ProgramOptions& options : {upc::ProgramOptions{}, cached()}) {
        const Started program{options};
        const auto words = static_cast<std::size_t>(upc::threads());
        const upc::SharedArray<upc::strict<std::int32_t>> flags{words};
        const upc::SharedArray<std::int32_t> data{words};
        pass_messages(data, flags, 30);
        store_buffering(flags, 30);
        independent_reads(flags, 30);
    }
}

TEST_CASE("strict accesses by scope, and by program") {
    {
        const Started program{cached()};
        const auto words = static_cast<std::size_t>(upc::threads());
        const upc::SharedArray<std::int32_t> data{words}, flags{words};
        {
            const upc::ConsistencyScope strict{upc::Consistency::strict};
            pass_messages(data, flags, 20);
            store_buffering(flags, 20);
            const upc::ConsistencyScope relaxed{upc::Consistency::relaxed}; // the inner one counts
            if (upc::mythread() == 0) data[0] = 5;
            upc::barrier();
            CHECK(+data[0] == 5);
        }
        upc::barrier();
    }
    upc::ProgramOptions options = cached();
    options.consistency = upc::Consistency::strict;
    const Started program{options};
    const auto words = static_cast<std::size_t>(upc::threads());
    const upc::SharedArray<upc::relaxed<std::int32_t>> data{words};
    const upc::SharedArray<std::int32_t> flags{words};
    pass_messages(data, flags, 20);
    store_buffering(flags, 20);
}

TEST_CASE("strict accesses one by one") {
    const Started program{cached()};
    const auto words = static_cast<std::size_t>(upc::threads());
    const upc::SharedArray<std::int32_t> data{words}, flags{words};
    const int last = upc::threads() - 1;
    if (last > 0)
        for (std::int32_t round = 1; round <= 30; ++round) {
            if (upc::mythread() == 0) {
                data[last] = 10 * round;
                flags[last].put_strict(round);
                while (flags[0].get_strict() != round) {
                }
            } else if (upc::mythread() == last) {
                while (flags[last].get_strict() != round) {
                }
                REQUIRE(data[last].get_relaxed() == 10 * round);
                flags[0].put_strict(round);
            }
        }
    upc::barrier();
}

TEST_CASE("random programs without a cache, with one, and with MuPC's") {
    for (const upc::ProgramOptions& options : {upc::ProgramOptions{}, cached(), mupc()})
        for (unsigned seed = 1; seed <= 3; ++seed) {
            const Started program{options};
            random_program(seed);
        }
}

TEST_CASE("the heap is as large as the program says") {
    {
        const Started program{{.heap_bytes = 1 << 20, .local_heap_bytes = 8192}};
        CHECK_THAT(
            test::upc_error_of([] { (void)lapwing_upc_all_alloc(static_cast<std::size_t>(upc::threads()), 2 << 20); }),
            test::says({"upc_all_alloc", "2097152", "LAPWING_UPC_HEAP"}));
        CHECK_THAT(test::upc_error_of([] { (void)lapwing_upc_alloc(10000); }),
                   test::says({"upc_alloc", "10000", "LAPWING_UPC_LOCAL_HEAP"}));
        upc::barrier();
    }
    lapwing_upc_set_error_handler([](const char* message) { throw test::UpcError{message}; });
    CHECK_THAT(test::upc_error_of([] { const upc::Program program{{.heap_bytes = 100}}; }),
               test::says({"100 bytes", "4096"}));
}

TEST_CASE("a thread that leaves by an exception blocks no other") {
    lapwing_upc_set_error_handler([](const char* message) { throw test::UpcError{message}; });
    struct Left {};
    try {
        const upc::Program program;
        // MPI's windows are freed by all together; of those that are left UCX complains in MPI_Finalize, and aborts.
        if (upc::detail::heap_window().team().network_path() == lapwing::Path::rma) return;
        const upc::SharedArray<int> a{100};
        const upc::Shared<int> s;
        const upc::AtomicDomain<int> domain;
        upc::Lock lock;
        throw Left{}; // all of them: those that only wait for one learn it from their team
    } catch (const Left&) {
    }
    const Started program; // another one can start
    CHECK(upc::threads() >= 1);
    upc::barrier();
}

TEST_CASE("loops that wait for what a thread that has left would write end") {
    lapwing_upc_set_error_handler([](const char* message) { throw test::UpcError{message}; });
    for (const bool with_fence : {false, true}) {
        std::string error = "no error";
        struct Left {};
        try {
            const upc::Program program;
            if (upc::threads() == 1 || upc::detail::heap_window().team().network_path() == lapwing::Path::rma) return;
            const upc::SharedArray<int> flags{static_cast<std::size_t>(upc::threads())};
            const upc::SharedArray<int> others{static_cast<std::size_t>(upc::threads())};
            const auto own = static_cast<std::size_t>(upc::mythread());
            if (upc::mythread() == 1) throw Left{};
            const auto strict = [](const lapwing_upc_pointer& place) {
                int value = 0;
                lapwing_upc_get_strict(&value, place, sizeof value);
                return value;
            };
            try {
                // Two objects in turns; or one, relaxed, and fences.
                if (with_fence)
                    while (flags[static_cast<std::int64_t>(own)] == 0) upc::fence();
                else
                    while (strict(flags[static_cast<std::int64_t>(own)].place()) == 0 &&
                           strict(others[static_cast<std::int64_t>(own)].place()) == 0) {
                    }
            } catch (const test::UpcError& failure) {
                error = failure.text;
            }
            CHECK_THAT(error, test::says({"thread 1 left"}));
            throw Left{};
        } catch (const Left&) {
        }
    }
    const Started program;
    upc::barrier();
}

TEST_CASE("no text of UPC speaks of a team's calls") {
    for (const char* call :
         {"Team::barrier", "Team::notify", "Team::wait", "Team::close", "Team::broadcast", "Team::all_gather",
          "Team::combine", "Team::combine_before", "Team::fence", "Team::release", "Team::acquire"}) {
        const std::string text = upc::in_words_of_upc(std::string{"rank 1 of 2: "} + call + ": rank 0 left the team");
        CHECK(text.find("Team::") == std::string::npos);
        CHECK(text.find("rank") == std::string::npos);
    }
}

TEST_CASE("what can be cast, and what heaps of different sizes say") {
    {
        const Started program;
        for (int t = 0; t < upc::threads(); ++t) {
            const lapwing_upc_thread_info_t info = lapwing_upc_thread_info(static_cast<std::size_t>(t));
            const lapwing_upc_pointer p = lapwing_upc_all_alloc(static_cast<std::size_t>(upc::threads()), 8);
            CHECK((info.guaranteedCastable == LAPWING_UPC_CASTABLE_ALL) ==
                  (lapwing_upc_cast({p.address, static_cast<std::uint32_t>(t), 0}) != nullptr));
            lapwing_upc_all_free(p);
        }
        CHECK(lapwing_upc_thread_info(static_cast<std::size_t>(upc::mythread())).probablyCastable ==
              LAPWING_UPC_CASTABLE_ALL);
        CHECK_THAT(test::upc_error_of([] { (void)lapwing_upc_thread_info(1000); }),
                   test::says({"upc_thread_info", "1000"}));
        upc::barrier();
    }
    int ranks = 0;
    int rank = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (ranks > 1)
        CHECK_THAT(
            test::upc_error_of([&] { const upc::Program program{{.heap_bytes = rank == 0 ? 1U << 20 : 1U << 21}}; }),
            test::says({"thread 0 passes a heap of", "thread 1 a heap of", "pass the same on all threads"}));
}

TEST_CASE("records of accesses count reads, writes, hits and places") {
    for (const bool by_cache : {false, true}) {
        const Started program{by_cache ? cached() : upc::ProgramOptions{}};
        const upc::SharedArray<std::int64_t, upc::dynamic_block> a{static_cast<std::size_t>(100 * upc::threads())};
        const std::int64_t other = 100 * ((upc::mythread() + 1) % upc::threads());
        const std::int64_t mine = 100 * upc::mythread();
        std::int64_t sum = 0;
        {
            const upc::RecordingScope recording{true};
            for (std::int64_t i = 0; i < 100; ++i) a[mine + i] = i;
            upc::barrier();
            for (std::int64_t i = 0; i < 50; ++i) sum += a[other + i];
            lapwing_upc_memget(&sum, (a + other).raw(), 8);
        }
        for (std::int64_t i = 0; i < 100; ++i) sum += a[mine + i]; // not recorded
        CHECK(sum > 0);
        const lapwing_upc_access_counts counts = lapwing_upc_recorded();
        const bool alone = upc::threads() == 1;
        CHECK(counts.local_writes == 100);
        CHECK(counts.remote_writes == 0);
        CHECK(counts.local_reads == (alone ? 51U : 0U));
        CHECK(counts.remote_reads == (alone ? 0U : 51U));
        CHECK(counts.remote_bytes == (alone ? 0U : 408U));
        const bool loaded = (a + other).cast() != nullptr;
        if (by_cache && !loaded) {
            CHECK(counts.cache_hits >= 40);
            CHECK(counts.cache_hits + counts.cache_misses >= 51);
        }
        upc::barrier();
    }
}

TEST_CASE("arithmetic that leaves an object, and objects that are gone, at assertion level 2") {
    const Started program;
    const lapwing_upc_pointer array =
        lapwing_upc_all_alloc(2 * static_cast<std::size_t>(upc::threads()), 24); // two blocks of 3 for each thread
    const lapwing_upc_pointer behind = lapwing_upc_all_alloc(1, 8);
    const auto add = [](const lapwing_upc_pointer& p, std::int64_t elements) {
        return upc::detail::checked_add(p, 8, 3, elements);
    };
    const std::int64_t n = 6 * upc::threads();
    for (std::int64_t i = 0; i < n; ++i)
        REQUIRE(lapwing_upc_equal(add(add(array, i), n - 1 - i), add(array, n - 1)) != 0);
    CHECK_NOTHROW(add(array, n)); // the end
    CHECK_NOTHROW(add(add(array, n), -n));
    CHECK_THAT(test::upc_error_of([&] { (void)add(array, n + 6 * upc::threads()); }),
               test::says({"pointer arithmetic", "leaves the object"}));
    CHECK_THAT(test::upc_error_of([&] { (void)add(array, -3 * upc::threads()); }), test::says({"leaves the object"}));
    upc::barrier();
    if (upc::mythread() == 0) lapwing_upc_free(array);
    upc::barrier();
    CHECK_THAT(test::upc_error_of([&] { (void)add(array, 1); }), test::says({"nothing is allocated", "freed"}));
    CHECK_NOTHROW(add(behind, 0));
    CHECK_THAT(test::upc_error_of([&] { (void)add({}, 1); }), test::says({"pointer arithmetic"}));
    lapwing_upc_all_free(behind);
    upc::barrier();
}
