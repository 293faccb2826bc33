// Runs on private memory (LAPWING_PRIVATE): accesses to any rank's part are to the rank's own, whatever the call, and a
// trace has the intervals between sequence points with the time of the computation.
#include "model/described_trace.hpp"
#include "model/recorded_trace.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "support/pretended_memory.hpp"
#include "support/run_number.hpp"

#include <lapwing/lapwing.hpp>
#include <lapwing/upc.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

using namespace lapwing;
using namespace lapwing::detail::model;
using Catch::Contains;

namespace {

constexpr std::int64_t each = 8; ///< elements of a rank

[[nodiscard]] Settings private_memory() { return Settings{{"LAPWING_PRIVATE", "on"}}; }

[[nodiscard]] RecordedTrace trace_in(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    std::remove(file.c_str());
    return parse_trace(text, file);
}

void compute_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

/// A program with two intervals in a loop, of which one reads others' elements.
void compute(Runtime& runtime) {
    GlobalArray<double, 1> a{runtime, {each * runtime.size()}, Block{}, {.name = "a"}};
    a.fill(1.0);
    runtime.barrier();
    double sum = 0;
    for (int step = 0; step < 3; ++step) {
        for (std::int64_t i = 0; i < each * runtime.size(); ++i) sum += a(i);
        // All but the first rank wait for it.
        compute_for(std::chrono::milliseconds{runtime.rank() == Rank{0} ? 100 : 4});
        runtime.barrier();
        compute_for(std::chrono::milliseconds{2});
        runtime.barrier();
    }
    CHECK(sum == Approx(3.0 * static_cast<double>(each) * runtime.size()));
}

[[nodiscard]] RecordedTrace recorded(const char* on_private_memory) {
    const std::string file = "lapwing-private-" + std::to_string(test::run_number());
    {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_TRACE", file}, {"LAPWING_PRIVATE", on_private_memory}}};
        compute(runtime);
        runtime.close();
    }
    return test::world_rank() == 0 ? trace_in(file) : RecordedTrace{};
}

} // namespace

TEST_CASE("on private memory all calls access the rank's own part") {
    Runtime runtime{MPI_COMM_WORLD, private_memory()};
    const int rank = runtime.rank().value;
    const std::int64_t n = each * runtime.size();
    GlobalArray<double, 1> a{runtime, {n}, Block{}};
    const auto value = [](int of, std::int64_t place) { return 100.0 * of + static_cast<double>(place); };
    for (auto [i] : a.local_domain()) a.local(i) = value(rank, i % each);
    runtime.barrier();
    const auto is_own = [&](std::int64_t i, double found) { return found == value(rank, i % each); };

    bool right = true;
    std::vector<double> patch(static_cast<std::size_t>(n));
    a(a.domain()).get(patch);
    std::vector<std::int64_t> list;
    for (std::int64_t i = 0; i < n; ++i) list.push_back(n - 1 - i);
    std::vector<double> gathered(list.size());
    a.gather(list, std::span{gathered});
    for (std::int64_t i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        right = right && is_own(i, a(i)) && is_own(i, patch[k]) && is_own(list[k], gathered[k]);
    }
    CHECK(right);

    // Each rank writes to the next one, and finds it in its own part; nobody else does.
    runtime.barrier();
    const int next = (rank + 1) % runtime.size();
    a(next * each) = -1.0 - rank;
    a(next * each + 1).atomic().add(1000.0);
    CHECK(a(next * each + 2).atomic().fetch_add(500.0) == value(rank, 2));
    runtime.barrier();
    CHECK(a.local(rank * each) == -1.0 - rank);
    CHECK(a.local(rank * each + 1) == value(rank, 1) + 1000.0);
    CHECK(a.local(rank * each + 2) == value(rank, 2) + 500.0);
    a.close();
    runtime.close();
}

TEST_CASE("on private memory parts of different sizes, notifications, prefetch and locks work") {
    Runtime runtime{MPI_COMM_WORLD, private_memory()};
    const int rank = runtime.rank().value;
    const int last = runtime.size() - 1;
    Window window{runtime, 64U << rank, {.notification_counters = 1}};
    for (int target = 0; target < runtime.size(); ++target)
        window.put(Rank{target}, Offset{(64U << target) - 8}, 1.0 + target);
    CHECK(window.get<double>(Rank{last}, Offset{(64U << last) - 8}) == 1.0 + last);
    // Who waits for another rank gets its notification.
    window.put_notify(Rank{(rank + 1) % runtime.size()}, Offset{0}, 5.0, 0);
    window.wait_notified(0);
    runtime.barrier();

    GlobalArray<double, 1> a{runtime, {each * runtime.size()}};
    a.prefetch(AllToAll{});
    for (auto [i] : a.local_domain()) a.local(i) = rank;
    runtime.barrier();
    double sum = 0;
    for (std::int64_t i = 0; i < each * runtime.size(); ++i) sum += a(i);
    CHECK(sum == Approx(static_cast<double>(rank * each * runtime.size())));
    a.evict(); // what others write would come into the copies
    runtime.barrier();

    Lock lock{runtime};
    for (int k = 0; k < 3; ++k) {
        lock.lock();
        a(0) += 1.0;
        lock.unlock();
    }
    CHECK(a.local(rank * each) == rank + 3.0);
    runtime.barrier();
    lock.close();
    a.close();
    window.close();
    runtime.close();
}

TEST_CASE("on private memory a node must have room for parts that are all as large as the largest") {
    Runtime runtime{MPI_COMM_WORLD, private_memory()};
    const Rank last{runtime.size() - 1};
    const bool together = runtime.node_size() > 1;
    // Room for the largest part: on one node with the small ones, else on its own rank, and not on rank 0.
    constexpr std::uint64_t large = 300'000;
    const std::uint64_t enough = large + large / 2;
    const std::uint64_t memory = together ? enough : large / 2;
    test::pretended_pages =
        together || runtime.rank() == Rank{0} ? static_cast<long>(memory) / sysconf(_SC_PAGESIZE) : 0;
    std::string text;
    try {
        const Window window{runtime, runtime.rank() == last ? large : 64};
    } catch (const RangeError& error) {
        text = error.what();
    }
    test::pretended_pages = 0;
    CHECK_THAT(text, Contains("and too many on rank") && Contains("the memory of the machine"));
    if (runtime.rank() != last) CHECK_THAT(text, Contains("64 bytes asked for here, 300000 as LAPWING_PRIVATE=on"));
    // The ranks go on together.
    Window window{runtime, 64};
    window.close();
    runtime.close();
}

TEST_CASE("UPC's threads find their own part in the place of all others'") {
    Runtime runtime{MPI_COMM_WORLD, private_memory()};
    {
        const upc::Program program{runtime, {.heap_bytes = 1 << 16, .local_heap_bytes = 1 << 16}};
        const int me = upc::mythread();
        upc::SharedArray<double, each> x{static_cast<std::size_t>(each * upc::threads())};
        for (std::int64_t i = 0; i < each; ++i) x.local()[i] = 10.0 * me + static_cast<double>(i);
        upc::barrier();
        bool right = true;
        for (std::int64_t i = 0; i < each * upc::threads(); ++i)
            right = right && x[i] == 10.0 * me + static_cast<double>(i % each);
        CHECK(right);
        upc::Lock lock;
        for (int k = 0; k < 3; ++k) {
            lock.lock();
            x[0] += 1.0;
            lock.unlock();
        }
        CHECK(x.local()[0] == 10.0 * me + 3);
        // What a thread allocates for all is nobody else's.
        const upc::Pointer<double> mine = upc::global_alloc<double>(static_cast<std::size_t>(upc::threads()), 1);
        for (std::int64_t i = 0; i < upc::threads(); ++i) mine[i] = 7.0 + static_cast<double>(i);
        CHECK(x.local()[0] == 10.0 * me + 3);
        upc::barrier();
    }
    runtime.close();
}

TEST_CASE("a trace of private memory has the computation of each interval") {
    // In a loop, so that both runs have the same places of the program, from the inside out.
    const std::vector<const char*> settings{"on", "off"};
    std::vector<RecordedTrace> traces;
    traces.reserve(settings.size());
    for (const char* const setting : settings) traces.push_back(recorded(setting));
    if (test::world_rank() != 0) return;
    const RecordedTrace& on_private_memory = traces[0];
    const RecordedTrace& shared = traces[1];
    REQUIRE(on_private_memory.settings.at("LAPWING_PRIVATE") == "on");
    for (const RecordedTrace::OfRank& rank : on_private_memory.of_ranks) CHECK(rank.records.empty());

    const ComputationTimes times{on_private_memory, "private.trace"};
    times.check(shared);
    for (const RecordedTrace::OfRank& rank : shared.of_ranks) {
        CHECK(!rank.records.empty());
        double all = 0;
        double of_threes = 0;
        int of_loop = 0;
        for (std::size_t k = 0; k < rank.intervals.size(); ++k) {
            const double seconds = times.seconds(rank, k);
            all += seconds * static_cast<double>(rank.intervals[k].times);
            if (rank.intervals[k].times != 3) continue;
            of_threes += seconds * 3;
            if (seconds >= 0.002) ++of_loop;
        }
        CHECK(of_loop == 2);
        CHECK(all >= (rank.rank == 0 ? 3 * 0.1 : 3 * 0.006));
        if (rank.rank != 0) CHECK(of_threes < 3 * 0.1);
    }
    CHECK_THROWS_WITH((ComputationTimes{shared, "shared.trace"}),
                      Contains("shared.trace") && Contains("LAPWING_PRIVATE=on"));
}
