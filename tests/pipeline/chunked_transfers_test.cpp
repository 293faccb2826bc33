// Planned transfers that need more than the memory for their chunks: large ones, and what completes them other than
// waiters.
#include "pipeline/chunk_pool.hpp"
#include "pipeline/random_transfers.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/plan.hpp>
#include <lapwing/runtime.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

using namespace lapwing;
using test::Bytes;

namespace {

constexpr std::uint64_t blocks = 50'000;
constexpr std::uint64_t extent = blocks * 24;

Bytes patterned(int who) {
    Bytes memory(extent);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = test::pattern(static_cast<std::uint64_t>(who), 0, i);
    return memory;
}

/// For chunks of a small part of a transfer.
Settings little_memory() { return Settings{{"LAPWING_CHUNK_MEMORY", "64k"}}; }

/// Blocks of 12 bytes with gaps.
struct SomeBlocks {
    bool irregular = false;

    [[nodiscard]] std::uint64_t start(std::uint64_t i) const { return i * 24 + (irregular ? i % 3 * 4 : 0); }
    [[nodiscard]] Layout layout() const {
        if (!irregular) return Layout::strided(blocks, 12, 24);
        Layout::Offsets offsets;
        for (std::uint64_t i = 0; i < blocks; ++i) offsets.push_back(static_cast<std::int64_t>(start(i)));
        return Layout::indexed(offsets, 12);
    }
};

/// What is in memory full of 0xEE after the blocks of `from` have come to `to`.
Bytes moved(const Bytes& source, SomeBlocks from, SomeBlocks to) {
    Bytes result(extent, std::byte{0xEE});
    for (std::uint64_t i = 0; i < blocks; ++i) std::copy_n(&source[from.start(i)], 12, &result[to.start(i)]);
    return result;
}

constexpr std::array strategies{Strategy::automatic, Strategy::full_pack, Strategy::superpipeline,
                                Strategy::owner_packed};

/// What there is of it on this path.
PlanOptions forced(Strategy strategy, Path path) {
    return {.strategy = detail::pipeline::is_mapped(path) && strategy == Strategy::owner_packed
                            ? Strategy::fixed_pipeline
                            : strategy};
}

} // namespace

TEST_CASE("all ranks put and get large layouts at one owner") {
    Runtime runtime;
    Window window{runtime, runtime.rank() == Rank{0} ? extent * static_cast<std::uint64_t>(runtime.size()) : 8};
    const int me = runtime.rank().value;
    const Offset mine{extent * static_cast<std::uint64_t>(me)};
    const Bytes memory = patterned(me);
    const SomeBlocks here{.irregular = true};
    for (const SomeBlocks there : {SomeBlocks{false}, SomeBlocks{true}})
        for (const Strategy strategy : strategies) {
            const PlanOptions options = forced(strategy, window.path(Rank{0}));
            if (me == 0) std::ranges::fill(window.local(), std::byte{0xEE});
            runtime.barrier();
            Plan put = Plan::put(window, here.layout(), Rank{0}, mine, there.layout(), options);
            put.execute(std::span{memory});
            runtime.barrier();
            bool right = true;
            for (int rank = 0; me == 0 && rank < runtime.size(); ++rank)
                right = right &&
                        std::ranges::equal(moved(patterned(rank), here, there),
                                           window.local().subspan(extent * static_cast<std::uint64_t>(rank), extent));
            INFO(put.explain());
            CHECK(test::agree(runtime, right));
            Bytes back(extent, std::byte{0xEE});
            Plan::get(window, Rank{0}, mine, there.layout(), here.layout(), options).execute(std::span{back});
            CHECK(test::agree(runtime, back == moved(memory, here, here)));
            runtime.barrier();
        }
    window.close();
    runtime.close();
}

TEST_CASE("a flush or a barrier completes transfers that have been started, whole") {
    Runtime runtime{MPI_COMM_WORLD, little_memory()};
    Window window{runtime, extent};
    const Rank next = test::next(runtime);
    const Bytes memory = patterned(runtime.rank().value);
    const Bytes from_before = patterned(test::previous(runtime).value);
    const SomeBlocks here{.irregular = true};
    const SomeBlocks there{};
    for (const Strategy strategy : strategies) {
        const PlanOptions options = forced(strategy, window.path(next));
        std::ranges::fill(window.local(), std::byte{0xEE});
        runtime.barrier();
        Plan put = Plan::put(window, here.layout(), next, Offset{0}, there.layout(), options);
        Completion started = put.start(static_cast<const void*>(memory.data()));
        runtime.barrier();
        CHECK(test::agree(runtime, std::ranges::equal(moved(from_before, here, there), window.local())));
        runtime.barrier();
        started.wait();
        Bytes back(extent, std::byte{0xEE});
        const bool sieved = strategy == Strategy::full_pack && !detail::pipeline::is_mapped(window.path(next));
        Plan get = Plan::get(window, next, Offset{0}, there.layout(), here.layout(),
                             sieved ? PlanOptions{.strategy = Strategy::sieved} : options);
        Completion coming = get.start(back.data());
        window.flush(next);
        CHECK(test::agree(runtime, back == moved(memory, here, here)));
        CHECK(coming.test());
        runtime.barrier();
    }
    window.close();
    runtime.close();
}

TEST_CASE("accesses after the start of a transfer come after the transfer") {
    Runtime runtime{MPI_COMM_WORLD, little_memory()};
    Window window{runtime, extent};
    const Rank next = test::next(runtime);
    const Bytes memory = patterned(runtime.rank().value);
    const Bytes other = patterned(runtime.rank().value + 100);
    const SomeBlocks blocks_there{};
    for (const Strategy strategy : strategies) {
        const PlanOptions options = forced(strategy, window.path(next));
        Plan put = Plan::put(window, blocks_there.layout(), next, Offset{0}, blocks_there.layout(), options);
        Plan again = Plan::put(window, blocks_there.layout(), next, Offset{0}, blocks_there.layout(), options);
        constexpr std::uint64_t last = (blocks - 1) * 24;
        {
            Completion started = put.start(static_cast<const void*>(memory.data()));
            std::uint64_t read = 0;
            window.get(next, Offset{last}, std::span{&read, 1});
            CHECK(std::memcmp(&read, &memory[last], 8) == 0);
        }
        {
            Completion started = put.start(static_cast<const void*>(memory.data()));
            const std::uint64_t mark = 0x1122334455667788U;
            window.put(next, Offset{last}, std::span{&mark, 1});
            started.wait();
            std::uint64_t read = 0;
            window.get(next, Offset{last}, std::span{&read, 1});
            CHECK(read == mark);
        }
        {
            Completion started = put.start(static_cast<const void*>(memory.data()));
            Completion later = again.start(static_cast<const void*>(other.data()));
            later.wait();
            started.wait();
            Bytes back(12);
            window.get(next, Offset{last}, back);
            CHECK(std::ranges::equal(back, std::span{other}.subspan(last, 12)));
        }
    }
    runtime.barrier();
    window.close();
    runtime.close();
}

TEST_CASE("adds that come after a put are sent while a long transfer is under way") {
    Runtime runtime{MPI_COMM_WORLD, little_memory()};
    Window window{runtime, extent + 8};
    const Rank next = test::next(runtime);
    const Bytes memory = patterned(runtime.rank().value);
    const SomeBlocks everywhere{};
    for (const Strategy strategy : strategies) {
        Plan put = Plan::put(window, everywhere.layout(), next, Offset{0}, everywhere.layout(),
                             forced(strategy, window.path(next)));
        Completion started = put.start(static_cast<const void*>(memory.data()));
        const std::uint64_t forty = 40;
        window.put(next, Offset{extent}, std::span{&forty, 1});
        window.atomic<std::uint64_t>(next, Offset{extent}).add(2);
        window.flush(next);
        std::uint64_t read = 0;
        window.get(next, Offset{extent}, std::span{&read, 1});
        CHECK(read == 42);
    }
    runtime.barrier();
    window.close();
    runtime.close();
}

TEST_CASE("the completion of a transfer may outlive its window and its team") {
    const Bytes memory = patterned(7);
    Bytes back(extent, std::byte{0xEE});
    const SomeBlocks here{.irregular = true};
    const SomeBlocks there{};
    Completion put;
    Completion get;
    {
        Runtime runtime{MPI_COMM_WORLD, little_memory()};
        Window window{runtime, 2 * extent};
        const Rank next = test::next(runtime);
        std::ranges::copy(patterned(runtime.rank().value), window.local().begin());
        runtime.barrier();
        put = window.start_put(here.layout(), memory.data(), next, Offset{extent}, there.layout());
        get = window.start_get(next, Offset{0}, there.layout(), here.layout(), back.data());
        window.close();
        CHECK(test::agree(runtime, back == moved(patterned(next.value), there, here)));
        runtime.close();
    }
    CHECK(put.test());
    CHECK_NOTHROW(get.wait());
}

TEST_CASE("transfers that find no memory for their chunks wait for those that have it") {
    Runtime runtime{MPI_COMM_WORLD, little_memory()};
    Window window{runtime, 8 * extent};
    auto& pool = runtime.state().part<detail::pipeline::ChunkPool>();
    const Rank next = test::next(runtime);
    const Bytes memory = patterned(runtime.rank().value);
    const Bytes from_before = patterned(test::previous(runtime).value);
    const SomeBlocks here{.irregular = true};
    for (const Strategy strategy : strategies) {
        const PlanOptions options = forced(strategy, window.path(next));
        std::vector<Plan> plans;
        plans.reserve(8);
        for (std::uint64_t i = 0; i < 8; ++i)
            plans.push_back(
                Plan::put(window, here.layout(), next, Offset{i * extent}, Layout::contiguous(blocks * 12), options));
        std::vector<Completion> started;
        started.reserve(plans.size());
        for (Plan& plan : plans) started.push_back(plan.start(static_cast<const void*>(memory.data())));
        CHECK(pool.bytes() <= 64 * 1024);
        // The last first: nobody else goes on with the others.
        for (auto it = started.rbegin(); it != started.rend(); ++it) it->wait();
        runtime.barrier();
        bool right = true;
        for (std::uint64_t part = 0; part < 8; ++part)
            for (std::uint64_t i = 0; i < blocks; ++i)
                right = right && std::equal(&from_before[here.start(i)], &from_before[here.start(i)] + 12,
                                            &window.local()[part * extent + i * 12]);
        CHECK(test::agree(runtime, right));
        std::ranges::fill(window.local(), std::byte{0});
        runtime.barrier();
    }
    window.close();
    runtime.close();
}

TEST_CASE("small transfers leave large chunk buffers to large ones") {
    detail::pipeline::ChunkPool pool;
    constexpr std::uint64_t limit = 1 << 20;
    pool.give_back(pool.take(limit / 2, 1, limit));
    auto small = pool.take(1000, 1, limit);
    CHECK(small->bytes == 1000);
    auto large = pool.take(limit / 2, 1, limit);
    CHECK(large->bytes == limit / 2);
    CHECK(pool.bytes() == limit / 2 + 1000);
    // Where the limit leaves nothing else, they are better than nothing.
    auto rest = pool.take(limit, 1000, limit);
    CHECK(rest->bytes == limit / 2 - 1000);
    pool.give_back(std::move(large));
    CHECK(pool.take(2000, 1, limit)->bytes == limit / 2);
    CHECK(pool.bytes() <= limit);
    CHECK(pool.take(5, 5, 5)->bytes == 0);
}

TEST_CASE("tests of the last of many transfers complete it, however little memory there is for chunks") {
    constexpr std::uint64_t rows = 4000;
    const Layout there = Layout::strided(rows, 8, 24);
    const Layout here = Layout::strided(rows, 8, 16);
    for (const char* const memory : {"4k", "64k"}) {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_CHUNK_MEMORY", memory}}};
        Window window{runtime, rows * 24};
        const Rank next = test::next(runtime);
        for (std::uint64_t i = 0; i < rows; ++i) window.local_as<double>()[3 * i] = static_cast<double>(i);
        for (const Strategy strategy : strategies) {
            runtime.barrier();
            const PlanOptions options = forced(strategy, window.path(next));
            std::vector<std::vector<double>> results(20, std::vector<double>(2 * rows));
            std::vector<Plan> plans;
            std::vector<Completion> transfers;
            for (std::vector<double>& result : results) {
                plans.push_back(Plan::get(window, next, Offset{0}, there, here, options));
                transfers.push_back(plans.back().start(result.data()));
            }
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
            bool done = false;
            while (!done && std::chrono::steady_clock::now() < end) done = transfers.back().test();
            INFO(memory << ", " << plans.back().explain());
            CHECK(done);
            for (Completion& transfer : transfers) transfer.wait();
            bool right = true;
            for (const std::vector<double>& result : results)
                for (std::uint64_t i = 0; i < rows; ++i) right = right && result[2 * i] == static_cast<double>(i);
            CHECK(right);
        }
        runtime.barrier();
        window.close();
        runtime.close();
    }
}

TEST_CASE("a plan whose window is closed says so, and touches neither window nor team") {
    std::optional<Plan> get;
    std::optional<Plan> put;
    std::optional<Production> production;
    Bytes memory(800);
    {
        Runtime runtime;
        Window window{runtime, 1 << 12};
        const Rank next = test::next(runtime);
        get.emplace(Plan::get(window, next, Offset{0}, Layout::strided(100, 8, 16), Layout::contiguous(800)));
        put.emplace(Plan::put(window, Layout::contiguous(800), next, Offset{0}, Layout::strided(100, 8, 16)));
        production.emplace(put->produce(memory.data()));
        CHECK_THAT(get->explain(), Catch::StartsWith("get of 800 bytes"));
        window.close();
        runtime.close();
    }
    const auto refused = [&](auto&& call) {
        CHECK_THAT(test::message_of<UsageError>(call),
                   test::says({"the window of the plan", "800 bytes", "is closed"}));
    };
    std::byte* const target = memory.data();
    refused([&] { (void)get->explain(); });
    refused([&] { get->execute(target); });
    refused([&] { get->execute(std::span{memory}); });
    refused([&] { (void)get->start(target); });
    refused([&] { (void)put->start(static_cast<const void*>(target)); });
    refused([&] { put->execute(static_cast<const void*>(target)); });
    refused([&] { put->execute_notify(target, 0); });
    refused([&] { (void)put->produce(target); });
    refused([&] { put->execute_filled(8, [](std::uint64_t, std::span<std::byte>) {}); });
    refused([&] { production->ready(8); });
    refused([&] { production->finish(); });
    CHECK(get->bytes() == 800);
}
