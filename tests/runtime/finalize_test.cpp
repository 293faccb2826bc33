// MPI is finalized by the host program while Lapwing still uses it. One test case, since MPI ends with it.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/assignment.hpp>
#include <lapwing/global_array.hpp>
#include <lapwing/halo.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/lock.hpp>
#include <lapwing/patterns.hpp>
#include <lapwing/plan.hpp>
#include <lapwing/prefetch.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

using lapwing::Offset;
using lapwing::Rank;
using lapwing::UsageError;
using test::message_of;
using test::says;

TEST_CASE("MPI is finalized before the runtime closes") {
    auto runtime = std::make_unique<lapwing::Runtime>();
    auto second = std::make_unique<lapwing::Runtime>();
    lapwing::Window window{*runtime, 80, {.name = "late"}};
    lapwing::GlobalArray<double, 1> array{*runtime, {100}, lapwing::Block{}, {.name = "last"}};
    lapwing::GlobalArray<double, 1> dealt{*runtime, {100}, lapwing::BlockCyclic{{3}}};
    lapwing::GlobalArray<double, 1> copies{*runtime, {4}, lapwing::Replicated{}};
    std::optional<lapwing::Halo<double, 1>> halo{std::in_place, array, 1};
    array.prefetch(lapwing::Stencil{1});
    const auto slice = array(lapwing::Range{0, 100});
    lapwing::Assignment assignment;
    assignment.add(slice, dealt(lapwing::Range{0, 100}));
    const lapwing::Layout eight = lapwing::Layout::contiguous(8);
    auto plan = lapwing::Plan::put(window, eight, test::next(*runtime), Offset{0}, eight);
    lapwing::Prefetch prefetch{window};
    auto lock = std::make_unique<lapwing::Lock>(*runtime);
    auto held = std::make_unique<lapwing::Lock>(*runtime);
    if (runtime->rank().value == 0) held->lock();
    window.put(test::next(*runtime), Offset{0}, std::int64_t{7});
    runtime->barrier();
    CHECK(window.local_as<std::int64_t>()[0] == 7);
    runtime->barrier();
    const auto mine = array.local_domain();

    // A rank that waits for one that is in MPI_Finalize gets an error.
    if (runtime->size() > 1 && runtime->rank() != Rank{0})
        CHECK_THAT(message_of<lapwing::PeerLeftError>([&] { second->barrier(); }),
                   says({runtime->who(), "Team::barrier", "left the team"}));

    MPI_Finalize();

    const std::string who = runtime->who();
    CHECK_THAT(message_of<UsageError>([&] { window.close(); }),
               says({who, "Window(\"late\").close", "MPI is finalized already", "close windows before MPI_Finalize"}));
    CHECK_THAT(message_of<UsageError>([&] { runtime->close(); }),
               says({who, "Team::close", "MPI is finalized already", "close runtimes before MPI_Finalize"}));
    CHECK_THAT(message_of<UsageError>([&] { lock->close(); }), says({who, "MPI is finalized already"}));
    CHECK_THAT(message_of<lapwing::Error>([&] { runtime->barrier(); }),
               says({who, "Team::barrier", "MPI is finalized"}));
    CHECK_THAT(message_of<lapwing::Error>([&] { (lapwing::Window{*second, 80}); }),
               says({who, "window", "MPI is finalized"}));
    const auto ended = [&](const char* call) { return says({who, call, "MPI is finalized"}); };
    const Rank other = test::next(*runtime);
    CHECK_THAT(message_of<lapwing::Error>([&] { window.flush(); }), ended("Window(\"late\").flush"));
    CHECK_THAT(message_of<lapwing::Error>([&] { window.flush(other); }), ended("Window(\"late\").flush"));
    CHECK_THAT(message_of<lapwing::Error>([&] { window.release(); }), ended("Window(\"late\").release"));
    CHECK_THAT(message_of<lapwing::Error>([&] { window.acquire(); }), ended("Window(\"late\").acquire"));
    CHECK_THAT(message_of<lapwing::Error>([&] { window.fence(); }), ended("Window(\"late\").fence"));
    CHECK_THAT(message_of<lapwing::Error>([&] { runtime->release(); }), ended("Team::release"));
    CHECK_THAT(message_of<lapwing::Error>([&] { runtime->acquire(); }), ended("Team::acquire"));
    CHECK_THAT(message_of<lapwing::Error>([&] { runtime->fence(); }), ended("Team::release"));
    // Whatever the path, and though ranks of a node share memory.
    double x = 1;
    CHECK_THAT(message_of<UsageError>([&] { window.put(other, Offset{0}, x); }), ended("Window(\"late\").put"));
    CHECK_THAT(message_of<UsageError>([&] { window.get(other, Offset{0}, x); }), ended("Window(\"late\").get"));
    CHECK_THAT(message_of<UsageError>([&] { (void)window.start_get(other, Offset{0}, {}); }), ended("start_get"));
    CHECK_THAT(message_of<UsageError>([&] { (void)window.atomic<double>(other, Offset{0}).fetch_add(1.0); }),
               ended("fetch_add"));
    CHECK_THAT(message_of<UsageError>([&] { window.atomic<double>(other, Offset{0}).add(1.0); }), ended("add"));
    CHECK_THAT(message_of<UsageError>([&] { window.put_notify(other, Offset{0}, x, 0); }), ended("put_notify"));
    CHECK_THAT(message_of<UsageError>([&] { (void)window.notified(0); }), ended("notified"));
    std::vector<double> all(100);
    const std::vector<std::int64_t> some{1, 99};
    std::vector<double> values(2);
    const auto array_ended = [&](const char* call) { return says({who, "\"last\"", call, "MPI is finalized"}); };
    CHECK_THAT(message_of<UsageError>([&] { array(array.domain()).get(all); }), array_ended("(…)"));
    CHECK_THAT(message_of<UsageError>([&] { array.slice().put(all); }), array_ended("slice"));
    CHECK_THAT(message_of<UsageError>([&] { array.gather(some, values); }), array_ended("gather"));
    CHECK_THAT(message_of<UsageError>([&] { array.scatter(some, values); }), array_ended("scatter"));
    CHECK_THAT(message_of<UsageError>([&] { array.fill(1); }), array_ended("fill"));
    CHECK_THAT(message_of<UsageError>([&] { (void)array.sum(); }), array_ended("sum"));
    CHECK_THAT(message_of<UsageError>([&] { array.resize({7}); }), array_ended("resize"));
    CHECK_THAT(message_of<UsageError>([&] { array.update(); }), array_ended("update"));
    CHECK_THAT(message_of<UsageError>([&] { (void)array.window(); }), array_ended("window"));
    CHECK_THAT(message_of<UsageError>([&] { array(0).atomic().fetch_add(1.0); }), says({"MPI is finalized"}));
    CHECK_THAT(message_of<UsageError>([&] { slice.get(all); }), says({"MPI is finalized"}));
    CHECK_THAT(message_of<UsageError>([&] { assignment.execute(); }), says({"MPI is finalized"}));
    CHECK_THAT(message_of<UsageError>([&] { halo->fetch(); }), says({"MPI is finalized"}));
    CHECK_THAT(message_of<UsageError>([&] { plan.execute(all.data()); }), says({"MPI is finalized"}));
    CHECK_THAT(message_of<UsageError>([&] { (void)plan.explain(); }), says({"MPI is finalized"}));
    CHECK_THAT(message_of<UsageError>([&] { (void)prefetch.request(other); }), says({"MPI is finalized"}));
    CHECK_THAT(message_of<UsageError>([&] { (void)runtime->sum(1.0); }), ended("Team::all_reduce"));
    CHECK_THAT(message_of<UsageError>([&] { copies(1) = 2; }), says({"MPI is finalized"}));
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_THAT(message_of<UsageError>([&] { runtime->wait_request(request); }), ended("Team::wait_request"));
    CHECK_THAT(message_of<UsageError>([&] { (void)eight.to_mpi(); }), says({"Layout::to_mpi", "MPI is finalized"}));
    CHECK(!runtime->report().empty());
    // The memory that a program has the address of stays, as single elements of this node do.
    const std::span<std::int64_t> own = window.local_as<std::int64_t>();
    own[0] = 8;
    CHECK(own[0] == 8);
    if (runtime->node_size() == runtime->size())
        for (std::int64_t i = 0; i < 100; ++i) dealt(i) = static_cast<double>(i);
    for (auto [i] : mine) array.local(i) = 1;

    if (held->held()) CHECK_THAT(message_of<lapwing::Error>([&] { held->unlock(); }), ended("Team::release"));
    CHECK_THAT(message_of<UsageError>([] { lapwing::Runtime{}; }),
               says({"Team", "MPI is finalized already", "make runtimes before MPI_Finalize"}));
    CHECK(!runtime->closed());
    // Destructors neither throw nor call MPI.
    {
        const lapwing::Window ends{std::move(window)};
    }
    lock.reset();
    held.reset();
    second.reset();
    runtime.reset();
}
