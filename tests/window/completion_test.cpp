// Completions of non-blocking transfers, and notified puts.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"
#include "window/window_state.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using lapwing::Completion;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

namespace {

constexpr std::size_t part = 400'000;

std::byte pattern(int rank, std::size_t offset) {
    return static_cast<std::byte>(offset * 7 + static_cast<std::size_t>(rank) * 31);
}

bool has_pattern(std::span<const std::byte> bytes, int rank, std::size_t offset) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        if (bytes[i] != pattern(rank, offset + i)) return false;
    return true;
}

void fill_own(Window& window, int rank) {
    for (std::size_t i = 0; i < window.local().size(); ++i) window.local()[i] = pattern(rank, i);
    window.team().barrier();
}

} // namespace

TEST_CASE("transfers are complete when their completion says so, in whatever order that is asked") {
    Runtime runtime;
    Window window{runtime, part};
    fill_own(window, runtime.rank().value);
    const Rank to = test::next(runtime);
    struct Get {
        std::size_t offset;
        std::vector<std::byte> here;
        Completion completion;
    };
    std::vector<Get> gets;
    gets.reserve(60);
    for (std::size_t i = 0; i < 60; ++i) {
        const std::size_t size = i % 3 == 0 ? 8 : i % 3 == 1 ? 900 : 70'000;
        gets.push_back({(i * 5003) % (part - size), std::vector<std::byte>(size), {}});
        Get& get = gets.back();
        get.completion = window.start_get(to, Offset{get.offset}, get.here);
    }
    for (std::size_t step = 0; step < gets.size(); ++step) {
        Get& get = gets[(step * 37) % gets.size()]; // 37 and 60 have no common divisor
        switch (step % 4) {
        case 0: get.completion.wait(); break;
        case 1:
            while (!get.completion.test()) std::this_thread::yield();
            break;
        case 2: {
            const Completion dropped{std::move(get.completion)};
        } break;
        default: get.completion = Completion{}; break; // waits for what it stood for
        }
        CHECK(has_pattern(get.here, to.value, get.offset));
        CHECK(get.completion.test());
        get.completion.wait(); // once more does no harm
    }
    runtime.barrier();
}

TEST_CASE("the source of a non-blocking put may be reused once it is complete") {
    Runtime runtime;
    Window window{runtime, part};
    const Rank to = test::next(runtime);
    const Rank from = test::previous(runtime);
    for (const std::size_t size : {std::size_t{1}, std::size_t{600}, std::size_t{5000}, part}) {
        std::vector<std::byte> source(size);
        for (std::size_t i = 0; i < size; ++i) source[i] = pattern(runtime.rank().value, i + size);
        Completion first = window.start_put(to, Offset{0}, source);
        Completion moved{std::move(first)};
        CHECK(first.test()); // NOLINT: refers to nothing any more
        moved.wait();
        std::ranges::fill(source, std::byte{0xDB});
        runtime.barrier();
        CHECK(has_pattern(window.local().first(size), from.value, size));
        runtime.barrier();
    }
}

TEST_CASE("a flush completes transfers without their completions") {
    Runtime runtime;
    Window window{runtime, part};
    fill_own(window, runtime.rank().value);
    const Rank to = test::next(runtime);
    std::vector<std::byte> here(50'000);
    Completion get = window.start_get(to, Offset{11}, here);
    window.flush(to);
    CHECK(has_pattern(here, to.value, 11));
    get.wait();
    runtime.barrier();
}

TEST_CASE("a completion may outlive its window and its team, which have completed it") {
    std::vector<std::byte> here(part);
    std::vector<std::byte> there(part);
    Completion get;
    Completion put;
    Rank to{0};
    {
        Runtime runtime;
        Window window{runtime, 2 * part};
        fill_own(window, runtime.rank().value);
        to = test::next(runtime);
        get = window.start_get(to, Offset{0}, here);
        put = window.start_put(to, Offset{part}, there);
    }
    CHECK(get.test());
    put.wait();
    CHECK(has_pattern(here, to.value, 0));
}

TEST_CASE("notified puts of all sizes, from all ranks, on many counters") {
    Runtime runtime;
    const auto ranks = static_cast<std::uint64_t>(runtime.size());
    constexpr std::uint64_t slot = 20'000;
    Window window{runtime, slot * ranks, {.notification_counters = 4096}};
    const auto me = static_cast<std::uint64_t>(runtime.rank().value);
    for (std::uint64_t round = 0; round < 12; ++round) {
        const std::size_t size = round % 3 == 0 ? 8 : round % 3 == 1 ? 600 : slot;
        const auto counter = static_cast<unsigned>(round * 372 % 4096);
        std::vector<std::byte> source(size);
        for (std::size_t i = 0; i < size; ++i) source[i] = pattern(runtime.rank().value, i + round);
        for (std::uint64_t rank = 0; rank < ranks; ++rank)
            window.put_notify(Rank{static_cast<int>(rank)}, Offset{me * slot}, source, counter);
        window.wait_notified(counter, ranks);
        for (std::uint64_t rank = 0; rank < ranks; ++rank)
            CHECK(has_pattern(window.local().subspan(rank * slot, size), static_cast<int>(rank), round));
        CHECK(window.notified(counter) == 0);
        runtime.barrier();
    }
}

TEST_CASE("notifications add up until they are waited for") {
    Runtime runtime;
    Window window{runtime, 64};
    Window other{runtime, 64};
    constexpr std::uint64_t count = 300;
    for (std::uint64_t i = 0; i < count; ++i) window.put_notify(test::next(runtime), Offset{0}, {}, 15);
    window.wait_notified(15, 100);
    while (window.notified(15) < count - 100) std::this_thread::yield();
    CHECK(window.notified(15) == count - 100);
    CHECK(window.notified(14) == 0);
    CHECK(other.notified(15) == 0); // counters belong to a window
    window.wait_notified(15, count - 100);
    window.wait_notified(15, 0);
    CHECK(window.notified(15) == 0);
    runtime.barrier();
}

TEST_CASE("a notification is taken once, also when several threads wait for it") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    Window window{runtime, 64};
    constexpr int threads = 2;
    constexpr std::int64_t times = 400;
    std::atomic<std::int64_t> sent{0};
    std::atomic<std::int64_t> taken{0};
    std::atomic<std::int64_t> too_early{0};
    std::vector<std::thread> waiting;
    waiting.reserve(threads);
    for (int thread = 0; thread < threads; ++thread)
        waiting.emplace_back([&] {
            for (std::int64_t i = 0; i < times; ++i) {
                window.wait_notified(3);
                if (taken.fetch_add(1) >= sent.load()) too_early.fetch_add(1);
            }
        });
    for (std::int64_t i = 0; i < threads * times; ++i) {
        sent.fetch_add(1);
        window.put_notify(runtime.rank(), Offset{0}, {}, 3);
        while (taken.load() < sent.load()) std::this_thread::yield(); // so that both wait when the next one comes
    }
    for (std::thread& thread : waiting) thread.join();
    CHECK(too_early.load() == 0);
    CHECK(window.notified(3) == 0);
    runtime.barrier();
}

TEST_CASE("a release completes the puts to every target, however many") {
    // MPI reads a small put's copy at any time before a flush, and the next puts take its place after it: what a flush
    // leaves out has another put's value in the end.
    constexpr std::uint64_t batches = 32;
    constexpr std::uint64_t puts =
        250; // to places that are not neighbours: fewer than complete everything by themselves
    Runtime runtime;
    const int own = runtime.rank().value;
    const int ranks = runtime.size();
    const auto value = [](std::uint64_t batch, int writer) {
        return static_cast<std::byte>(batch * 7 + static_cast<std::uint64_t>(writer) + 1);
    };
    const auto place = [&](std::uint64_t put, std::uint64_t batch, int writer) {
        return ((put * batches + batch) * static_cast<std::uint64_t>(ranks) + static_cast<std::uint64_t>(writer)) * 2;
    };
    for (int round = 0; round < 10; ++round) {
        Window window{runtime, place(puts, 0, 0)};
        for (std::uint64_t batch = 0; batch < batches; ++batch) {
            for (std::uint64_t put = 0; put < puts; ++put) {
                const int distance = 1 + static_cast<int>(put % static_cast<std::uint64_t>(std::max(1, ranks - 1)));
                window.put(Rank{(own + distance) % ranks}, Offset{place(put, batch, own)}, value(batch, own));
            }
            window.release();
        }
        runtime.barrier();
        std::uint64_t wrong = 0;
        for (std::uint64_t batch = 0; batch < batches; ++batch)
            for (std::uint64_t put = 0; put < puts; ++put) {
                const int distance = 1 + static_cast<int>(put % static_cast<std::uint64_t>(std::max(1, ranks - 1)));
                const int writer = (own - distance % ranks + ranks) % ranks;
                wrong += window.local()[place(put, batch, writer)] != value(batch, writer);
            }
        CHECK(wrong == 0);
        window.close();
    }
}

TEST_CASE("a release has nothing left to do for a window whose messages are complete") {
    Runtime runtime;
    Window window{runtime, 64};
    const Rank to = test::next(runtime);
    CHECK(!window.state().under_way());
    for (int i = 0; i < 3; ++i) {
        window.put(to, Offset{0}, i);
        window.put_notify(to, Offset{8}, i, 0); // a message on the path rma, too
        window.atomic<std::int64_t>(to, Offset{16}).add(1);
        window.release();
        CHECK(!window.state().under_way());
        const Completion get = window.start_get(to, Offset{0}, window.local().subspan(32, 8));
        runtime.release();
        CHECK(!window.state().under_way());
    }
    window.wait_notified(0, 3);
    runtime.barrier();
    CHECK(window.local_as<int>()[0] == 2);
    CHECK(window.local_as<std::int64_t>()[2] == 3);
    runtime.barrier();
}

TEST_CASE(
    "what a thread has put and raised a counter with comes before its next get, whatever another thread flushes") {
    Runtime runtime;
    Window window{runtime, 128, {.notification_counters = 1}};
    const Rank target{(runtime.rank().value + 1) % runtime.size()};
    std::uint64_t wrong = 0;
    if (runtime.rank() == Rank{0} && test::many_threads_allowed()) {
        std::atomic<bool> done{false};
        std::thread other{[&] {
            for (std::uint64_t i = 0; !done.load(); ++i) {
                window.put(target, Offset{64}, i);
                window.flush(target);
            }
        }};
        for (std::uint64_t i = 1; i <= 3000; ++i) {
            window.put_notify(target, Offset{0}, i, 0);
            if (window.get<std::uint64_t>(target, Offset{0}) != i) ++wrong;
            window.flush(); // no message is under way
        }
        done.store(true);
        other.join();
    }
    CHECK(wrong == 0);
    window.close();
    runtime.close();
}
