// MPI is finalized by the host program while Lapwing still uses it. One test case, since MPI ends with it.
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/lock.hpp>
#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <cstdint>
#include <memory>
#include <utility>

using lapwing::Offset;
using lapwing::Rank;
using lapwing::UsageError;
using test::message_of;
using test::says;

TEST_CASE("MPI is finalized before the runtime closes") {
    auto runtime = std::make_unique<lapwing::Runtime>();
    auto second = std::make_unique<lapwing::Runtime>();
    lapwing::Window window{*runtime, 80, {.name = "late"}};
    auto lock = std::make_unique<lapwing::Lock>(*runtime);
    auto held = std::make_unique<lapwing::Lock>(*runtime);
    if (runtime->rank().value == 0) held->lock();
    window.put(test::next(*runtime), Offset{0}, std::int64_t{7});
    runtime->barrier();
    CHECK(window.local_as<std::int64_t>()[0] == 7);
    runtime->barrier();

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
    CHECK_THAT(message_of<lapwing::Error>([&] { window.flush(); }), ended("Window::flush"));
    CHECK_THAT(message_of<lapwing::Error>([&] { window.flush(other); }), ended("Window::flush"));
    CHECK_THAT(message_of<lapwing::Error>([&] { window.release(); }), ended("Window::release"));
    CHECK_THAT(message_of<lapwing::Error>([&] { window.acquire(); }), ended("Window::acquire"));
    CHECK_THAT(message_of<lapwing::Error>([&] { window.fence(); }), ended("Window::release"));
    CHECK_THAT(message_of<lapwing::Error>([&] { runtime->release(); }), ended("Team::release"));
    CHECK_THAT(message_of<lapwing::Error>([&] { runtime->acquire(); }), ended("Team::acquire"));
    CHECK_THAT(message_of<lapwing::Error>([&] { runtime->fence(); }), ended("Team::release"));
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
