// The one source that looks into Catch2, of either major version; with version 2 it holds all of its implementation.
#include "tests/support/session.hpp"

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <utility>

namespace {

std::function<void()> call_on_failure;

void look_at(const Catch::AssertionStats& statistics) {
    if (!statistics.assertionResult.isOk() && call_on_failure) call_on_failure();
}

/// Listeners are notified before the reporter that prints.
#if __has_include(<catch2/catch_all.hpp>)
struct FailureListener : Catch::EventListenerBase {
    using EventListenerBase::EventListenerBase;
    void assertionEnded(const Catch::AssertionStats& statistics) override { look_at(statistics); }
};

// A misspelt test name does not pass unless one asks for that.
void configure(Catch::ConfigData& configuration) { configuration.defaultColourMode = Catch::ColourMode::None; }
#else
struct FailureListener : Catch::TestEventListenerBase {
    using TestEventListenerBase::TestEventListenerBase;
    bool assertionEnded(const Catch::AssertionStats& statistics) override {
        look_at(statistics);
        return false;
    }
};

void configure(Catch::ConfigData& configuration) {
    configuration.useColour = Catch::UseColour::No;
    // A misspelt test name must not pass.
    configuration.warnings = static_cast<Catch::WarnAbout::What>(configuration.warnings | Catch::WarnAbout::NoTests);
}
#endif
CATCH_REGISTER_LISTENER(FailureListener)

} // namespace

int test::run_test_cases(int argc, char** argv, std::function<void()> on_failure) {
    call_on_failure = std::move(on_failure);
    Catch::Session session;
    configure(session.configData()); // no colours: Open MPI gives ranks a terminal also when mpirun writes to a file
    const int failed = session.run(argc, argv) != 0 ? 1 : 0;
    call_on_failure = {};
    return failed;
}
