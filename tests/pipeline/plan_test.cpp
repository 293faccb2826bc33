// Planned transfers: every strategy and path, random layouts on both sides, against a byte-by-byte oracle.
#include "model/team_costs.hpp"
#include "pipeline/chunk_pool.hpp"
#include "pipeline/random_transfers.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/detail/layout_cursor.hpp>
#include <lapwing/error.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace lapwing;
using namespace test;

TEST_CASE("planned puts write exactly the bytes of the target layout") {
    Runtime runtime;
    Window window{runtime, window_bytes};
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    const auto before = static_cast<std::uint64_t>(test::previous(runtime).value);
    test::RandomLayouts random{static_cast<unsigned>(test::number_from_environment("TEST_SEED", 1))};
    Bytes memory(memory_bytes);
    Bytes expected(window_bytes);
    const std::uint64_t rounds = test::number_from_environment("TEST_ROUNDS", 150);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const Sides sides = random_sides(random);
        const PlanOptions options = random_options(random, window.path(test::next(runtime)));
        const bool blocking = random.number(0, 1) == 0;
        Plan plan =
            Plan::put(window, sides.source.layout, test::next(runtime), Offset{0}, sides.target.layout, options);
        if (options.strategy != Strategy::automatic) CHECK(plan.strategy() == options.strategy);
        // Twice, for what a plan keeps between executions.
        for (std::uint64_t execution = 0; execution < 2; ++execution) {
            const std::uint64_t turn = 2 * round + execution;
            for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(me, turn, i);
            if (blocking) {
                plan.execute(std::span<const std::byte>{memory});
            } else {
                Completion completion = plan.start(static_cast<const void*>(memory.data()));
                completion.wait();
            }
            std::ranges::fill(memory, std::byte{0xEE}); // it may be reused
            for (std::size_t k = 0; k < sides.target.flat.size(); ++k)
                expected[static_cast<std::size_t>(sides.target.flat[k])] =
                    pattern(before, turn, static_cast<std::uint64_t>(sides.source.flat[k]));
            runtime.barrier();
            INFO("round " << round << ", seed with TEST_SEED\n" << plan.explain());
            REQUIRE(test::agree(runtime, std::ranges::equal(window.local(), expected)));
            runtime.barrier();
        }
    }
    window.close();
    runtime.close();
}

TEST_CASE("planned gets write exactly the bytes of the destination layout") {
    Runtime runtime;
    Window window{runtime, window_bytes};
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    const Rank next = test::next(runtime);
    for (std::size_t i = 0; i < window.local().size(); ++i) window.local()[i] = pattern(me, 99, i);
    runtime.barrier();
    test::RandomLayouts random{static_cast<unsigned>(test::number_from_environment("TEST_SEED", 2))};
    const std::uint64_t rounds = test::number_from_environment("TEST_ROUNDS", 150);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        const Sides sides = random_sides(random);
        const PlanOptions options = random_get_options(random, window.path(next));
        const bool blocking = random.number(0, 1) == 0;
        Plan plan = Plan::get(window, next, Offset{0}, sides.source.layout, sides.target.layout, options);
        for (int execution = 0; execution < 2; ++execution) {
            Bytes memory(memory_bytes, std::byte{0xEE});
            Bytes expected = memory;
            for (std::size_t k = 0; k < sides.target.flat.size(); ++k)
                expected[static_cast<std::size_t>(sides.target.flat[k])] = pattern(
                    static_cast<std::uint64_t>(next.value), 99, static_cast<std::uint64_t>(sides.source.flat[k]));
            if (blocking) {
                plan.execute(std::span<std::byte>{memory});
            } else {
                Completion completion = plan.start(memory.data());
                while (!completion.test()) {
                }
            }
            INFO("round " << round << ", seed with TEST_SEED\n" << plan.explain());
            REQUIRE(test::agree(runtime, memory == expected));
        }
    }
    window.close();
    runtime.close();
}

TEST_CASE("windows put and get with layouts, and several transfers may be under way") {
    Runtime runtime;
    Window window{runtime, window_bytes};
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    const Layout column = Layout::strided(1000, 4, 16);
    const Layout packed = Layout::contiguous(4000);
    Bytes memory(memory_bytes);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(me, 1, i);
    {
        Completion first = window.start_put(column, memory.data(), test::next(runtime), Offset{0}, packed);
        Completion second = window.start_put(column.shift(4), memory.data(), test::next(runtime), Offset{4000}, packed);
        window.put(column.shift(8), memory.data(), test::next(runtime), Offset{8000}, packed);
    }
    runtime.barrier();
    const auto before = static_cast<std::uint64_t>(test::previous(runtime).value);
    bool right = true;
    for (std::size_t i = 0; i < 12000; ++i)
        right = right && window.local()[i] == pattern(before, 1, i % 4000 / 4 * 16 + i % 4 + i / 4000 * 4);
    CHECK(test::agree(runtime, right));

    Bytes back(memory_bytes);
    {
        Completion first = window.start_get(test::next(runtime), Offset{0}, packed, column, back.data());
        Completion second = window.start_get(test::next(runtime), Offset{4000}, packed, column.shift(4), back.data());
        window.get(test::next(runtime), Offset{8000}, packed, column.shift(8), back.data());
    }
    right = true;
    for (std::size_t i = 0; i < 16000; ++i) right = right && back[i] == (i % 16 < 12 ? memory[i] : std::byte{0});
    CHECK(test::agree(runtime, right));
    window.close();
    runtime.close();
}

TEST_CASE("chunk buffers are reused, bounded, and missed by nobody when there are none") {
    Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_CHUNK_MEMORY", "8k"}}};
    constexpr std::uint64_t bytes = 1 << 18;
    Window window{runtime, bytes};
    auto& pool = runtime.state().part<detail::pipeline::ChunkPool>();
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    const auto before = static_cast<std::uint64_t>(test::previous(runtime).value);
    const Layout every_other = Layout::strided(bytes / 8, 8, 16);
    Bytes memory(2 * bytes);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(me, 5, i);
    for (const Strategy strategy : {Strategy::full_pack, Strategy::fixed_pipeline, Strategy::superpipeline}) {
        Plan plan = Plan::put(window, every_other, test::next(runtime), Offset{0}, Layout::contiguous(bytes),
                              {.strategy = strategy});
        for (int i = 0; i < 2; ++i) {
            // Two at a time: one of them may find no buffers.
            Completion first = plan.start(static_cast<const void*>(memory.data()));
            Completion second = plan.start(static_cast<const void*>(memory.data()));
            CHECK(pool.bytes() <= 8192);
        }
        runtime.barrier();
        bool right = true;
        for (std::size_t i = 0; i < bytes; ++i)
            right = right && window.local()[i] == pattern(before, 5, i / 8 * 16 + i % 8);
        CHECK(test::agree(runtime, right));
        std::ranges::fill(window.local(), std::byte{0});
        runtime.barrier();
    }
    window.close();
    runtime.close();
}

TEST_CASE("sieved gets manage with little memory, whatever the gaps") {
    constexpr std::uint64_t bytes = 1 << 17;
    // Small and large blocks, gaps that are fetched and some that are not, a block larger than all buffers.
    Layout::Offsets offsets;
    for (std::int64_t i = 0; i < 3000; ++i) offsets.push_back(i * 20 + i / 100 * 1500);
    const Layout layouts[] = {Layout::strided(8000, 8, 16), Layout::indexed(offsets, 12),
                              Layout::strided(9, 5000, 9000), Layout::strided(2, 40'000, 70'000),
                              Layout::strided(300, 4, -400).shift(120'000)};
    for (const char* const memory_of_chunks : {"4096", "8k", "64m"}) {
        Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_CHUNK_MEMORY", memory_of_chunks}}};
        Window window{runtime, bytes};
        const Rank next = test::next(runtime);
        const auto me = static_cast<std::uint64_t>(runtime.rank().value);
        for (std::size_t i = 0; i < bytes; ++i) window.local()[i] = pattern(me, 7, i);
        runtime.barrier();
        const bool mapped = detail::pipeline::is_mapped(window.path(next));
        bool right = true;
        for (const Layout& there : layouts) {
            if (mapped) break;
            const Layout spread = Layout::strided(there.bytes() / 4, 4, 8);
            for (const Layout& here : {Layout::contiguous(there.bytes()), spread}) {
                Bytes first(static_cast<std::size_t>(here.upper())), second = first, expected = first;
                LayoutZip zip{there, here};
                while (!zip.done()) {
                    const BlockPair pair = zip.next();
                    for (std::uint64_t k = 0; k < pair.bytes; ++k)
                        expected[static_cast<std::size_t>(pair.target) + k] = pattern(
                            static_cast<std::uint64_t>(next.value), 7, static_cast<std::uint64_t>(pair.source) + k);
                }
                Plan plan = Plan::get(window, next, Offset{0}, there, here, {.strategy = Strategy::sieved});
                INFO(plan.explain());
                CHECK(plan.strategy() == Strategy::sieved);
                Completion one = plan.start(first.data());
                Completion two = plan.start(second.data()); // which may find no buffers
                two.wait();
                one.wait();
                right = right && first == expected && second == expected;
                CHECK(right);
            }
        }
        CHECK(test::agree(runtime, right));
        runtime.barrier();
        window.close();
        runtime.close();
    }
}

TEST_CASE("small puts that travel as messages are measured as messages") {
    Runtime runtime{
        MPI_COMM_WORLD,
        Settings{{"LAPWING_PROFILE", "none"}, {"LAPWING_CALIBRATE", "5000000"}, {"LAPWING_RMA_SMALL", "messages"}}};
    Window window{runtime, std::uint64_t{1} << 16};
    const Rank next = test::next(runtime);
    if (window.path(next) == Path::rma && runtime.progress_mode() == ProgressMode::thread &&
        runtime.rank() == Rank{0}) {
        (void)Plan::put(window, Layout::strided(1024, 8, 64), next, Offset{0}, Layout::contiguous(8192));
        const auto& costs = detail::model::TeamCosts::of(runtime).model();
        const auto of = [&](Path path, detail::model::Direction direction) {
            return costs.transfers(path, direction, 64);
        };
        const detail::model::TransferModel put = of(Path::rma, detail::model::Direction::put);
        const std::uint64_t largest = runtime.state().least_rma_bytes() - 1;
        CHECK(put.aggregation().largest == largest);
        for (const std::uint64_t bytes : {std::uint64_t{8}, largest})
            CHECK(put.time(bytes, 16) == of(Path::service, detail::model::Direction::put).time(bytes, 16));
        CHECK(put.time(largest + 1, 2) == of(Path::rma, detail::model::Direction::get).time(largest + 1, 2));
    }
    runtime.barrier();
    window.close();
    runtime.close();
}

TEST_CASE("the first plan of a path without a profile measures it, alone, and writes nothing") {
    // Time enough on a busy machine.
    Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_PROFILE", "none"}, {"LAPWING_CALIBRATE", "5000000"}}};
    constexpr std::uint64_t bytes = 1 << 16;
    Window window{runtime, bytes};
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    for (std::size_t i = 0; i < bytes; ++i) window.local()[i] = pattern(me, 3, i);
    runtime.barrier();
    const auto& model = detail::model::TeamCosts::of(runtime).model();
    const Rank next = test::next(runtime);
    const Path path = window.path(next);
    const Layout column = Layout::strided(1024, 8, 64);
    const bool network = path == Path::rma || path == Path::service;
    if (me == 0) {
        (void)Plan::put(window, column, next, Offset{0}, Layout::contiguous(8192));
        if (network && runtime.progress_mode() == ProgressMode::thread) {
            for (const auto direction : {detail::model::Direction::put, detail::model::Direction::get}) {
                CHECK(model.source(path, direction) == detail::model::Source::calibrated);
                const detail::model::TransferModel transfers = model.transfers(path, direction, 8192);
                for (const std::uint64_t size : {8U, 8192U, 1U << 20}) CHECK(transfers.time(size) > 0);
            }
            const auto version = model.version();
            (void)Plan::put(window, column, next, Offset{0}, Layout::contiguous(8192));
            CHECK(model.version() == version); // once
        } else {
            CHECK(model.source(path, detail::model::Direction::put) == detail::model::Source::built_in);
        }
    }
    runtime.barrier();
    bool untouched = true;
    for (std::size_t i = 0; i < bytes; ++i) untouched = untouched && window.local()[i] == pattern(me, 3, i);
    CHECK(test::agree(runtime, untouched));
    window.close();

    Runtime silent{MPI_COMM_WORLD, Settings{{"LAPWING_PROFILE", "none"}, {"LAPWING_CALIBRATE", "0"}}};
    Window other{silent, bytes};
    (void)Plan::put(other, column, next, Offset{0}, Layout::contiguous(8192));
    CHECK(detail::model::TeamCosts::of(silent).model().source(other.path(next), detail::model::Direction::put) ==
          detail::model::Source::built_in);
    other.close();
    silent.close();
    runtime.close();
}

TEST_CASE("plans refuse layouts that do not fit, and say why") {
    Runtime runtime;
    Window window{runtime, 1000};
    const Rank next = test::next(runtime);
    const Layout hundred = Layout::contiguous(100);
    const auto put = [&](const Layout& source, Offset offset, const Layout& target, PlanOptions options = {}) {
        return test::message_of<Error>([&] { (void)Plan::put(window, source, next, offset, target, options); });
    };
    CHECK_THAT(put(hundred, Offset{0}, Layout::contiguous(99)),
               test::says({"Window(#", ").put", "100 bytes", "has 99"}));
    CHECK_THAT(put(hundred, Offset{901}, hundred), test::says({"offset 901", "1000 bytes", "Window::size"}));
    CHECK_THAT(put(hundred, Offset{2000}, hundred), test::says({"offset 2000"}));
    CHECK_THAT(put(hundred, Offset{UINT64_MAX - 50}, hundred), test::says({"1000 bytes"}));
    CHECK_THAT(put(hundred, Offset{10}, hundred.shift(-11)), test::says({"[-11, 89)"}));
    CHECK_THAT(put(hundred, Offset{0}, Layout::strided(10, 10, 111)), test::says({"[0, 1009)"}));
    CHECK_NOTHROW(Plan::put(window, hundred, next, Offset{0}, Layout::strided(10, 10, 110)));
    CHECK_NOTHROW(Plan::put(window, hundred, next, Offset{900}, hundred));
    CHECK_NOTHROW(Plan::put(window, hundred, next, Offset{11}, hundred.shift(-11)));
    CHECK_THAT(test::message_of<RangeError>([&] { (void)Plan::put(window, hundred, Rank{99}, Offset{0}, hundred); }),
               test::says({"rank 99"}));
    if (window.path(next) == Path::rma || window.path(next) == Path::service)
        CHECK_THAT(put(hundred, Offset{0}, hundred, {.strategy = Strategy::direct_copy}),
                   test::says({"direct-copy", "leave the strategy open"}));
    CHECK_THAT(put(hundred, Offset{0}, hundred, {.strategy = Strategy::sieved}), test::says({"sieved", "for gets"}));
    CHECK_THAT(test::message_of<UsageError>([&] {
                   (void)Plan::get(window, runtime.rank(), Offset{0}, hundred, hundred, {.strategy = Strategy::sieved});
               }),
               test::says({"sieved", "not mapped here"}));
    if constexpr (assertion_level >= 2)
        CHECK_THAT(put(hundred, Offset{0}, Layout::strided(10, 10, 5)), test::says({"overlap"}));

    Plan get = Plan::get(window, next, Offset{0}, hundred, hundred.shift(50));
    Bytes memory(149);
    CHECK_THAT(test::message_of<RangeError>([&] { get.execute(std::span<std::byte>{memory}); }),
               test::says({"[50, 150)", "149 bytes"}));
    CHECK_THAT(test::message_of<UsageError>([&] { get.execute(static_cast<const void*>(memory.data())); }),
               test::says({"not const"}));
    Window closed;
    CHECK_THAT(test::message_of<UsageError>([&] { (void)Plan::put(closed, hundred, next, Offset{0}, hundred); }),
               test::says({"closed"}));
    runtime.barrier();
    window.close();
    runtime.close();
}

TEST_CASE("a plan explains itself, and a setting forces its strategy") {
    Runtime runtime{MPI_COMM_WORLD, Settings{{"LAPWING_STRATEGY", "superpipeline"}}};
    constexpr std::uint64_t bytes = 1 << 20;
    Window window{runtime, bytes};
    const Layout column = Layout::strided(bytes / 8, 8, 64);
    const Plan plan = Plan::put(window, column, test::next(runtime), Offset{0}, Layout::contiguous(bytes));
    CHECK(plan.strategy() == Strategy::superpipeline);
    CHECK(plan.bytes() == bytes);
    CHECK(plan.predicted_seconds() > 0);
    CHECK_THAT(plan.explain(), test::says({"put of 1048576 bytes", "superpipeline (forced)", "predicted", "chunks in",
                                           "times the one before it", "not taken", "per-block", "full-pack"}));
    // What the program asks for wins.
    CHECK(Plan::put(window, column, test::next(runtime), Offset{0}, Layout::contiguous(bytes),
                    {.strategy = Strategy::per_block})
              .strategy() == Strategy::per_block);
    CHECK(Plan::put(window, Layout{}, test::next(runtime), Offset{0}, Layout{}).bytes() == 0);
    runtime.barrier();
    window.close();
    runtime.close();
}

TEST_CASE("a notified put with layouts, or of a plan: who sees the notification sees every byte") {
    Runtime runtime;
    Window window{runtime, window_bytes};
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    const auto before = static_cast<std::uint64_t>(test::previous(runtime).value);
    test::RandomLayouts random{static_cast<unsigned>(test::number_from_environment("TEST_SEED", 5))};
    Bytes memory(memory_bytes);
    for (std::uint64_t round = 0; round < 40; ++round) {
        const Sides sides = random_sides(random);
        const PlanOptions options = random_options(random, window.path(test::next(runtime)));
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(me, round, i);
        std::ranges::fill(window.local(), std::byte{0});
        runtime.barrier();
        const auto counter = static_cast<unsigned>(round % 3);
        if (round % 2 == 0)
            window.put_notify(sides.source.layout, memory.data(), test::next(runtime), Offset{0}, sides.target.layout,
                              counter);
        else
            Plan::put(window, sides.source.layout, test::next(runtime), Offset{0}, sides.target.layout, options)
                .execute_notify(memory.data(), counter);
        std::ranges::fill(memory, std::byte{0xEE}); // it may be reused
        window.wait_notified(counter);
        Bytes expected(window_bytes);
        for (std::size_t k = 0; k < sides.target.flat.size(); ++k)
            expected[static_cast<std::size_t>(sides.target.flat[k])] =
                pattern(before, round, static_cast<std::uint64_t>(sides.source.flat[k]));
        const bool arrived = std::ranges::equal(window.local(), expected);
        REQUIRE(test::agree(runtime, arrived));
    }
    const Layout eight = Layout::contiguous(8);
    const std::uint64_t value = 7;
    CHECK_THAT(test::message_of<RangeError>(
                   [&] { window.put_notify(eight, &value, test::next(runtime), Offset{0}, eight, 99); }),
               test::says({"put_notify", "counter 99", "[0, 16)"}));
    Plan get = Plan::get(window, test::next(runtime), Offset{0}, eight, eight);
    CHECK_THAT(test::message_of<UsageError>([&] { get.execute_notify(memory.data(), 0); }),
               test::says({"put_notify", "Plan::put"}));
    runtime.barrier();
}
