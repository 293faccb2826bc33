// Requests for memory that has been freed: each is answered, whatever its kind, and both engines finish.
#include "datatype/run_table.hpp"
#include "messages/engine_job.hpp"
#include "src/messages/put_runs.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/layout.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace {

using namespace lapwing::detail::messages;
using test::Job;

constexpr std::uint64_t window = 5;
constexpr std::size_t large = 300'000;
constexpr std::size_t small = 400;

/// The table of one run of `count` blocks of 8 bytes, 16 apart.
std::vector<std::byte> table_of(std::uint64_t count) {
    std::vector<std::byte> table(lapwing::detail::datatype::least_table_bytes);
    const lapwing::Layout blocks = lapwing::Layout::strided(count, 8, 16);
    lapwing::LayoutCursor cursor{blocks};
    const auto runs = lapwing::detail::datatype::encode_runs(cursor, count * 8, table.data(), table.size());
    table.resize(runs.table_bytes);
    return table;
}

/// The table followed by so many bytes of data.
std::vector<std::byte> scattered(std::uint64_t count) {
    std::vector<std::byte> message = table_of(count);
    message.resize(message.size() + count * 8);
    return message;
}

} // namespace

TEST_CASE("every request for memory that is gone is answered by saying so") {
    Job job;
    const bool owner = test::world_rank() == 1;
    std::vector<std::byte> memory(2 * large, std::byte{3});
    std::array<std::atomic<std::uint64_t>, 1> counters{};
    job.engine.expose(window,
                      {.base = memory.data(), .bytes = memory.size(), .counters = counters.data(), .counter_count = 1});
    job.meet();
    const bool late = GENERATE(true, false); // or they are there already, as far as one round has brought them
    INFO((late ? "late" : "in time, as far as they can be"));
    if (owner) {
        if (late) job.engine.abandon(window, LateRequests::dropped);
        MPI_Send(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
        if (!late) {
            MPI_Recv(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            job.progress();
            job.engine.abandon(window, LateRequests::dropped);
        }
        memory.assign(memory.size(), std::byte{4}); // as the program may use it now
    } else {
        MPI_Recv(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!owner) {
        constexpr std::size_t kinds = 8;
        std::array<Operation, kinds> operations;
        std::array<std::vector<std::byte>, kinds> own;
        for (std::size_t i = 0; i < kinds; ++i) {
            own[i].assign(large, std::byte{1});
            operations[i].destination = own[i].data();
        }
        const std::vector<std::byte> few = table_of(10);
        const std::vector<std::byte> put_few = scattered(10);
        const std::vector<std::byte> put_many = scattered(10'000);
        std::array<Operation, 4> puts;
        const std::vector<AddPayload> adds(3, AddPayload{.offset = 64, .operand = 1});
        Engine& engine = job.engine;
        job.until([&] { return engine.try_get(operations[0], 1, window, 0, small, false); });
        job.until([&] { return engine.try_get(operations[1], 1, window, 0, large, false); });
        job.until([&] { return engine.try_gather(operations[2], 1, window, few, 80); });
        job.until([&] { return engine.try_gather(operations[3], 1, window, table_of(10'000), 80'000); });
        const Request atomic{.kind = RequestKind::atomic,
                             .type = lapwing::detail::mpi::AtomicType::int64,
                             .window = window,
                             .offset = 64};
        const AtomicPayload one{.operand = 1};
        job.until([&] { return engine.try_atomics(operations[4], 1, atomic, std::as_bytes(std::span{&one, 1})); });
        const Request list{.kind = RequestKind::atomics,
                           .type = lapwing::detail::mpi::AtomicType::int64,
                           .window = window,
                           .size = adds.size() * sizeof(AddPayload)};
        job.until([&] { return engine.try_atomics(operations[5], 1, list, std::as_bytes(std::span{adds})); });
        const Request wide{.kind = RequestKind::wide_atomic,
                           .operation = lapwing::detail::mpi::AtomicOperation::replace,
                           .window = window,
                           .offset = 128,
                           .size = WidePayload::value_bytes};
        const WidePayload zeros;
        job.until([&] { return engine.try_atomics(operations[6], 1, wide, std::as_bytes(std::span{&zeros, 1})); });
        job.until([&] { return engine.try_get(operations[7], 1, window, large, large, false); });
        job.until([&] { return engine.try_put(puts[0], 1, window, 0, own[0].data(), small, 1); }); // notified
        job.until([&] { return engine.try_put(puts[1], 1, window, 0, own[0].data(), large); });
        job.until([&] { return engine.try_scatter(puts[2], 1, window, put_few, put_few.size() - 80); });
        job.until([&] { return engine.try_scatter(puts[3], 1, window, put_many, put_many.size() - 80'000); });
        RunsMessage runs{engine.inline_limit()};
        REQUIRE(runs.add(16, own[0].data(), small));
        const std::span<const std::byte> payload = runs.payload();
        job.until([&] { return engine.try_post(1, runs.request(window, payload.size()), payload); });
        Request sums = list;
        sums.kind = RequestKind::adds;
        job.until([&] { return engine.try_post(1, sums, std::as_bytes(std::span{adds})); });
        engine.abandon(operations[7]); // whose data nobody waits for any more
        const FlushTicket ticket = engine.start_flush(1);
        if (!late) MPI_Send(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
        for (std::size_t i = 0; i + 1 < kinds; ++i) {
            INFO("operation " << i);
            job.until([&] { return operations[i].done(); });
            if (late) CHECK(operations[i].dropped);
            if (operations[i].dropped) CHECK(own[i][0] == std::byte{1});
        }
        for (const Operation& put : puts) job.until([&] { return put.done(); });
        job.until([&] { return engine.flushed(1, ticket); });
        if (late) CHECK(engine.take_dropped(window) == 1);
        (void)engine.take_dropped(window);
        CHECK(engine.take_dropped(window) == -1); // once
        CHECK_FALSE(engine.any_dropped());
    }
    // Nothing is left under way, at either end.
    job.until([&] { return job.engine.idle(); });
    job.meet();
    job.until([&] { return job.engine.idle(); });
    job.meet();
    if (owner) {
        CHECK(std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{4}; }));
        if (late) CHECK(counters[0].load() == 0);
    }
    CHECK(job.listener.failures.empty());
}
