// Adopted windows in mode transparent: the program's own calls of MPI are its only synchronisation. Each test would
// fail in another mode: stale values would be read, and writes would not be sent.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/error.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
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
        MPI_Win_create(words_.data(), static_cast<MPI_Aint>(words_.size() * sizeof words_[0]), 8, MPI_INFO_NULL,
                       MPI_COMM_WORLD, &window_);
    }
    ~Host() { MPI_Win_free(&window_); }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    [[nodiscard]] MPI_Win window() const { return window_; }
    /// A word of this rank's, which others change.
    [[nodiscard]] std::int64_t load(std::size_t i) {
        return std::atomic_ref{words_[i]}.load(std::memory_order_relaxed);
    }
    void store(std::size_t i, std::int64_t value) {
        std::atomic_ref{words_[i]}.store(value, std::memory_order_relaxed);
    }

private:
    std::vector<std::int64_t> words_ = std::vector<std::int64_t>(1024);
    MPI_Win window_ = MPI_WIN_NULL;
};

[[nodiscard]] Window adopt(Runtime& runtime, Host& host, CacheMode mode = CacheMode::transparent, bool locked = false) {
    return Window::adopt(runtime, host.window(), locked, {.name = "host", .cache = {.mode = mode}});
}

constexpr std::int64_t rounds = 6;

/// Accumulates that went through the profiling interface, as a library of the program's would see them.
std::atomic<int> profiled_accumulates{0};

} // namespace

extern "C" int MPI_Accumulate(const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Op, MPI_Win) {
    ++profiled_accumulates;
    return MPI_ERR_OTHER;
}

TEST_CASE("a fence of the program completes what was written, and ends what was read") {
    if (!test::many_threads_allowed()) return test::skip();
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
    if (!test::many_threads_allowed()) return test::skip();
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
    if (!test::many_threads_allowed()) return test::skip();
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
    if (!test::many_threads_allowed()) return test::skip();
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

TEST_CASE("calls for MPI_PROC_NULL neither write back nor drop anything") {
    if (!test::many_threads_allowed()) return test::skip();
    Runtime runtime;
    Host host;
    MPI_Win_set_errhandler(host.window(), MPI_ERRORS_RETURN); // whether it is allowed is MPI's affair
    const Rank to = test::next(runtime);
    Window window = adopt(runtime, host);
    (void)window.get<std::int64_t>(to, Offset{0});
    window.put(to, Offset{80}, std::int64_t{5});
    const auto before = window.statistics();
    (void)MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, host.window());
    (void)MPI_Win_unlock(MPI_PROC_NULL, host.window());
    MPI_Win_lock_all(MPI_MODE_NOCHECK, host.window());
    (void)window.get<std::int64_t>(to, Offset{0}); // what lock_all has dropped
    const auto locked = window.statistics();
    CHECK(locked[Counter::cache_write_backs] == before[Counter::cache_write_backs]);
#ifndef OPEN_MPI // 4.1.4 crashes in both
    (void)MPI_Win_flush(MPI_PROC_NULL, host.window());
    (void)MPI_Win_flush_local(MPI_PROC_NULL, host.window());
#endif
    (void)window.get<std::int64_t>(to, Offset{0});
    const auto after = window.statistics();
    CHECK(after[Counter::cache_write_backs] == locked[Counter::cache_write_backs]);
    CHECK(after[Counter::service_gets] == locked[Counter::service_gets]);
    MPI_Win_unlock_all(host.window());
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(host.load(10) == 5);
    window.close();
}

TEST_CASE("a lock of MPI_PROC_NULL drops nothing") {
    if (!test::many_threads_allowed()) return test::skip();
    Runtime runtime;
    Host host;
    MPI_Win_set_errhandler(host.window(), MPI_ERRORS_RETURN);
    const Rank to = test::next(runtime);
    Window window = adopt(runtime, host);
    (void)window.get<std::int64_t>(to, Offset{0});
    const auto before = window.statistics();
    const int locked = MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, host.window());
    const int unlocked = MPI_Win_unlock(MPI_PROC_NULL, host.window());
    CHECK(locked == unlocked);
    (void)window.get<std::int64_t>(to, Offset{0});
    CHECK(window.statistics()[Counter::service_gets] == before[Counter::service_gets]);
    window.close();
}

TEST_CASE("a window that is adopted already is not adopted again beside a cache") {
    if (!test::many_threads_allowed()) return test::skip();
    Runtime runtime;
    Host host;
    const auto refused = test::says(
        {runtime.who(), "Window::adopt(\"host\")", "is adopted already, as Window(\"host\")", "cached", "close"});
    {
        Window window = adopt(runtime, host);
        CHECK_THAT(test::message_of<lapwing::UsageError>([&] { (void)adopt(runtime, host); }), refused);
        CHECK_THAT(test::message_of<lapwing::UsageError>([&] { (void)adopt(runtime, host, CacheMode::off, true); }),
                   refused);
        window.close();
    }
    Window window = adopt(runtime, host);
    window.close();
    MPI_Win_lock_all(MPI_MODE_NOCHECK, host.window());
    Window plain = adopt(runtime, host, CacheMode::off, true);
    Window plain_too = adopt(runtime, host, CacheMode::off, true); // without a cache both see all
    CHECK_THAT(test::message_of<lapwing::UsageError>([&] { (void)adopt(runtime, host, CacheMode::epoch, true); }),
               refused);
    CHECK_THAT(test::message_of<lapwing::UsageError>([&] { (void)adopt(runtime, host); }), refused);
    plain_too.close();
    plain.close();
    MPI_Win_unlock_all(host.window());
}

TEST_CASE("without a progress thread a window is not followed, and says what would do") {
    Runtime runtime{MPI_COMM_WORLD, lapwing::Settings{{"LAPWING_PROGRESS", "caller"}}};
    Host host;
    if (runtime.size() == 1) return; // nobody to wait for
    CHECK_THAT(test::message_of<lapwing::UsageError>([&] { (void)adopt(runtime, host); }),
               test::says({runtime.who(), "Window::adopt(\"host\")", "CacheMode::transparent needs a progress thread",
                           "MPI_THREAD_MULTIPLE", "CacheMode::epoch"}));
    MPI_Win_fence(0, host.window()); // it is the program's as before
    runtime.close();
}

TEST_CASE("modes that differ between ranks are refused on all, and leave the window as it was") {
    if (!test::many_threads_allowed()) return test::skip();
    Runtime runtime;
    if (runtime.size() < 2) return;
    Host host;
    const bool first = runtime.rank() == Rank{0};
    CHECK_THAT(test::message_of<lapwing::MismatchError>(
                   [&] { (void)adopt(runtime, host, first ? CacheMode::off : CacheMode::transparent); }),
               test::says({runtime.who(), "Window::adopt(\"host\")", "CacheOptions::mode", "off on rank 0",
                           "transparent on rank 1"}));
    MPI_Win_fence(0, host.window()); // no epoch of Lapwing's has been left
    Window window = adopt(runtime, host);
    window.put(test::next(runtime), Offset{8}, std::int64_t{3});
    MPI_Win_fence(0, host.window());
    CHECK(host.load(1) == 3);
    window.close();
}

TEST_CASE("the owner carries adds out by calls that no profiling library replaces") {
    if (!test::many_threads_allowed()) return test::skip();
    Runtime runtime;
    Host host;
    const Rank to = test::next(runtime);
    {
        Window window = adopt(runtime, host, CacheMode::off);
        const int in_the_trial = profiled_accumulates; // of windows of this kind, when the first of them was adopted
        for (int i = 0; i < 1000; ++i) window.atomic<std::int64_t>(to, Offset{24}).add(1);
        runtime.barrier();
        CHECK(window.get<std::int64_t>(to, Offset{24}) == 1000);
        CHECK(profiled_accumulates == in_the_trial);
        runtime.barrier();
        window.close();
    }
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

TEST_CASE("a window that the program frees before it is closed is complete, and says so") {
    if (!test::many_threads_allowed()) return test::skip();
    Runtime runtime;
    const Rank to = test::next(runtime);
    for (const CacheMode mode : {CacheMode::off, CacheMode::transparent}) {
        auto host = std::make_unique<Host>();
        Window window = adopt(runtime, *host, mode);
        std::vector<std::int64_t> here(512);
        lapwing::Completion get = window.start_get(to, Offset{0}, here);
        for (std::uint64_t i = 0; i < 100; ++i) window.put(to, Offset{4096 + 8 * i}, 1.0);
        host.reset();
        get.wait();
        CHECK_THAT(test::message_of<lapwing::UsageError>([&] { window.put(to, Offset{0}, 1.0); }),
                   test::says({"Window(\"host\").put", "MPI_Win_free before it was closed"}));
        window.close();
        runtime.barrier();
    }
}
