// Loops of puts that become one transfer, and puts whose bytes are computed while they travel.
#include "pipeline/random_transfers.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/plan.hpp>
#include <lapwing/recording.hpp>
#include <lapwing/runtime.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

using namespace lapwing;
using namespace test;

namespace {

struct Put {
    std::uint64_t target, offset, source, bytes;
};

/// Into shares of the window's parts: in order, anywhere, or overlapping.
std::vector<Put> random_puts(std::mt19937_64& random, std::uint64_t ranks, std::uint64_t share) {
    std::vector<Put> puts(random() % 100);
    const int kind = static_cast<int>(random() % 3);
    const std::uint64_t stride = 1 + random() % 60;
    for (std::uint64_t k = 0; k < puts.size(); ++k) {
        const std::uint64_t bytes = 1 + random() % (kind == 2 ? 300 : stride);
        const std::uint64_t offset = kind == 0 ? k * stride : random() % (share - 300);
        puts[k] = {kind == 0 ? 0 : random() % ranks, offset,
                   random() % 2 == 0 ? offset : random() % (memory_bytes - 300), bytes};
    }
    return puts;
}

/// Executes a plan that sends bytes as they are computed, in order and in whole granules.
void execute_filled(Plan& plan, const Sample& source, std::uint64_t me, std::uint64_t turn) {
    const std::size_t bytes = source.flat.size();
    std::uint64_t computed = 0;
    const std::uint64_t granule = bytes % 4 == 0 && bytes != 0 ? 4 : 1;
    plan.execute_filled(granule, [&](std::uint64_t first, std::span<std::byte> piece) {
        if (first != computed || piece.size() % granule != 0) throw std::logic_error{"not in order"};
        for (std::size_t k = 0; k < piece.size(); ++k)
            piece[k] = pattern(me, turn, static_cast<std::uint64_t>(source.flat[first + k]));
        computed += piece.size();
    });
    CHECK(computed == bytes);
}

/// Executes a plan whose source is computed meanwhile.
void produce(Plan& plan, Bytes& memory, const Sample& source, std::uint64_t me, std::uint64_t turn,
             RandomLayouts& random) {
    const std::size_t bytes = source.flat.size();
    std::ranges::fill(memory, std::byte{0xEE}); // what nobody has computed
    Production put = plan.produce(memory.data());
    std::size_t done = 0;
    while (done < bytes) {
        const std::size_t end = std::min(bytes, done + random.size(1, 400));
        for (; done < end; ++done) {
            const auto at = static_cast<std::size_t>(source.flat[done]);
            memory[at] = pattern(me, turn, at);
        }
        // A byte of the source may occur again later: it has its value by then.
        if (random.number(0, 3) != 0) put.ready(done);
    }
    if (random.number(0, 1) == 0) put.ready(bytes);
    put.finish();
    std::ranges::fill(memory, std::byte{0xEE});
}

} // namespace

TEST_CASE("a recorded loop leaves what its puts leave one after the other") {
    Runtime runtime;
    Window window{runtime, window_bytes};
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    Recording recording{window};
    std::mt19937_64 random{number_from_environment("TEST_SEED", 5)}; // the same on all ranks
    // Each rank writes a share of each part, and all know what all write.
    const std::uint64_t share = window_bytes / ranks;
    Bytes expected(window_bytes);
    for (std::uint64_t round = 0; round < 60; ++round) {
        std::vector<std::vector<Put>> puts(ranks);
        for (auto& of_rank : puts) of_rank = random_puts(random, ranks, share);
        Bytes memory(memory_bytes);
        for (int repeat = 0; repeat < 2; ++repeat) { // the same loop again, with other values
            const std::uint64_t turn = 2 * round + static_cast<std::uint64_t>(repeat);
            const std::uint64_t plans = recording.plans_made();
            for (const Put& put : puts[me])
                recording.put(Rank{static_cast<int>(put.target)}, Offset{me * share + put.offset},
                              std::span<const std::byte>{memory}.subspan(put.source, put.bytes));
            CHECK(recording.puts() == puts[me].size());
            for (std::size_t i = 0; i < memory.size(); ++i)
                memory[i] = pattern(me, turn, i); // before run() is early enough
            recording.run();
            CHECK(recording.puts() == 0);
            if (repeat == 1) CHECK(recording.plans_made() == plans);
            std::ranges::fill(memory, std::byte{0xEE});
            for (std::uint64_t rank = 0; rank < ranks; ++rank)
                for (const Put& put : puts[rank])
                    if (put.target == me)
                        for (std::uint64_t i = 0; i < put.bytes; ++i)
                            expected[rank * share + put.offset + i] = pattern(rank, turn, put.source + i);
            runtime.barrier();
            INFO("round " << round << ", seed with TEST_SEED");
            REQUIRE(agree(runtime, std::ranges::equal(window.local(), expected)));
            runtime.barrier();
        }
    }
}

TEST_CASE("a recorded loop names each byte once, in as few blocks as there can be") {
    Runtime runtime;
    Window window{runtime, 1U << 16};
    const Rank target = next(runtime);
    Recording recording{window};
    std::vector<double> values(4000, 1.5);
    for (std::size_t i = 0; i < 1000; ++i) recording.put(target, Offset::of<double>(i), values[i]);
    recording.run();
    CHECK(recording.blocks(target) == 1);
    for (std::size_t i = 1000; i-- > 0;) recording.put(target, Offset::of<double>(i), values[i]); // backwards
    recording.run();
    CHECK(recording.blocks(target) == 1);
    for (std::size_t i = 0; i < 1000; ++i) recording.put(target, Offset::of<double>(i), values[4 * i]); // a column
    recording.run();
    CHECK(recording.blocks(target) == 1000);
    // A block, then another in its middle, then most of it again.
    recording.put(target, Offset{0}, std::span{values}.first(100));
    recording.put(target, Offset::of<double>(40), std::span{values}.subspan(2000, 20));
    recording.run();
    CHECK(recording.blocks(target) == 3);
    recording.put(target, Offset{0}, std::span{values}.first(100));
    recording.put(target, Offset::of<double>(40), std::span{values}.subspan(2000, 20));
    recording.put(target, Offset::of<double>(10), std::span{values}.subspan(10, 60));
    recording.run();
    CHECK(recording.blocks(target) == 1);
    CHECK(recording.plans_made() == 5);
    // Whatever holds values; what would be gone or is no value does not compile.
    std::array<int, 3> numbers{1, 2, 3};
    recording.put(target, Offset{0}, numbers);
    recording.put(target, Offset{16}, std::span<int, 3>{numbers});
    recording.run();
    CHECK(recording.blocks(target) == 2);
    const auto accepts = []<class Value>(Value&&) {
        return requires(Recording& r, Value&& value) { r.put(Rank{0}, Offset{0}, std::forward<Value>(value)); };
    };
    CHECK(accepts(numbers));
    CHECK(accepts(numbers[0]));
    CHECK_FALSE(accepts(5));
    CHECK_FALSE(accepts(std::vector<int>{1}));
    CHECK_FALSE(accepts(numbers.data()));
    CHECK_THAT(message_of<RangeError>([&] { recording.put(target, Offset{(1U << 16) - 4}, values[0]); }),
               says({runtime.who(), "Recording::put", "[65532, 65532 + 8)", "65536"}));
    CHECK_THROWS_AS(recording.put(Rank{runtime.size()}, Offset{0}, values[0]), RangeError);
    CHECK(recording.puts() == 0);
    runtime.barrier();
    if (runtime.size() > 1) {
        std::array<int, 7> arrived{};
        std::memcpy(arrived.data(), window.local().data(), sizeof arrived);
        CHECK(arrived[0] == 1);
        CHECK(arrived[6] == 3);
    }
    runtime.barrier();
}

TEST_CASE("a recording does not outlive its window") {
    Runtime runtime;
    Window window{runtime, 64};
    Recording recording{window};
    const std::int64_t value = 1;
    recording.put(next(runtime), Offset{0}, value);
    window.close();
    const auto closed = says({"the window of the recording is closed"});
    CHECK_THAT(message_of<UsageError>([&] { recording.put(next(runtime), Offset{0}, value); }), closed);
    CHECK_THAT(message_of<UsageError>([&] { recording.run(); }), closed);
}

TEST_CASE("a put whose bytes are computed meanwhile sends none before it is ready, and all in the end") {
    Runtime runtime;
    Window window{runtime, window_bytes};
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    const auto before = static_cast<std::uint64_t>(previous(runtime).value);
    RandomLayouts random{static_cast<unsigned>(number_from_environment("TEST_SEED", 3))};
    Bytes memory(memory_bytes);
    Bytes expected(window_bytes);
    for (std::uint64_t round = 0; round < 100; ++round) {
        const Sides sides = random_sides(random);
        const PlanOptions options = random_options(random, window.path(next(runtime)));
        Plan plan = Plan::put(window, sides.source.layout, next(runtime), Offset{0}, sides.target.layout, options);
        for (const bool filled : {false, true}) {
            const std::uint64_t turn = 2 * round + (filled ? 1 : 0);
            if (filled) execute_filled(plan, sides.source, me, turn);
            else produce(plan, memory, sides.source, me, turn, random);
            for (std::size_t k = 0; k < sides.source.flat.size(); ++k)
                expected[static_cast<std::size_t>(sides.target.flat[k])] =
                    pattern(before, turn, static_cast<std::uint64_t>(sides.source.flat[k]));
            runtime.barrier();
            INFO("round " << round << ", filled " << filled << ", seed with TEST_SEED\n" << plan.explain());
            REQUIRE(agree(runtime, std::ranges::equal(window.local(), expected)));
            runtime.barrier();
        }
    }
}

TEST_CASE("what is ready is at the owner before the rest is computed") {
    Runtime runtime;
    constexpr std::uint64_t rows = 64;
    constexpr std::uint64_t row = 4096;
    Window window{runtime, rows * row};
    // Rows with gaps here, dense there; and dense on both sides.
    for (const std::int64_t stride : {std::int64_t{row} + 64, std::int64_t{row}}) {
        std::vector<std::byte> memory(static_cast<std::size_t>(stride) * rows);
        Plan plan = Plan::put(window, Layout::strided(rows, row, stride), next(runtime), Offset{0},
                              Layout::contiguous(rows * row));
        std::ranges::fill(window.local(), std::byte{0});
        runtime.barrier();
        Production put = plan.produce(memory.data());
        for (std::uint64_t k = 0; k < rows / 2; ++k) {
            std::fill_n(memory.data() + static_cast<std::size_t>(stride) * k, row, static_cast<std::byte>(k + 1));
            put.ready((k + 1) * row);
            if (k % 4 == 3) window.flush(); // so that buffers come free
        }
        window.flush();
        runtime.barrier();
        // At least a quarter, in chunks of at most an eighth.
        std::uint64_t arrived = 0;
        while (arrived < rows && window.local()[arrived * row + row - 1] == static_cast<std::byte>(arrived + 1))
            ++arrived;
        CHECK(arrived >= rows / 4);
        CHECK(arrived <= rows / 2);
        runtime.barrier();
        for (std::uint64_t k = rows / 2; k < rows; ++k)
            std::fill_n(memory.data() + static_cast<std::size_t>(stride) * k, row, static_cast<std::byte>(k + 1));
        put.finish();
        runtime.barrier();
        std::uint64_t wrong = 0;
        for (std::uint64_t k = 0; k < rows; ++k)
            wrong += std::ranges::count_if(window.local().subspan(k * row, row),
                                           [&](std::byte b) { return b != static_cast<std::byte>(k + 1); }) != 0;
        CHECK(wrong == 0);
        runtime.barrier();
    }
}

TEST_CASE(
    "productions refuse gets, bytes that the plan has not, and granules that do not fit; errors of the program pass") {
    Runtime runtime;
    Window window{runtime, 1U << 20};
    std::vector<std::byte> memory(1U << 20);
    const Layout all = Layout::contiguous(1U << 20);
    const Layout rows = Layout::strided(1024, 512, 1024);
    Plan get = Plan::get(window, next(runtime), Offset{0}, all, all);
    CHECK_THAT(message_of<UsageError>([&] { (void)get.produce(memory.data()); }),
               says({runtime.who(), "produce", "get"}));
    CHECK_THROWS_AS(get.execute_filled(1, [](auto, auto) {}), UsageError);
    Plan put = Plan::put(window, Layout::contiguous(512 * 1024), next(runtime), Offset{0}, rows);
    {
        Production production = put.produce(memory.data());
        CHECK_THAT(message_of<RangeError>([&] { production.ready(600 * 1024); }),
                   says({"Production::ready", "614400", "524288"}));
        production.ready(100 * 1024);
    } // given up
    CHECK_THAT(message_of<RangeError>([&] { put.execute_filled(1000, [](auto, auto) {}); }),
               says({"524288", "granule of 1000"}));
    CHECK_THROWS_AS(put.execute_filled(0, [](auto, auto) {}), RangeError);
    CHECK_THROWS_AS(put.execute_filled(4096,
                                       [](std::uint64_t first, auto) {
                                           if (first > 0) throw std::domain_error{"of the program"};
                                       }),
                    std::domain_error);
    runtime.barrier();
    // And the next ones work.
    const std::vector<std::byte> ones(512 * 1024, std::byte{1});
    put.execute(ones.data());
    runtime.barrier();
    CHECK(window.local()[1023 * 1024] == std::byte{1});
    runtime.barrier();
}

TEST_CASE("productions go on with little memory for chunks") {
    const ScopedEnvironment little{"LAPWING_CHUNK_MEMORY", "4096"};
    Runtime runtime;
    constexpr std::uint64_t bytes = 300 * 1000;
    Window window{runtime, 2 * bytes};
    for (const Layout& there : {Layout::contiguous(bytes), Layout::strided(300, 1000, 2000)}) {
        std::ranges::fill(window.local(), std::byte{0});
        runtime.barrier();
        Plan plan = Plan::put(window, Layout::contiguous(bytes), next(runtime), Offset{0}, there);
        plan.execute_filled(1000, [](std::uint64_t first, std::span<std::byte> piece) {
            for (std::size_t k = 0; k < piece.size(); ++k) piece[k] = pattern(1, 2, first + k);
        });
        runtime.barrier();
        const bool dense = there.is_contiguous();
        std::uint64_t wrong = 0;
        for (std::uint64_t k = 0; k < bytes; ++k)
            wrong += window.local()[dense ? k : k / 1000 * 2000 + k % 1000] != pattern(1, 2, k) ? 1 : 0;
        CHECK(wrong == 0);
        runtime.barrier();
    }
}
