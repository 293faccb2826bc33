// Invariants of the library, and the order of its mutexes: what is wrong ends the process.
#include "src/support/assert.hpp"
#include "src/support/mutex.hpp"

#include "support/catch.hpp"

#include <csignal>
#include <mutex>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using lapwing::detail::support::LockOrder;
using lapwing::detail::support::LockRank;
using lapwing::detail::support::Mutex;

namespace {

/// What a process writes to standard error that does `work`, and whether it ends by an abort.
template <class Work>
[[nodiscard]] std::string aborts_with(Work&& work) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        work();
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char buffer[256];
    for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(count));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "no abort, and \"" + text + "\"";
}

void take(const void* mutex, LockRank rank) {
    LockOrder::before(mutex, rank);
    LockOrder::taken(mutex, rank);
}

} // namespace

TEST_CASE("a thread that takes mutexes out of order is stopped, whatever lies between them") {
    const int one = 1;
    const int two = 2;
    const int three = 3;
    take(&one, LockRank::chunked_transfers);
    take(&two, LockRank::cache);
    take(&three, LockRank::engine);
    LockOrder::released(&two); // in any order
    LockOrder::released(&three);
    LockOrder::released(&one);
    CHECK(LockOrder::held().count == 0);

    CHECK(aborts_with([&] {
              take(&two, LockRank::cache);
              take(&one, LockRank::chunked_transfers);
          }).find("of the rank chunked_transfers with one of the rank cache held") != std::string::npos);
    CHECK(aborts_with([&] { // two caches: another thread may take them the other way round
              take(&one, LockRank::cache);
              take(&two, LockRank::cache);
          })
              .find("of the rank cache with one of the rank cache held") != std::string::npos);
    CHECK(aborts_with([&] { // by try_lock, which waits for nobody; what is taken after it is compared with it
              LockOrder::taken(&one, LockRank::engine);
              LockOrder::taken(&two, LockRank::cache);
              take(&three, LockRank::gathered_adds);
          })
              .find("of the rank gathered_adds with one of the rank engine held") != std::string::npos);
    CHECK(aborts_with([&] { LockOrder::released(&one); }).find("releases mutexes that it has taken") !=
          std::string::npos);
}

TEST_CASE("mutexes keep to their order, and invariants are evaluated, in builds with internal assertions alone") {
    Mutex outer{LockRank::cache};
    Mutex inner{LockRank::engine};
    {
        const std::lock_guard first{outer};
        const std::lock_guard second{inner};
        CHECK(LockOrder::held().count == (lapwing::detail::support::internal_assertions ? 2 : 0));
    }
    int evaluated = 0;
    LAPWING_ASSERT(++evaluated == 1);
    CHECK(evaluated == (lapwing::detail::support::internal_assertions ? 1 : 0));
    const auto out_of_order = [&] {
        const std::lock_guard first{inner};
        const std::lock_guard second{outer};
    };
    const auto wrong = [] { LAPWING_ASSERT(1 + 1 == 3); };
    if constexpr (lapwing::detail::support::internal_assertions) {
        CHECK(aborts_with(out_of_order).find("of the rank cache with one of the rank engine held") !=
              std::string::npos);
        CHECK(aborts_with(wrong).find("internal error: 1 + 1 == 3 does not hold") != std::string::npos);
    } else {
        out_of_order();
        wrong();
    }
}
