// A plan that has been executed allocates nothing when it is executed again, on any path, by any strategy, by either
// thread.
#include "pipeline/chunk_pool.hpp"
#include "pipeline/planner.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/plan.hpp>
#include <lapwing/runtime.hpp>

#include <atomic>
#include <cstdint>
#include <vector>

using namespace lapwing;

namespace {
std::atomic<std::uint64_t> allocations{0};
} // namespace

void test::on_allocation(std::size_t) { allocations.fetch_add(1, std::memory_order_relaxed); }

TEST_CASE("executing a plan again allocates nothing") {
    if (!test::sees_allocations) return;
    Runtime runtime;
    constexpr std::uint64_t blocks = 6000;
    Window window{runtime, blocks * 24};
    const Rank next = test::next(runtime);
    const Path path = window.path(next);
    std::vector<std::byte> memory(blocks * 24);
    Layout::Offsets offsets;
    for (std::uint64_t i = 0; i < blocks; ++i) offsets.push_back(static_cast<std::int64_t>(i * 24 + i % 3 * 4));
    const Layout column = Layout::strided(blocks, 12, 24);
    const Layout listed = Layout::indexed(offsets, 12);
    const Layout packed = Layout::contiguous(column.bytes());
    const bool mapped = detail::pipeline::is_mapped(path);
    for (const Strategy strategy : {Strategy::full_pack, Strategy::fixed_pipeline, Strategy::superpipeline,
                                    Strategy::owner_packed, Strategy::sieved}) {
        const bool sieved = strategy == Strategy::sieved;
        for (const Layout& remote : {packed, column, listed}) {
            // Block by block in spirit: thousands of operations a chunk, whose number varies with the timing.
            if (strategy != Strategy::owner_packed && !sieved && !remote.is_contiguous()) continue;
            // Where a node has several ranks, some reach their next one by memory and others do not. All come to all
            // collective calls.
            if ((strategy == Strategy::owner_packed || sieved) && mapped) {
                runtime.barrier();
                runtime.barrier();
                CHECK(test::agree(runtime, true));
                continue;
            }
            // Chunks of other sizes, when the model has learned, would take other buffers.
            const PlanOptions options{.strategy = strategy, .first_chunk = 8192, .growth = 2, .largest_chunk = 16384};
            Plan get = Plan::get(window, next, Offset{0}, remote, column, options);
            Plan put = Plan::put(window, column, next, Offset{0}, sieved ? packed : remote,
                                 sieved ? PlanOptions{.strategy = Strategy::full_pack} : options);
            const auto run = [&](int times) {
                for (int i = 0; i < times; ++i) {
                    put.execute(static_cast<const void*>(memory.data()));
                    window.flush(next);
                    get.execute(static_cast<void*>(memory.data()));
                    Completion completion = get.start(memory.data());
                    completion.wait();
                }
            };
            run(20);
            runtime.barrier();
            const std::uint64_t before = allocations.load();
            run(50);
            const std::uint64_t made = allocations.load() - before;
            runtime.barrier();
            INFO(put.explain() << get.explain());
            // Lists that grow with how far the two sides drift apart may do so a few times more. An allocation for each
            // of the 150 executions, or for each of their chunks, would be at least three times as many.
            INFO(made << " allocations");
            CHECK(test::agree(runtime, made < 50));
        }
    }
    window.close();
    runtime.close();
}
