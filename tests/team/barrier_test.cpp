// Barriers: no rank leaves before all have arrived, whole and split-phase, with and without identities.
#include "team/team_test.hpp"

#include <lapwing/error.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <vector>

using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

namespace {

/// Each rank counts its rounds at all ranks before the barrier; after it no count may be behind.
template <class Barrier>
void count_rounds(int rounds, Barrier&& barrier) {
    Runtime runtime;
    Window window{runtime, 8 * static_cast<std::uint64_t>(runtime.size())};
    const Offset own = Offset::of<std::int64_t>(static_cast<std::uint64_t>(runtime.rank().value));
    std::int64_t behind = 0;
    for (std::int64_t round = 1; round <= rounds; ++round) {
        for (int rank = 0; rank < runtime.size(); ++rank) window.put(Rank{rank}, own, round);
        barrier(runtime, round);
        for (const std::int64_t seen : window.local_as<std::int64_t>())
            if (seen < round || seen > round + 1) ++behind;
    }
    CHECK(behind == 0);
    runtime.barrier();
}

} // namespace

TEST_CASE("many barriers") {
    count_rounds(200, [](Runtime& runtime, std::int64_t) { runtime.barrier(); });
}

TEST_CASE("barriers with identities, where some ranks pass none") {
    count_rounds(100, [](Runtime& runtime, std::int64_t round) {
        const bool passes = (round + runtime.rank().value) % 3 != 0;
        runtime.barrier(passes ? std::optional{round * 1'000'000'007 - 5'000'000'000} : std::nullopt);
    });
    // The ends of the range are identities as any other.
    Runtime runtime;
    runtime.barrier(INT64_MAX);
    runtime.barrier(INT64_MIN);
}

TEST_CASE("split-phase barriers with work between notify and wait") {
    count_rounds(100, [](Runtime& runtime, std::int64_t round) {
        runtime.notify(round);
        for (int i = 0; i < runtime.rank().value * 3; ++i) runtime.progress();
        runtime.wait(round);
    });
}

TEST_CASE("notify does not wait for the other ranks") {
    Runtime runtime;
    Window window{runtime, 64};
    if (runtime.size() < 2) return;
    for (int round = 0; round < 20; ++round) {
        // Rank 0 comes only when all others have notified.
        if (runtime.rank().value != 0) {
            runtime.notify();
            window.put_notify(Rank{0}, Offset{0}, {}, 0);
            window.flush(Rank{0});
            runtime.wait();
        } else {
            window.wait_notified(0, static_cast<std::uint64_t>(runtime.size() - 1));
            runtime.barrier();
        }
    }
    // Between notify and wait the rank's memory is served, and may be used.
    runtime.notify();
    window.atomic<std::int64_t>(Rank{0}, Offset{0}).fetch_add(1);
    runtime.wait();
    runtime.barrier();
    CHECK(window.get<std::int64_t>(Rank{0}, Offset{0}) == runtime.size());
    runtime.barrier();
}

TEST_CASE("barriers of several teams do not mix") {
    Runtime all;
    MPI_Comm half_communicator = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, all.rank().value % 2, all.rank().value, &half_communicator);
    {
        Runtime half{half_communicator};
        Window window{half, 64};
        for (int round = 0; round < 40; ++round) {
            all.notify(round);
            for (int i = 0; i <= all.rank().value % 2; ++i) half.barrier(1000 + round);
            all.wait(round);
        }
        window.atomic<int>(Rank{0}, Offset{0}).fetch_add(1);
        half.barrier();
        if (half.rank().value == 0) CHECK(window.local_as<int>()[0] == half.size());
        half.barrier();
    }
    MPI_Comm_free(&half_communicator);
}

TEST_CASE("ranks that are late in a collective call are no mismatch") {
    // Longer than a wait is suspicious: others are in later steps of the same call by then.
    Runtime runtime;
    const auto late = [&](int rank) {
        if (runtime.rank() == Rank{rank}) std::this_thread::sleep_for(std::chrono::milliseconds{350});
    };
    const auto add = [](void*, void* left, const void* right) {
        int sum = 0;
        int more = 0;
        std::memcpy(&sum, left, sizeof sum);
        std::memcpy(&more, right, sizeof more);
        sum += more;
        std::memcpy(left, &sum, sizeof sum);
    };
    for (int rank = 0; rank < runtime.size(); ++rank) {
        late(rank);
        int value = 1;
        runtime.combine(std::as_writable_bytes(std::span{&value, 1}), add, nullptr);
        CHECK(value == runtime.size());
    }
    late(0);
    Window window{runtime, 64};
    late(runtime.size() - 1);
    window.close();
    runtime.barrier();
}

TEST_CASE("values of all ranks are gathered, however large") {
    Runtime runtime;
    const auto ranks = static_cast<std::size_t>(runtime.size());
    // Above 4 MiB together they travel in pieces.
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{41}, (std::size_t{4} << 20) / ranks,
                                    (std::size_t{4} << 20) + 3}) {
        const auto value_of = [&](std::size_t rank, std::size_t at) {
            return static_cast<std::byte>(31 * rank + at % 251);
        };
        std::vector<std::byte> value(bytes);
        for (std::size_t at = 0; at < bytes; ++at)
            value[at] = value_of(static_cast<std::size_t>(runtime.rank().value), at);
        std::vector<std::byte> all(bytes * ranks);
        runtime.all_gather(value, all);
        std::size_t wrong = 0;
        for (std::size_t rank = 0; rank < ranks; ++rank)
            for (std::size_t at = 0; at < bytes; ++at) wrong += all[rank * bytes + at] != value_of(rank, at) ? 1U : 0U;
        CHECK(wrong == 0);
    }
    CHECK_THROWS_AS(runtime.all_gather(std::vector<std::byte>(8), std::span<std::byte>{}), lapwing::RangeError);
    runtime.barrier();
}
