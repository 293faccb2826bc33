// Planned transfers in a window with a cache: in program order with the accesses through the cache.
#include "pipeline/random_transfers.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/plan.hpp>
#include <lapwing/runtime.hpp>

using namespace lapwing;
using namespace test;

TEST_CASE("planned transfers and cached accesses of one rank happen in program order") {
    Runtime runtime;
    Window window{
        runtime,
        window_bytes,
        {.cache = {
             .mode = CacheMode::epoch, .bytes = 8192, .page_bytes = 256, .dirty_pages = 6, .read_ahead_bytes = 1024}}};
    // Nobody else touches the part of the next rank: this one knows what must be there, and never synchronises.
    const Rank next = test::next(runtime);
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    test::RandomLayouts random{static_cast<unsigned>(test::number_from_environment("TEST_SEED", 3 + me))};
    Bytes there(window_bytes, std::byte{0});
    Bytes memory(memory_bytes);
    const auto read_some = [&] {
        const std::size_t bytes = random.size(1, 200);
        const std::size_t offset = random.size(0, window_bytes - bytes);
        Bytes here(bytes);
        window.get(next, Offset{offset}, std::span{here});
        return std::ranges::equal(here, std::span{there}.subspan(offset, bytes));
    };
    const auto write_some = [&](std::uint64_t round) {
        const std::size_t bytes = random.size(1, 40);
        const std::size_t offset = random.size(0, window_bytes - bytes);
        Bytes here(bytes);
        for (std::size_t i = 0; i < bytes; ++i) there[offset + i] = here[i] = pattern(me + 1, round, i);
        window.put(next, Offset{offset}, std::span<const std::byte>{here});
    };
    bool right = true;
    const std::uint64_t rounds = test::number_from_environment("TEST_ROUNDS", 150);
    for (std::uint64_t round = 0; round < rounds && right; ++round) {
        const Sides sides = random_sides(random);
        const PlanOptions options = random_options(random, window.path(next));
        for (int i = 0; i < 8; ++i) write_some(round);
        for (int i = 0; i < 8; ++i) right = right && read_some();
        if (random.number(0, 1) == 0) {
            for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = pattern(me, round, i);
            Plan plan = Plan::put(window, sides.source.layout, next, Offset{0}, sides.target.layout, options);
            Completion completion = plan.start(static_cast<const void*>(memory.data()));
            // Lines with bytes of blocks that are on their way; the bytes themselves are not looked at.
            for (int i = 0; i < 4; ++i) (void)read_some();
            completion.wait();
            for (std::size_t k = 0; k < sides.target.flat.size(); ++k)
                there[static_cast<std::size_t>(sides.target.flat[k])] =
                    memory[static_cast<std::size_t>(sides.source.flat[k])];
        } else {
            std::ranges::fill(memory, std::byte{0xEE});
            Plan::get(window, next, Offset{0}, sides.source.layout, sides.target.layout,
                      random_get_options(random, window.path(next)))
                .execute(std::span{memory});
            for (std::size_t k = 0; k < sides.target.flat.size(); ++k)
                right = right && memory[static_cast<std::size_t>(sides.target.flat[k])] ==
                                     there[static_cast<std::size_t>(sides.source.flat[k])];
        }
        for (int i = 0; i < 24; ++i) right = right && read_some();
        INFO("round " << round << ", rank " << me << ", seed with TEST_SEED");
        CHECK(right);
    }
    CHECK(test::agree(runtime, right));
    runtime.barrier();
    const auto before = static_cast<std::size_t>(test::previous(runtime).value);
    // What arrived is what the rank before believes.
    Bytes believed(window_bytes);
    MPI_Sendrecv(there.data(), static_cast<int>(there.size()), MPI_BYTE, next.value, 0, believed.data(),
                 static_cast<int>(believed.size()), MPI_BYTE, static_cast<int>(before), 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(test::agree(runtime, std::ranges::equal(window.local(), believed)));
    runtime.barrier();
    window.close();
    runtime.close();
}
