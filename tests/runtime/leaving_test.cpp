// A rank leaves by an exception while the others wait for it: no rank hangs, and every rank gets an error.
#include "src/team/team_state.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>

namespace {

using lapwing::Lock;
using lapwing::Offset;
using lapwing::PeerLeftError;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using test::message_of;
using test::says;

/// What a rank works with, in the order in which a program makes it.
struct Program {
    Runtime runtime{};
    Window window{runtime, 1U << 16, {.name = "left behind"}};
    Lock lock{runtime, Rank{runtime.size() - 1}}; // whose queue is at the rank that leaves
    std::array<std::int64_t, 2> values{1, 2};
};

/// Collective over all processes. In a program the last rank throws after `before`; the others make `call`, whose name
/// in messages is `name`, and must get an error.
void check_last_leaves(const char* name, const std::function<void(Program&)>& call,
                       const std::function<void(Program&)>& before = {}) {
    INFO(name);
    const int last = test::world_size() - 1;
    if (last == 0) return;
    try {
        Program program;
        test::world_barrier(); // nobody leaves while another is still making it
        if (test::world_rank() == last) {
            if (before) before(program);
            throw std::logic_error{"an error of the program"};
        }
        const auto left = [&](const char* where) {
            // The last rank; or another, that has heard of it sooner and left because of it.
            return Catch::Matches(program.runtime.who() + ".*" + where +
                                  ".*left the team (by an exception|after rank " + std::to_string(last) +
                                  " had).*see that rank's error");
        };
        CHECK_THAT(message_of<PeerLeftError>([&] { call(program); }), left(name));
        // And so does every later call that needs all ranks.
        CHECK_THAT(message_of<PeerLeftError>([&] { program.runtime.barrier(); }), left("Team::barrier"));
        CHECK_THAT(message_of<PeerLeftError>([&] { (Window{program.runtime, 80}); }), left("window"));
        if (!program.window.closed())
            CHECK_THAT(message_of<PeerLeftError>([&] { program.window.close(); }), left("window"));
    } catch (const std::logic_error& error) {
        CHECK(test::world_rank() == last);
        CHECK(std::string{error.what()} == "an error of the program");
    }
    test::world_barrier();
}

void check_all_can_start_again() {
    Runtime runtime;
    Window window{runtime, 64};
    window.put(test::next(runtime), Offset{0}, runtime.rank().value);
    runtime.barrier();
    CHECK(window.local_as<int>()[0] == test::previous(runtime).value);
    window.close();
    runtime.close();
}

} // namespace

TEST_CASE("collective calls that a rank cannot come to any more are ended") {
    check_last_leaves("Team::barrier", [](Program& p) { p.runtime.barrier(3); });
    check_last_leaves("Team::barrier", [](Program& p) {
        p.runtime.notify();
        p.runtime.wait();
    });
    check_last_leaves("Team::all_reduce", [](Program& p) { p.runtime.sum(p.values); });
    check_last_leaves("window", [](Program& p) { (Window{p.runtime, 80}); });
    check_last_leaves("window", [](Program& p) { p.window.close(); });
    check_last_leaves(
        "Team::close",
        [](Program& p) {
            p.lock.close(); // ended in the same way, below
            p.window.close();
            p.runtime.close();
        },
        [](Program& p) {
            p.lock.close();
            p.window.close();
        });
    check_all_can_start_again();
}

TEST_CASE("ranks that wait in different collective calls without a barrier get an error that says so") {
    if (test::world_size() == 1) return;
    const bool odd_one = test::world_rank() == 0;
    std::array<std::int64_t, 1> values{1};
    const auto told = [&](const char* name, const auto& call) {
        INFO(name);
        test::world_barrier();
        bool heard = false;
        bool told_by_another = false;
        try {
            Runtime runtime;
            Window window{runtime, 80, {.name = "w"}};
            Window another{runtime, 80, {.name = "another"}};
            test::world_barrier();
            try {
                call(runtime, window);
            } catch (const lapwing::MismatchError& error) {
                heard = true;
                CHECK_THAT(std::string{error.what()}, says({runtime.who(), "the same collective calls"}));
                throw;
            } catch (const PeerLeftError&) { // or is notified of another that got the error, and left
                told_by_another = true;
                throw;
            } catch (const lapwing::UsageError& error) {
                heard = true;
                CHECK_THAT(std::string{error.what()},
                           says({runtime.who(), "Window::wait_notified", "are closing the window"}));
                throw;
            }
        } catch (const lapwing::Error&) { // and leaves the team
        }
        CHECK((heard || told_by_another));
        CHECK_FALSE(test::on_all_ranks(!heard));
    };
    told("a barrier and a sum", [&](Runtime& runtime, Window&) { odd_one ? runtime.barrier() : runtime.sum(values); });
    told("a broadcast and a sum", [&](Runtime& runtime, Window&) {
        odd_one ? runtime.broadcast(std::as_writable_bytes(std::span{values}), Rank{1}) : runtime.sum(values);
    });
    // The root has done its part of the broadcasts, and waits elsewhere, before the others look for it.
    told("a broadcast and a barrier at its root and a sum", [&](Runtime& runtime, Window&) {
        for (int i = 0; odd_one && i < 2; ++i) runtime.broadcast(std::as_writable_bytes(std::span{values}), Rank{0});
        odd_one ? runtime.barrier() : runtime.sum(values);
    });
    told("a broadcast and a sum at its root and a barrier", [&](Runtime& runtime, Window&) {
        if (odd_one) runtime.broadcast(std::as_writable_bytes(std::span{values}), Rank{0});
        odd_one ? runtime.sum(values) : runtime.barrier();
    });
    told("a sum and a close",
         [&](Runtime& runtime, Window& window) { odd_one ? window.close() : runtime.sum(values); });
    told("a wait for a notification and a close",
         [&](Runtime&, Window& window) { odd_one ? window.wait_notified(0) : window.close(); });
}

TEST_CASE("a wait for what only the rank that left could do is ended") {
    check_last_leaves("Window::wait_notified", [](Program& p) { p.window.wait_notified(2); });
    // The lock goes down with its holder.
    check_last_leaves(
        "Lock::lock",
        [](Program& p) { // in lock itself, or in an atomic that it makes
            p.window.wait_notified(0);
            p.lock.lock();
        },
        [](Program& p) {
            p.lock.lock();
            for (int rank = 0; rank + 1 < p.runtime.size(); ++rank) p.window.put_notify(Rank{rank}, Offset{0}, {}, 0);
            p.window.flush();
        });
    // Also where the queue can no longer be asked.
    check_last_leaves(
        "Lock::lock",
        [](Program& p) {
            REQUIRE_THROWS_AS(p.runtime.barrier(), PeerLeftError); // the news is here
            p.lock.lock();
        },
        [](Program& p) { p.lock.lock(); });
    check_all_can_start_again();
}

TEST_CASE("a loop that polls for what only the rank that left could do ends") {
    check_last_leaves("Window::notified", [](Program& p) {
        while (p.window.notified(2) == 0) {
        }
    });
    // At ranks that stay, too, and in own memory.
    for (const int of : {0, 1}) {
        const auto place = [of](Program& p) {
            return Rank{(p.runtime.rank().value + of) % std::max(1, p.runtime.size() - 1)};
        };
        check_last_leaves("Window::(load|fetch)", [&](Program& p) {
            while (p.window.atomic<std::int64_t>(place(p), Offset{24}).load() == 0) {
            }
        });
        check_last_leaves("Window::compare_swap", [&](Program& p) {
            while (p.window.atomic<std::int64_t>(place(p), Offset{24}).compare_swap(7, 8) != 7) {
            }
        });
        check_last_leaves("Window::fetch", [&](Program& p) {
            while (p.window.atomic<std::int32_t>(place(p), Offset{24}).fetch_add(0) == 0 &&
                   p.window.atomic<std::int32_t>(place(p), Offset{28}).fetch_add(0) == 0) {
            }
        });
    }
    check_last_leaves(
        "Lock::try_lock",
        [](Program& p) { // in it, or in an atomic that it makes
            p.window.wait_notified(0);
            while (!p.lock.try_lock()) {
            }
        },
        [](Program& p) {
            p.lock.lock();
            for (int rank = 0; rank + 1 < p.runtime.size(); ++rank) p.window.put_notify(Rank{rank}, Offset{0}, {}, 0);
            p.window.flush();
        });
    // Each polls the next, which does not serve it: the one that is nearest to the rank that left ends first, and the
    // others after it.
    check_last_leaves("", [](Program& p) {
        const int rank = p.runtime.rank().value;
        const bool nearest = rank + 2 == p.runtime.size();
        std::int64_t word = 0;
        lapwing::Completion get;
        if (!nearest) get = p.window.start_get(Rank{rank + 1}, Offset{24}, std::span{&word, 1});
        while (nearest || !get.test() || word == 0) {
            if (!nearest) (void)p.window.notified(2);
            else if (p.window.atomic<std::int64_t>(p.runtime.rank(), Offset{24}).load() != 0) break;
        }
    });
    std::vector<std::byte> in(1U << 15);
    check_last_leaves("", [&](Program& p) { // the start may notice it, or the loop, unless the transfer was faster
        for (;;) {
            lapwing::Completion get = p.window.start_get(Rank{p.runtime.size() - 1}, Offset{0}, std::span{in});
            while (!get.test()) {
            }
            (void)p.runtime.progress(); // through memory a transfer is complete at once
            p.runtime.state().check_reachable("the left team left", p.runtime.size() - 1);
        }
    });
    check_all_can_start_again();
}

TEST_CASE("memory of the program's that is left by an exception is not served any more") {
    if (test::world_size() == 1) return;
    constexpr std::size_t bytes = 1U << 16;
    constexpr std::size_t half = bytes / 2;
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    MPI_Win host = MPI_WIN_NULL;
    MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &host);
    {
        Runtime runtime{MPI_COMM_WORLD, lapwing::Settings{{"LAPWING_PATH", "service"}, {"LAPWING_NODE", "each"}}};
        const int last = runtime.size() - 1;
        std::vector<std::byte> in(half, std::byte{1});
        try {
            Window window = Window::adopt(runtime, host, false, {.name = "the program's"});
            window.put(Rank{last}, Offset{0}, std::int64_t{1});
            runtime.barrier();
            if (runtime.rank() == Rank{last}) throw std::logic_error{"an error of the program"};
            // Gets, puts and atomics that find the memory gone, of all sizes.
            const auto left = says({runtime.who(), "left the team"});
            CHECK_THAT(message_of<PeerLeftError>([&] {
                           for (;;) window.get(Rank{last}, Offset{half}, in);
                       }),
                       left);
            CHECK_THAT(message_of<PeerLeftError>([&] { window.put(Rank{last}, Offset{half}, in); }), left);
            CHECK_THAT(message_of<PeerLeftError>(
                           [&] { (void)window.atomic<std::int64_t>(Rank{last}, Offset{0}).fetch_add(1); }),
                       left);
            throw std::logic_error{"as the others"};
        } catch (const std::logic_error&) {
            if (runtime.rank() == Rank{last}) {
                CHECK(mprotect(memory, bytes, PROT_NONE) == 0); // as if it were freed: whoever touched it would crash
                // The team is what notifies the others.
                const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{2};
                try {
                    while (std::chrono::steady_clock::now() < end) (void)runtime.progress();
                } catch (const lapwing::Error&) {
                }
            }
        }
        test::world_barrier();
        CHECK(mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0);
        // Lapwing's own epoch is over: the program may begin one.
        CHECK(MPI_Win_lock_all(0, host) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock_all(host) == MPI_SUCCESS);
    }
    MPI_Win_free(&host);
    munmap(memory, bytes);
    check_all_can_start_again();
}

namespace {

/// Collective over all processes. The last one leaves while the others hold back bytes for all ranks in a cached
/// window. `between(window, other)` is what they do before their release, with another rank that stays.
void check_cached_writes(const lapwing::Settings& settings, const lapwing::CacheOptions& cache,
                         const std::function<void(Window&, Rank)>& between) {
    constexpr std::uint64_t segment = 1U << 20;
    constexpr std::uint64_t values = 10;
    const int last = test::world_size() - 1;
    if (last < 2) return;
    MPI_Comm stayed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, test::world_rank() == last ? 1 : 0, 0, &stayed);
    try {
        lapwing::Settings held{settings};
        held.set("LAPWING_HELD_WRITES", "0"); // until the release
        Runtime runtime{MPI_COMM_WORLD, held};
        Window first{runtime, segment, {.name = "first", .cache = cache}};
        Window second{runtime, segment, {.name = "second", .cache = cache}};
        Window news{runtime, 64};
        const int rank = runtime.rank().value;
        const auto value = [](int from, int to, std::uint64_t k) {
            return 1000 * from + 100 * to + static_cast<std::int64_t>(k);
        };
        const auto offset = [](int from, std::uint64_t k) {
            return Offset{static_cast<std::uint64_t>(from) * 65536 + k * 4096};
        };
        if (rank != last)
            for (int to = 0; to <= last; ++to)
                for (std::uint64_t k = 0; to != rank && k < values; ++k)
                    first.put(Rank{to}, offset(rank, k), value(rank, to, k));
        test::world_barrier();
        if (rank == last) throw std::logic_error{"an error of the program"};
        (void)message_of<PeerLeftError>([&] { // until the news is here, without a release
            for (;;) (void)news.atomic<std::int64_t>(Rank{last}, Offset{0}).fetch_add(1);
        });
        const Rank other{(rank + 1) % last};
        CHECK_NOTHROW((void)second.get<std::int64_t>(other, Offset{0}));
        CHECK_NOTHROW(between(first, other));
        // What those that stayed hold back for the last is reported once, with its amount.
        CHECK_THAT(
            message_of<PeerLeftError>([&] { runtime.release(); }),
            says({runtime.who(), "Window(\"first\")", "80 bytes", "to rank " + std::to_string(last), "left the team"}));
        CHECK_NOTHROW(runtime.release());
        CHECK_NOTHROW(first.flush(other));
        test::serving_barrier(runtime, stayed);
        first.acquire();
        std::uint64_t wrong = 0;
        for (int from = 0; from < last; ++from)
            for (std::uint64_t k = 0; from != rank && k < values; ++k)
                wrong += first.local_as<std::int64_t>()[offset(from, k).bytes / 8] == value(from, rank, k) ? 0 : 1;
        CHECK(wrong == 0);
        CHECK(first.get<std::int64_t>(other, offset(rank, 1)) == value(rank, other.value, 1));
        test::serving_barrier(runtime, stayed);
        throw std::logic_error{"an error of the program"};
    } catch (const std::logic_error& error) {
        CHECK(std::string{error.what()} == "an error of the program");
    }
    MPI_Comm_free(&stayed);
    test::world_barrier();
}

} // namespace

TEST_CASE(
    "cached bytes for those that stay arrive after a rank has left, and those for the one that left are reported") {
    const lapwing::CacheOptions large{.mode = lapwing::CacheMode::epoch};
    const auto nothing = [](Window&, Rank) {};
    // The release gives memory back: two caches want more than there is.
    check_cached_writes({{"LAPWING_PATH", "service"}, {"LAPWING_NODE", "each"}, {"LAPWING_CACHE_MEMORY", "3m"}}, large,
                        nothing);
    check_cached_writes({{"LAPWING_PATH", "service"}, {"LAPWING_NODE", "each"}}, large, nothing);
    // Reads of those that stayed need the places of dirty pages, and of dirty masks.
    check_cached_writes({{"LAPWING_PATH", "service"}, {"LAPWING_NODE", "each"}},
                        {.mode = lapwing::CacheMode::epoch, .bytes = 65536, .page_bytes = 1024},
                        [](Window& window, Rank other) {
                            for (std::uint64_t at = 0; at < 1U << 20; at += 512)
                                (void)window.get<std::int64_t>(other, Offset{at});
                        });
    // Another thread of the rank reads with dirty bytes of its own, and goes.
    if (test::many_threads_allowed())
        check_cached_writes({{"LAPWING_PATH", "service"}, {"LAPWING_NODE", "each"}}, large,
                            [](Window& window, Rank other) {
                                std::jthread{[&] { (void)window.get<std::int64_t>(other, Offset{8}); }};
                            });
    check_all_can_start_again();
}

TEST_CASE("those that stay can still reach each other's memory") {
    const int last = test::world_size() - 1;
    if (last < 2) return;
    try {
        Program program;
        test::world_barrier();
        if (test::world_rank() == last) throw std::logic_error{"an error of the program"};
        REQUIRE_THROWS_AS(program.runtime.barrier(), PeerLeftError);
        const Rank other{(program.runtime.rank().value + 1) % last};
        if (program.runtime.progress_mode() == lapwing::ProgressMode::thread) {
            program.window.put(other, Offset{8}, std::int64_t{program.runtime.rank().value});
            CHECK(program.window.get<std::int64_t>(other, Offset{8}) == program.runtime.rank().value);
            program.window.atomic<std::int64_t>(other, Offset{16}).fetch_add(1);
            program.window.flush();
            CHECK(program.window.get<std::int64_t>(other, Offset{16}) == 1);
        }
        // Nobody leaves before the others have been served.
        test::world_barrier();
    } catch (const std::logic_error&) {
        test::world_barrier();
    }
    check_all_can_start_again();
}

TEST_CASE("transfers that are under way when a rank leaves end") {
    // Large ones travel straight from and to memory, which their owners give up when they leave.
    constexpr std::size_t bytes = 1U << 15;
    const auto transfer = [](Program& p, Rank target, const std::function<void()>& meanwhile) {
        std::vector<std::byte> in(bytes);
        const std::vector<std::byte> out(bytes);
        std::int64_t word = 0;
        lapwing::Completion get = p.window.start_get(target, Offset{0}, std::span{in});
        lapwing::Completion put = p.window.start_put(target, Offset{bytes}, std::span{out});
        lapwing::Completion small = p.window.start_get(target, Offset{0}, std::span{&word, 1});
        meanwhile();
        for (lapwing::Completion* each : {&get, &put, &small}) {
            try {
                each->wait();
            } catch (const PeerLeftError&) { // or it was faster
            }
        }
    };
    check_last_leaves(
        "",
        [&](Program& p) { // a start may notice it, or the barrier
            transfer(p, Rank{p.runtime.size() - 1}, [] {});
            p.runtime.barrier();
        },
        [&](Program& p) { transfer(p, Rank{0}, [] { throw std::logic_error{"an error of the program"}; }); });
    check_all_can_start_again();
}

TEST_CASE("after a mismatch the others learn what it was, not only that there was an exception") {
    if (test::world_size() == 1) return;
    const bool last = test::world_rank() == test::world_size() - 1;
    try {
        Program program;
        test::world_barrier();
        if (last) {
            program.runtime.barrier();
            FAIL("no mismatch");
        }
        // A rank that gets the mismatch and goes on then learns that the other left because of it.
        CHECK_THAT(message_of<lapwing::MismatchError>([&] { program.window.close(); }),
                   says({"close of a window", "Team::barrier"}));
        CHECK_THAT(message_of<PeerLeftError>([&] {
                       while (true) program.runtime.barrier();
                   }),
                   says({program.runtime.who(), "left the team after a mismatch: it was in Team::barrier",
                         "while another rank was in the close of a window", "see that rank's error"}));
        test::world_barrier(); // nobody is told of these ranks instead
    } catch (const lapwing::MismatchError&) {
        CHECK(last);
        test::world_barrier();
    }
    test::world_barrier();
    check_all_can_start_again();
}

TEST_CASE("several ranks leave at once") {
    if (test::world_size() == 1) return;
    try {
        Program program;
        test::world_barrier();
        if (test::world_rank() != 0) throw std::logic_error{"an error of the program"};
        for (int i = 0; i < 2; ++i)
            CHECK_THAT(message_of<PeerLeftError>([&] { program.runtime.barrier(); }),
                       says({program.runtime.who(), "Team::barrier", "left the team by an exception"}));
    } catch (const std::logic_error&) {
        CHECK(test::world_rank() != 0);
    }
    test::world_barrier();
    check_all_can_start_again();
}

TEST_CASE("collective calls that a rank made before it left are complete on the others") {
    // The news that it left goes from rank to rank, and may be there before what is still to come of those calls.
    const int last = test::world_size() - 1;
    if (last == 0) return;
    for (int round = 0; round < 10; ++round) {
        try {
            Program program;
            program.runtime.barrier();
            program.values = {1, 2};
            program.runtime.sum(program.values);
            program.runtime.notify();
            program.runtime.wait();
            if (round % 2 == 1) program.runtime.sum(program.values);
            if (test::world_rank() == last) throw std::logic_error{"an error of the program"};
            CHECK(program.values[0] == (round % 2 == 1 ? (last + 1) * (last + 1) : last + 1));
            REQUIRE_THROWS_AS(program.runtime.barrier(), PeerLeftError);
        } catch (const std::logic_error&) {
            CHECK(test::world_rank() == last);
        }
        test::world_barrier();
    }
    check_all_can_start_again();
}

TEST_CASE("a transfer with a rank that stays completes although others have left") {
    const int rank = test::world_rank();
    if (test::world_size() < 3) return;
    constexpr std::size_t part = 400'000;
    const auto pattern = [](int owner, std::size_t i) {
        return static_cast<std::byte>(7 * i + 31 * static_cast<std::size_t>(owner));
    };
    MPI_Comm staying = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, rank, &staying);
    try {
        Runtime runtime;
        Window window{runtime, part};
        for (std::size_t i = 0; i < part; ++i) window.local()[i] = pattern(rank, i);
        test::world_barrier(); // nobody leaves while another is still making it
        if (rank < 2) {
            CHECK_FALSE(message_of<PeerLeftError>([&] { runtime.barrier(); }).empty()); // the news is here
            for (const std::size_t size : {std::size_t{100}, std::size_t{3000}, part}) {
                std::vector<std::byte> here(size);
                window.start_get(Rank{1 - rank}, Offset{0}, here).wait();
                std::size_t right = 0;
                while (right < size && here[right] == pattern(1 - rank, right)) ++right;
                CHECK(right == size);
            }
            // The other's gets need this rank's progress where no thread makes it.
            test::serving_barrier(runtime, staying);
        }
        throw std::logic_error{"an error of the program"};
    } catch (const std::logic_error&) {
    }
    MPI_Comm_free(&staying);
    test::world_barrier();
}
