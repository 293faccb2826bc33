// Adopted windows in mode transparent: the program's own calls of MPI are its only synchronisation. Each test would fail in
// another mode: what was read stays, and what was written does not leave.
#include "support/mpi_test.hpp"
#include "window/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdint>
#include <vector>

namespace {

using lapwing::CacheMode;
using lapwing::Counter;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;

/// A window of the program's over 1024 words a rank.
class Host {
public:
    Host() {
        MPI_Win_create(words_.data(), static_cast<MPI_Aint>(words_.size() * sizeof words_[0]), 8, MPI_INFO_NULL, MPI_COMM_WORLD,
                       &window_);
    }
    ~Host() { MPI_Win_free(&window_); }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    [[nodiscard]] MPI_Win window() const { return window_; }
    /// A word of this rank's, which others change.
    [[nodiscard]] std::int64_t load(std::size_t i) { return std::atomic_ref{words_[i]}.load(std::memory_order_relaxed); }
    void store(std::size_t i, std::int64_t value) { std::atomic_ref{words_[i]}.store(value, std::memory_order_relaxed); }

private:
    std::vector<std::int64_t> words_ = std::vector<std::int64_t>(1024);
    MPI_Win window_ = MPI_WIN_NULL;
};

[[nodiscard]] Window adopt(Runtime& runtime, Host& host, CacheMode mode = CacheMode::transparent, bool locked = false) {
    return Window::adopt(runtime, host.window(), locked, {.name = "host", .cache = {.mode = mode}});
}

constexpr std::int64_t rounds = 6;

} // namespace

TEST_CASE("a fence of the program completes what was written, and ends what was read") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    Host host;
    const std::int64_t own = runtime.rank().value;
    const Rank to = test::next(runtime);
    const std::int64_t from = test::previous(runtime).value;
    {
        Window window = adopt(runtime, host);
        MPI_Win_fence(0, host.window());
        for (std::int64_t round = 1; round <= rounds; ++round) {
            host.store(0, 100 * round + own);
            MPI_Win_fence(0, host.window());
            for (int i = 0; i < 20; ++i) CHECK(window.get<std::int64_t>(to, Offset{0}) == 100 * round + to.value);
            window.put(to, Offset{80}, 1000 * round + own);
            CHECK(window.get<std::int64_t>(to, Offset{80}) == 1000 * round + own);
            MPI_Win_fence(0, host.window());
            CHECK(host.load(10) == 1000 * round + from);
        }
        if (runtime.size() > 1) {
            // One message each time: the other reads were cached.
            CHECK(window.statistics()[Counter::service_gets] <= 2 * rounds);
            CHECK(window.statistics()[Counter::cache_hits] >= 19 * rounds);
        }
        window.close();
    }
}

TEST_CASE("locks of the program exclude each other, and order what happens under them") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    Host host;
    Window window = adopt(runtime, host);
    constexpr std::int64_t times = 15;
    for (std::int64_t i = 0; i < times; ++i) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, host.window());
        const auto before = window.get<std::int64_t>(Rank{0}, Offset{16});
        window.put(Rank{0}, Offset{16}, before + 1);
        MPI_Win_unlock(0, host.window());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (runtime.rank() == Rank{0}) CHECK(host.load(2) == times * runtime.size());
    window.close();
}

TEST_CASE("flushes of the program: all complete what was written, each ends what was read") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    Host host;
    const std::int64_t own = runtime.rank().value;
    const Rank to = test::next(runtime);
    const std::int64_t from = test::previous(runtime).value;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, host.window());
    Window window = adopt(runtime, host, CacheMode::transparent, true);
    for (std::int64_t round = 1; round <= rounds; ++round) {
        host.store(0, 100 * round + own);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(window.get<std::int64_t>(to, Offset{0}) == 100 * round + to.value);
        window.put(to, Offset{80}, 1000 * round + own);
        if (round % 2 == 0) MPI_Win_flush(to.value, host.window());
        else MPI_Win_flush_all(host.window());
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(host.load(10) == 1000 * round + from);
        // A program that only reads need not complete anything elsewhere.
        CHECK(window.get<std::int64_t>(to, Offset{0}) == 100 * round + to.value);
        MPI_Barrier(MPI_COMM_WORLD);
        host.store(0, -round);
        MPI_Barrier(MPI_COMM_WORLD);
        if (round % 3 == 0) MPI_Win_flush_local(to.value, host.window());
        else if (round % 3 == 1) MPI_Win_flush_local_all(host.window());
        else MPI_Win_sync(host.window());
        CHECK(window.get<std::int64_t>(to, Offset{0}) == -round);
        MPI_Win_flush_all(host.window());
        MPI_Barrier(MPI_COMM_WORLD);
    }
    window.close();
    MPI_Win_unlock_all(host.window());
}

TEST_CASE("epochs of the program between groups of ranks") {
    if (!test::many_threads_allowed()) return;
    Runtime runtime;
    if (runtime.size() < 2) return;
    Host host;
    const std::int64_t own = runtime.rank().value;
    const Rank to = test::next(runtime);
    const Rank from = test::previous(runtime);
    Window window = adopt(runtime, host);
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group target = MPI_GROUP_NULL;
    MPI_Group origin = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &to.value, &target);
    MPI_Group_incl(all, 1, &from.value, &origin);
    for (std::int64_t round = 1; round <= rounds; ++round) {
        host.store(0, 100 * round + own);
        MPI_Win_post(origin, 0, host.window());
        MPI_Win_start(target, 0, host.window());
        CHECK(window.get<std::int64_t>(to, Offset{0}) == 100 * round + to.value);
        window.put(to, Offset{80}, 1000 * round + own);
        MPI_Win_complete(host.window());
        MPI_Win_wait(host.window());
        CHECK(host.load(10) == 1000 * round + from.value);
    }
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
    MPI_Group_free(&all);
    window.close();
}

TEST_CASE("in mode epoch the program's own calls change nothing: its reads stay what they were") {
    Runtime runtime;
    Host host;
    const Rank to = test::next(runtime);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, host.window());
    Window window = adopt(runtime, host, CacheMode::epoch, true);
    CHECK(window.get<std::int64_t>(to, Offset{0}) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    host.store(0, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_flush_all(host.window());
    CHECK(window.get<std::int64_t>(to, Offset{0}) == (to == runtime.rank() ? 7 : 0));
    window.acquire();
    CHECK(window.get<std::int64_t>(to, Offset{0}) == 7);
    runtime.barrier();
    window.close();
    MPI_Win_unlock_all(host.window());
}
