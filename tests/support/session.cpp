// The one source that holds the implementation of Catch2.
#include "tests/support/session.hpp"

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <utility>

namespace {

std::function<void()> call_on_failure;

/// Listeners are told before the reporter that prints.
struct FailureListener : Catch::TestEventListenerBase {
    using TestEventListenerBase::TestEventListenerBase;

    bool assertionEnded(const Catch::AssertionStats& statistics) override {
        if (!statistics.assertionResult.isOk() && call_on_failure) call_on_failure();
        return false;
    }
};
CATCH_REGISTER_LISTENER(FailureListener)

} // namespace

int test::run_test_cases(int argc, char** argv, std::function<void()> on_failure) {
    call_on_failure = std::move(on_failure);
    Catch::Session session;
    // Open MPI gives ranks a terminal also when mpirun writes to a file.
    session.configData().useColour = Catch::UseColour::No;
    // A misspelt test name must not pass.
    session.configData().warnings =
        static_cast<Catch::WarnAbout::What>(session.configData().warnings | Catch::WarnAbout::NoTests);
    const int failed = session.run(argc, argv) != 0 ? 1 : 0;
    call_on_failure = {};
    return failed;
}
