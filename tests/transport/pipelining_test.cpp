// Transfers in flight do not complete each other, unless they overlap; and the record that decides this is exact.
#include "src/team/team_state.hpp"
#include "src/transport/outstanding_accesses.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

using lapwing::Completion;
using lapwing::Counter;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using lapwing::detail::transport::OutstandingAccesses;
using Carrier = OutstandingAccesses::Carrier;

namespace {

struct Access {
    int rank;
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t version; ///< of writes
    std::size_t transfer;  ///< of reads
    bool write;
    bool by_window;
};

/// The record has the ranks of these accesses, and no others.
void check_ranks(const OutstandingAccesses& outstanding, const std::vector<Access>& all) {
    std::vector<int> by_window;
    outstanding.for_each_rank_by_window([&](Rank rank) { by_window.push_back(rank.value); });
    for (int r = 0; r < 3; ++r) {
        const auto of_rank = [r](const Access& access) { return access.rank == r; };
        const auto of_rank_by_window = [r](const Access& access) { return access.rank == r && access.by_window; };
        const bool touched_by_window = std::ranges::any_of(all, of_rank_by_window);
        REQUIRE(outstanding.touches(r) == std::ranges::any_of(all, of_rank));
        REQUIRE(outstanding.touches_by_window(r) == touched_by_window);
        REQUIRE(std::ranges::count(by_window, r) == (touched_by_window ? 1 : 0));
    }
}

} // namespace

TEST_CASE("outstanding accesses conflict where they overlap and one writes, and nowhere else") {
    std::mt19937_64 random{GENERATE(1U, 2U, 3U)};
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    OutstandingAccesses outstanding;
    std::vector<Access> all;
    std::vector<char> transfers(20'000);
    for (std::size_t step = 0; step < transfers.size(); ++step) {
        const auto rank = static_cast<int>(below(3));
        const std::uint64_t begin = below(4) == 0 ? below(100'000) : below(1000) * 16;
        const std::uint64_t bytes = below(8) == 0 ? 1 + below(5000) : 8;
        const bool write = below(2) == 0;
        const Carrier carrier = below(8) == 0 ? Carrier::window : Carrier::messages;
        bool expected = false;
        for (const Access& access : all)
            expected = expected || (access.rank == rank && begin < access.end && access.begin < begin + bytes &&
                                    (write || access.write));
        REQUIRE(outstanding.conflicts(rank, begin, bytes, write) == expected);
        const std::uint64_t kind = below(40);
        if (kind == 0 || outstanding.full()) {
            outstanding.complete();
            all.clear();
        } else if (kind == 1) { // as when another thread has started more meanwhile
            const std::uint64_t version = outstanding.version();
            const std::uint64_t seen = version - below(10);
            outstanding.complete(rank, seen);
            // A write that a later one has been joined to stays with it: so what is kept may be more than what must be.
            for (const Access& a : all)
                if (a.rank == rank && a.version > seen) REQUIRE(outstanding.conflicts(rank, a.begin, 1, true));
            outstanding.complete(rank, version);
            std::erase_if(all, [&](const Access& a) { return a.rank == rank; });
        } else if (kind == 2 && !all.empty()) {
            const std::size_t index = below(all.size());
            if (all[index].write) continue;
            outstanding.finish_read(&transfers[all[index].transfer]);
            all.erase(all.begin() + static_cast<std::ptrdiff_t>(index));
        } else {
            if (write) outstanding.add_write(rank, begin, bytes, carrier);
            else outstanding.add_read(rank, begin, bytes, &transfers[step], carrier);
            all.push_back({rank, begin, begin + bytes, outstanding.version(), step, write, carrier == Carrier::window});
        }
        REQUIRE(outstanding.empty() == all.empty());
        check_ranks(outstanding, all);
    }
}

TEST_CASE("what is kept of accesses that nobody completes stays bounded, and neighbours are joined") {
    OutstandingAccesses outstanding;
    for (std::uint64_t i = 0; i < 100'000; ++i) outstanding.add_write(0, 8 * i, 8, Carrier::window);
    CHECK_FALSE(outstanding.full());
    std::uint64_t times = 0;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        if (outstanding.full()) {
            outstanding.complete();
            ++times;
        }
        outstanding.add_write(1, 16 * i, 8, Carrier::window);
    }
    CHECK(times > 10);
    CHECK(times < 1000);
}

TEST_CASE("reads of several ranks, many at a time, do not wait for each other") {
    Runtime runtime;
    constexpr std::uint64_t bytes = 1024;
    constexpr std::uint64_t count = 100;
    Window window{runtime, bytes * count};
    for (int round = 0; round < 2; ++round) { // the second finds nothing of the first
        std::vector<std::vector<std::byte>> here(count, std::vector<std::byte>(bytes));
        std::vector<Completion> completions;
        for (std::uint64_t i = 0; i < count; ++i) {
            const Rank to{static_cast<int>((static_cast<std::uint64_t>(runtime.rank().value) + 1 + i % 2) %
                                           static_cast<std::uint64_t>(runtime.size()))};
            completions.push_back(window.start_get(to, Offset{i * bytes}, here[i]));
        }
        for (Completion& completion : completions) completion.wait();
    }
    // They are over, so that a write to the same place has nothing to wait for.
    window.put(test::next(runtime), Offset{0}, std::uint64_t{1});
    CHECK(window.statistics()[Counter::conflicts] == 0);
    runtime.barrier();
}

TEST_CASE("small puts all over several ranks are hardly ever completed for each other") {
    Runtime runtime;
    constexpr std::uint64_t places = std::uint64_t{1} << 20;
    constexpr std::uint64_t puts = 30'000;
    Window window{runtime, 8 * places};
    std::mt19937_64 random{static_cast<std::uint64_t>(runtime.rank().value)};
    for (std::uint64_t i = 0; i < puts; ++i) {
        const Rank to{static_cast<int>(random() % static_cast<std::uint64_t>(runtime.size()))};
        window.put(to, Offset{8 * (random() % places)}, i);
    }
    window.flush();
    const auto statistics = window.statistics();
    CHECK(statistics[Counter::conflicts] < puts / 1000); // two puts to one place within some hundred
    CHECK(statistics[Counter::rma_flushes] < puts / 100);
    runtime.barrier();
}

TEST_CASE("the statistics of a window count its transfers, by path, and the flushes that program order took") {
    const bool by_messages = GENERATE(false, true); // what is small, on the path rma
    Runtime runtime{MPI_COMM_WORLD, lapwing::Settings{{"LAPWING_RMA_SMALL", by_messages ? "messages" : "mpi"}}};
    Window window{runtime, std::uint64_t{1} << 20};
    const Rank to = test::next(runtime);
    const lapwing::Path path = window.path(to);
    std::vector<std::byte> large(100'000);
    constexpr std::uint64_t small_puts = 5;
    for (std::uint64_t i = 0; i < small_puts; ++i) window.put(to, Offset{64 * i}, i);
    window.put(to, Offset{4096}, large);
    CHECK(window.get<std::uint64_t>(to, Offset{524'288}) == 0); // no bytes in common
    window.start_get(to, Offset{262'144}, large).wait();
    window.atomic<int>(to, Offset{131'072}).fetch_add(1);
    window.flush(to);
    const auto before = window.statistics()[Counter::conflicts];
    window.put(to, Offset{0}, std::uint64_t{7});
    CHECK(window.get<std::uint64_t>(to, Offset{0}) == 7); // must wait for the put where MPI would let it pass
    window.flush(to);
    const auto seen = window.statistics();
    const bool rma = path == lapwing::Path::rma;
    const bool service = path == lapwing::Path::service;
    const bool small_rma = rma && !(by_messages && runtime.progress_mode() == lapwing::ProgressMode::thread);
    const bool small_service = service || (rma && !small_rma);
    const auto sum = [&](bool small, bool others, std::uint64_t of_small, std::uint64_t of_others) {
        return (small ? of_small : 0) + (others ? of_others : 0);
    };
    CHECK(seen[Counter::rma_puts] == sum(small_rma, rma, small_puts + 1, 1));
    CHECK(seen[Counter::rma_put_bytes] == sum(small_rma, rma, (small_puts + 1) * 8, large.size()));
    CHECK(seen[Counter::rma_gets] == sum(small_rma, rma, 2, 1));
    CHECK(seen[Counter::rma_get_bytes] == sum(small_rma, rma, 16, large.size()));
    CHECK(seen[Counter::service_puts] == sum(small_service, service, small_puts + 1, 1));
    CHECK(seen[Counter::service_put_bytes] == sum(small_service, service, (small_puts + 1) * 8, large.size()));
    CHECK(seen[Counter::service_gets] == sum(small_service, service, 2, 1));
    CHECK(seen[Counter::service_get_bytes] == sum(small_service, service, 16, large.size()));
    if (rma) CHECK(seen[Counter::rma_atomics] + seen[Counter::service_atomics] == 1);
    if (small_service) CHECK(seen[Counter::service_atomics] == 1);
    if (rma) CHECK(seen[Counter::rma_flushes] > 0);
    CHECK(before == 0);
    // Messages of a pair of ranks stay in order by themselves.
    CHECK(seen[Counter::conflicts] == (rma ? 1 : 0));
    runtime.barrier();
}

TEST_CASE("a flush waits for the transfers before it, and not for those that have been started since") {
    Runtime runtime{MPI_COMM_WORLD, lapwing::Settings{{"LAPWING_PROGRESS", "caller"}}};
    if (runtime.size() == 1 || runtime.network_path() != lapwing::Path::service) return;
    constexpr std::size_t bytes = 1U << 16;
    Window window{runtime, bytes};
    lapwing::detail::messages::Engine& engine = runtime.state().engine();
    const Rank owner{runtime.size() - 1}; // of another node than rank 0
    int word = 0;
    if (runtime.rank() == Rank{0}) {
        std::vector<std::byte> first(bytes);
        std::vector<std::byte> second(bytes);
        Completion before = window.start_get(owner, Offset{0}, first);
        const auto ticket = engine.start_flush(owner.value);
        before.wait();
        MPI_Send(&word, 1, MPI_INT, owner.value, 1, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_INT, owner.value, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // from here on it serves nobody
        Completion after = window.start_get(owner, Offset{0}, second);
        bool flushed = false;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{1};
        while (!flushed && std::chrono::steady_clock::now() < end) {
            (void)runtime.progress();
            flushed = engine.flushed(owner.value, ticket);
        }
        CHECK(flushed);
        CHECK_FALSE(after.test());
        MPI_Send(&word, 1, MPI_INT, owner.value, 3, MPI_COMM_WORLD);
        after.wait();
    } else if (runtime.rank() == owner) {
        for (int here = 0; here == 0; MPI_Iprobe(0, 1, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE))
            (void)runtime.progress();
        MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 100; ++i) (void)runtime.progress();
        MPI_Send(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    runtime.barrier();
    window.close();
}
