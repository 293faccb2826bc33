// Waits that the program's wait hook ends: the rank that waits gets an error, and so do the others; none hangs.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include "src/team/wait_hook.hpp"

#include <lapwing/assignment.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/located_value.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/wait_hook.hpp>
#include <lapwing/window.hpp>

#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using lapwing::InterruptedError;
using lapwing::Lock;
using lapwing::Offset;
using lapwing::Rank;
using lapwing::Runtime;
using lapwing::Window;
using test::message_of;
using test::says;
using Clock = std::chrono::steady_clock;

/// When it was asked; ends the wait, or sends a message to rank 0, when it is asked for the given time.
struct Asked {
    std::size_t limit = 1;
    bool ends = true;
    std::vector<Clock::time_point> times{};

    bool operator()() {
        times.push_back(Clock::now());
        if (times.size() < limit) return false;
        if (!ends && times.size() == limit) MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        return ends;
    }
};
/// For its scope.
class Hook {
public:
    explicit Hook(Asked& asked) { lapwing::set_wait_hook(std::ref(asked)); }
    ~Hook() { lapwing::set_wait_hook({}); }
    Hook(const Hook&) = delete;
    Hook& operator=(const Hook&) = delete;
};

struct Program {
    Runtime runtime{};
    Window window{runtime, 1U << 20};
    Lock lock{runtime};
    std::array<std::int64_t, 2> values{1, 2};
    std::vector<std::byte> memory = std::vector<std::byte>(1U << 20);
};

std::atomic<bool> stalled{false};
/// No request of this process completes in its scope.
struct Stall {
    Stall() { stalled = true; }
    ~Stall() { stalled = false; }
    Stall(const Stall&) = delete;
    Stall& operator=(const Stall&) = delete;
};

/// What the last rank waits in, and what the others do before and after its hook ends that wait.
struct Wait {
    const char* name; ///< in messages
    std::function<void(Program&)> call;
    std::function<void(Program&)> before{}; ///< of the others, which then do not come until the wait has ended
    bool collective = false;                ///< the others make the call, too, afterwards
    std::function<bool(Program&)> possible = [](Program&) { return true; };
};

/// Collective over all processes.
void check_interrupted(const Wait& wait) {
    const char* const name = wait.name;
    INFO(name);
    const int last = test::world_size() - 1;
    if (last == 0) return;
    try {
        Program program;
        if (!wait.possible(program)) {
            if (test::world_rank() == 0) WARN(std::string{name} + ": not tried on this path");
            return;
        }
        if (wait.before && test::world_rank() != last) wait.before(program);
        test::world_barrier();
        if (test::world_rank() != last) {
            MPI_Recv(nullptr, 0, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            const auto left = Catch::Matches(program.runtime.who() + ".*left the team (when its program ended a wait" +
                                             "|after rank " + std::to_string(last) + " had).*see that rank's error");
            CHECK_THAT(message_of<lapwing::PeerLeftError>([&] {
                           if (wait.collective) wait.call(program); // the last rank may have come to this one
                           program.runtime.barrier();
                       }),
                       left);
            program.runtime.barrier(); // throws the same out of the program's scope
        } else {
            Asked asked{.limit = 2};
            const Hook hook{asked};
            const std::string text = message_of<InterruptedError>([&] { wait.call(program); });
            for (int rank = 0; rank < last; ++rank) MPI_Send(nullptr, 0, MPI_BYTE, rank, 1, MPI_COMM_WORLD);
            CHECK_THAT(text, says({program.runtime.who(), name, "wait hook", "leave the runtime"}));
            CHECK(asked.times.size() == 2);
            CHECK_THAT(message_of<InterruptedError>([&] { program.runtime.barrier(); }),
                       says({"Team::barrier", "after an interrupted wait", "wait hook"}));
            throw InterruptedError{text};
        }
    } catch (const InterruptedError&) {
        CHECK(test::world_rank() == last);
    } catch (const lapwing::PeerLeftError&) {
        CHECK(test::world_rank() != last);
    }
    test::world_barrier();
}

} // namespace

extern "C" int MPI_Testall(int count, MPI_Request requests[], int* done, MPI_Status statuses[]) {
    if (!stalled) return PMPI_Testall(count, requests, done, statuses);
    *done = 0;
    return MPI_SUCCESS;
}

TEST_CASE("a wait hook ends the waits of collective calls") {
    check_interrupted({.name = "Team::barrier", .call = [](Program& p) { p.runtime.barrier(); }, .collective = true});
    check_interrupted({.name = "Team::barrier",
                       .call =
                           [](Program& p) {
                               p.runtime.notify();
                               p.runtime.wait();
                           },
                       .collective = true});
    check_interrupted(
        {.name = "Team::all_reduce", .call = [](Program& p) { p.runtime.sum(p.values); }, .collective = true});
    check_interrupted({.name = "window", .call = [](Program& p) { (Window{p.runtime, 80}); }, .collective = true});
}

TEST_CASE("a wait hook ends the waits for locks and notifications") {
    check_interrupted({.name = "Lock::lock",
                       .call = [](Program& p) { p.lock.lock(); },
                       .before =
                           [](Program& p) {
                               if (p.runtime.rank() == Rank{0}) p.lock.lock();
                           }});
    check_interrupted({.name = "Window::wait_notified", .call = [](Program& p) { p.window.wait_notified(0); }});
}

TEST_CASE("a wait hook ends waits for a rank that serves nobody") {
    // Rank 0 waits in MPI, and has no progress thread.
    const auto unserved = [](Program& p) {
        const bool waits = p.runtime.progress_mode() == lapwing::ProgressMode::caller &&
                           p.window.path(Rank{0}) == lapwing::Path::service;
        return test::agree(p.runtime, p.runtime.rank().value != p.runtime.size() - 1 || waits);
    };
    const auto check = [&](const char* name, const std::function<void(Program&)>& call) {
        check_interrupted({.name = name, .call = call, .possible = unserved});
    };
    check("Window::get", [](Program& p) { p.window.get(Rank{0}, Offset{0}, p.memory); });
    check("Completion::wait", [](Program& p) { p.window.start_get(Rank{0}, Offset{0}, p.memory).wait(); });
    check("Window::fetch", [](Program& p) { (void)p.window.atomic<int>(Rank{0}, Offset{0}).fetch_add(1); });
    check("Window::fetch_min", [](Program& p) {
        p.window.atomic<lapwing::LocatedValue<double, 1>>(Rank{0}, Offset{0}).min(lapwing::LocatedValue<double, 1>{});
    });
}

TEST_CASE("a wait hook ends the wait for a transfer that MPI carries out") {
    const auto wait = [](Program& p) {
        const Stall until_both_are_gone;
        std::array<lapwing::Completion, 2> gets{p.window.start_get(Rank{0}, Offset{0}, p.memory),
                                                p.window.start_get(Rank{0}, Offset{0}, p.memory)};
        gets[0].wait(); // the other one is dropped
    };
    check_interrupted({.name = "Completion::wait", .call = wait, .possible = [](Program& p) {
                           return test::agree(p.runtime, p.runtime.rank().value != p.runtime.size() - 1 ||
                                                             p.window.path(Rank{0}) == lapwing::Path::rma);
                       }});
}

TEST_CASE("a wait hook ends an assignment between two slices, and what functions have changed is put back") {
    const int last = test::world_size() - 1;
    if (last == 0) return;
    try {
        Runtime runtime;
        lapwing::GlobalArray<double, 1> first{runtime, {60}};
        lapwing::GlobalArray<double, 1> second{runtime, {60}};
        lapwing::GlobalArray<double, 1> source{runtime, {60}, lapwing::Cyclic{}};
        first.fill(1);
        second.fill(2);
        source.fill(3);
        bool holds_up = runtime.rank() == Rank{0};
        std::size_t calls = 0;
        lapwing::Assignment both;
        both.add(first.slice(), source.slice(), [&](double& element, const double& value) { // first, as it may throw
            if (std::exchange(holds_up, false))
                MPI_Recv(nullptr, 0, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            element += value;
            ++calls;
        });
        both.add(second.slice(), source.slice());
        if (runtime.rank() != Rank{last}) {
            CHECK_THAT(message_of<lapwing::PeerLeftError>([&] { both.execute(); }),
                       Catch::Matches(runtime.who() + ".*left the team (when its program ended a wait|after rank " +
                                      std::to_string(last) + " had).*see that rank's error"));
        } else {
            Asked asked{.limit = 2};
            const Hook hook{asked};
            const std::string text = message_of<InterruptedError>([&] { both.execute(); });
            MPI_Send(nullptr, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            CHECK_THAT(text, says({runtime.who(), "wait hook", "leave the runtime"}));
        }
        if (runtime.progress_mode() == lapwing::ProgressMode::thread) CHECK(calls == first.local_span().size());
        for (const double element : first.local_span()) CHECK(element == 1);
        // Others go on to the next slice: the last rank has come to the barrier between them.
        const double assigned = runtime.rank() == Rank{last} ? 2 : 3;
        for (const double element : second.local_span()) CHECK((element == 2 || element == assigned));
        runtime.barrier(); // throws the same out of the scope
    } catch (const InterruptedError&) {
        CHECK(test::world_rank() == last);
    } catch (const lapwing::PeerLeftError&) {
        CHECK(test::world_rank() != last);
    }
    test::world_barrier();
}

TEST_CASE("a thread of Lapwing's own does not ask the wait hook") {
    Runtime runtime;
    Window window{runtime, 8};
    Asked asked{};
    const int last = runtime.size() - 1;
    if (last == 0) return;
    if (runtime.rank() == Rank{0}) {
        std::this_thread::sleep_for(std::chrono::milliseconds{500});
        window.put_notify(Rank{last}, Offset{0}, {}, 0);
    } else if (runtime.rank().value == last) {
        const Hook hook{asked};
        std::thread own{[&] {
            lapwing::detail::team::wait_as_own_thread();
            window.wait_notified(0);
        }};
        own.join();
    }
    CHECK(asked.times.empty());
    runtime.barrier();
    window.close();
    runtime.close();
}

TEST_CASE("a wait goes on while its hook returns false, and the hook is asked about ten times a second") {
    Runtime runtime;
    const int last = runtime.size() - 1;
    if (last == 0) return;
    constexpr std::size_t asks = 4;
    Asked asked{.limit = asks, .ends = false};
    if (runtime.rank() == Rank{0}) MPI_Recv(nullptr, 0, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (runtime.rank().value != last) {
        runtime.barrier();
    } else {
        const Hook hook{asked};
        runtime.barrier();
        REQUIRE(asked.times.size() >= asks);
        CHECK(asked.times[asks - 1] - asked.times[0] >=
              std::chrono::milliseconds{250}); // each is 0.1 s, or a little less if another was late
    }
    runtime.barrier();
    runtime.close();
}
