// Remote calls between engines without a team: each test case drives their progress itself.
#include "messages/engine_job.hpp"
#include "src/team/team_state.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"

#include <lapwing/error.hpp>
#include <lapwing/runtime.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace lapwing::detail::messages;
using test::Job;
using test::mentions;

constexpr HandlerNumber record{7};
constexpr HandlerNumber ask{8};
constexpr HandlerNumber answer{9};

/// Bytes that tell the call and the rank.
std::vector<std::byte> bytes_of(int rank, std::size_t call, std::size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(rank) * 61 + call * 7 + i);
    return bytes;
}

} // namespace

TEST_CASE("remote calls of all sizes run at their targets, in the order in which each rank queued them") {
    for (const std::uint64_t packet_bytes : {std::uint64_t{512}, std::uint64_t{8000}})
        for (const std::uint64_t in_flight : {std::uint64_t{1}, std::uint64_t{4}}) {
            INFO("packets of " << packet_bytes << " bytes, " << in_flight << " in flight");
            EngineLimits limits;
            limits.packet_bytes = packet_bytes;
            limits.packets_in_flight = in_flight;
            Job job{limits};
            const std::size_t limit = job.engine.inline_limit();
            const std::array<std::size_t, 11> sizes{0,         1,         7,         8,         9,    100,
                                                    limit / 2, limit - 8, limit - 7, limit - 1, limit};
            constexpr std::size_t calls = 200;
            std::vector<std::size_t> came(static_cast<std::size_t>(test::world_size()));
            std::size_t wrong = 0;
            job.engine.register_handler(record, [&](int origin, std::span<const std::byte> bytes) {
                const std::size_t call = came[static_cast<std::size_t>(origin)]++;
                const std::vector<std::byte> expected = bytes_of(origin, call, sizes[call % sizes.size()]);
                const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 == 0;
                wrong += aligned && std::ranges::equal(bytes, expected) ? 0 : 1;
            });
            job.meet();
            for (std::size_t call = 0; call < calls; ++call)
                for (int target = 0; target < test::world_size(); ++target) // this rank, too
                    job.call(target, record, bytes_of(test::world_rank(), call, sizes[call % sizes.size()]));
            for (int target = 0; target < test::world_size(); ++target) job.flush(target);
            job.meet();
            for (const std::size_t count : came) CHECK(count == calls);
            CHECK(wrong == 0);
            CHECK(job.listener.failures.empty());
        }
}

TEST_CASE("a handler answers by a call back, later where there is no room") {
    EngineLimits limits;
    limits.packet_bytes = 512;
    limits.packets_in_flight =
        1; // of the answers to a packet of questions one leaves, and another one waits in the open packet
    Job job{limits};
    const int target = (test::world_rank() + 1) % test::world_size();
    constexpr std::uint64_t questions = 300;
    std::deque<std::pair<int, std::uint64_t>> to_answer;
    std::uint64_t answers = 0;
    std::uint64_t sum = 0;
    std::size_t postponed = 0;
    const auto try_answer = [&](int origin, std::uint64_t number) {
        std::vector<std::byte> bytes(job.engine.inline_limit());
        std::memcpy(bytes.data(), &number, sizeof number);
        return job.engine.locked().try_call(origin, answer, bytes);
    };
    job.engine.register_handler(ask, [&](int origin, std::span<const std::byte> bytes) {
        std::uint64_t number = 0;
        std::memcpy(&number, bytes.data(), sizeof number);
        if (to_answer.empty() && try_answer(origin, number)) return;
        to_answer.emplace_back(origin, number);
        ++postponed;
    });
    job.engine.register_handler(answer, [&](int, std::span<const std::byte> bytes) {
        std::uint64_t number = 0;
        std::memcpy(&number, bytes.data(), sizeof number);
        ++answers;
        sum += number;
    });
    job.listener.each_round = [&] {
        while (!to_answer.empty() && try_answer(to_answer.front().first, to_answer.front().second))
            to_answer.pop_front();
    };
    job.meet();
    for (std::uint64_t number = 0; number < questions; ++number)
        job.call(target, ask, std::as_bytes(std::span{&number, 1}));
    job.until([&] { return answers == questions; });
    CHECK(sum == questions * (questions - 1) / 2);
    job.meet(); // this rank has been asked all, too
    CHECK(postponed > 0);
    CHECK(job.listener.failures.empty());
}

TEST_CASE("a remote call with an answer brings it, in the order of the calls, and later where the handler says so") {
    EngineLimits limits;
    limits.packet_bytes = 512;
    Job job{limits};
    const int target = (test::world_rank() + 1) % test::world_size();
    constexpr std::size_t questions = 100;
    std::size_t refused = 0;
    std::uint64_t answered = 0;
    job.engine.register_handler(ask, [&](int origin, std::span<const std::byte> bytes, std::span<std::byte> to) {
        // Every third one is asked twice, and nothing is left behind by the first time.
        if (answered % 3 == 0 && refused * 3 <= answered) {
            ++refused;
            std::ranges::fill(to, std::byte{0xee});
            return false;
        }
        const std::array<std::uint64_t, 3> words{static_cast<std::uint64_t>(origin), bytes.size(), answered++};
        if (to.size() >= sizeof words) std::memcpy(to.data(), words.data(), sizeof words);
        return true;
    });
    job.meet();
    std::deque<Operation> operations(questions);
    std::vector<std::vector<std::byte>> answers;
    for (std::size_t k = 0; k < questions; ++k) answers.emplace_back(k % 2 == 0 ? 24 : 100);
    for (std::size_t k = 0; k < questions; ++k) {
        operations[k].destination = answers[k].data();
        job.until(
            [&] { return job.engine.try_ask(operations[k], target, ask, bytes_of(1, k, k % 40), answers[k].size()); });
    }
    job.until([&] { return std::ranges::all_of(operations, [](const Operation& one) { return one.done(); }); });
    for (std::size_t k = 0; k < questions; ++k) {
        std::array<std::uint64_t, 3> words{};
        std::memcpy(words.data(), answers[k].data(), sizeof words);
        CHECK(words[0] == static_cast<std::uint64_t>(test::world_rank()));
        CHECK(words[1] == k % 40);
        CHECK(words[2] == k);
        for (std::size_t i = sizeof words; i < answers[k].size(); ++i) REQUIRE(answers[k][i] == std::byte{0});
    }
    job.meet();
    CHECK(refused > 10);
    CHECK(job.listener.failures.empty());
    // Questions and answers that fit into no packet.
    Operation none;
    CHECK_THROWS_AS(job.engine.try_ask(none, target, ask, {}, 2 << 20), lapwing::RangeError);
}

TEST_CASE(
    "a call that no handler is registered for is an error with number, sender and length, and no other call is lost") {
    Job job;
    std::size_t came = 0;
    job.engine.register_handler(record, [&](int, std::span<const std::byte>) { ++came; });
    job.engine.register_handler(ask, [&](int, std::span<const std::byte>) { ++came; });
    job.engine.withdraw_handler(ask);
    job.meet();
    if (test::world_rank() == 0) {
        const std::array<std::byte, 5> bytes{};
        job.call(1, record, bytes);
        job.call(1, HandlerNumber{99}, bytes);
        job.call(1, ask, bytes);
        job.call(1, record, bytes);
        job.flush(1);
    }
    job.meet();
    if (test::world_rank() == 1) {
        CHECK(came == 2);
        REQUIRE(!job.listener.failures.empty());
        const std::string& text = job.listener.failures.front();
        CHECK(mentions(text, "rank 1 of "));
        CHECK(mentions(text, "rank 0 sent remote call 99 with 5 bytes"));
        CHECK(mentions(text, "no handler is registered here"));
    } else {
        CHECK(job.listener.failures.empty());
    }
}

TEST_CASE("what a handler throws is an error, and its call is not repeated") {
    Job job;
    std::size_t came = 0;
    job.engine.register_handler(record, [&](int, std::span<const std::byte>) {
        if (++came == 1) throw lapwing::UsageError{"no such thing"};
    });
    job.meet();
    if (test::world_rank() == 1) {
        for (int i = 0; i < 2; ++i) job.call(0, record, {});
        job.flush(0);
    }
    job.meet();
    if (test::world_rank() == 0) {
        CHECK(came == 2);
        REQUIRE(job.listener.failures.size() == 1);
        CHECK(mentions(job.listener.failures.front(),
                       "the handler of remote call 7 of rank 1 with 0 bytes threw: no such thing"));
    }
}

TEST_CASE("a packet with what is no request is an error, and the engine reads on") {
    for (const auto& [head, bytes, text] : {
             std::tuple{Request{.kind = static_cast<RequestKind>(250)}, std::size_t{8},
                        std::string{"rank 0 sent a request of kind 250"}},
             std::tuple{
                 Request{.kind = RequestKind::remote_call, .handler = 7, .size = 64}, std::size_t{24},
                 fmt::format("rank 0 sent a request (remote call, kind {}) with 64 bytes of payload, of which its "
                             "packet has 24",
                             static_cast<int>(RequestKind::remote_call))},
             std::tuple{Request{.kind = RequestKind::get, .size = 1U << 20}, std::size_t{0},
                        std::string{"rank 0 asked for 1048576 bytes in one packet (get)"}},
         }) {
        Job job;
        std::vector<std::byte> memory(2U << 20);
        job.engine.expose(0, {.base = memory.data(), .bytes = memory.size()});
        std::size_t came = 0;
        job.engine.register_handler(record, [&](int, std::span<const std::byte>) { ++came; });
        job.meet();
        if (test::world_rank() == 0) {
            std::vector<std::byte> packet(sizeof head + bytes);
            std::memcpy(packet.data(), &head, sizeof head);
            job.send_raw(1, packet);
        }
        if (test::world_rank() == 1) {
            job.until([&] { return !job.listener.failures.empty(); });
            CHECK(mentions(job.listener.failures.front(), text));
            job.call(1, record, {});
            job.flush(1);
            CHECK(came == 1);
        }
        job.meet();
    }
}

TEST_CASE("numbers that are taken, handlers that are empty and calls that fit into no packet are refused") {
    Job job;
    job.engine.register_handler(record, [](int, std::span<const std::byte>) {});
    CHECK_THROWS_AS(job.engine.register_handler(record, [](int, std::span<const std::byte>) {}), lapwing::UsageError);
    CHECK_THROWS_AS(job.engine.register_handler(ask, {}), lapwing::UsageError);
    const std::vector<std::byte> large(job.engine.inline_limit() + 1);
    CHECK_THROWS_AS(job.engine.try_call(0, record, large), lapwing::RangeError);
    CHECK_FALSE(job.engine.busy());
}

TEST_CASE("a progress thread runs handlers of the team's engine while its program waits in MPI") {
    lapwing::Runtime runtime;
    Engine& engine = runtime.state().engine();
    std::atomic<int> came{0};
    engine.register_handler(
        record, [&](int origin, std::span<const std::byte> bytes) { came += bytes.size() == 3 ? origin + 1 : 1000; });
    runtime.barrier();
    const int target = (runtime.rank().value + 1) % runtime.size();
    const int origin = (runtime.rank().value + runtime.size() - 1) % runtime.size();
    const std::array<std::byte, 3> bytes{};
    while (!engine.try_call(target, record, bytes)) (void)runtime.progress();
    const FlushTicket ticket = engine.start_flush(target);
    if (runtime.rank().value == 0) { // the others serve by their threads alone
        while (!engine.flushed(target, ticket)) (void)runtime.progress();
    }
    test::world_barrier();
    while (!engine.flushed(target, ticket)) (void)runtime.progress();
    runtime.barrier();
    CHECK(came.load() == origin + 1);
    engine.withdraw_handler(record);
    runtime.close();
}
