// The progress thread cannot be started.
#include "runtime/bad_input.hpp"
#include "support/catch.hpp"
#include "support/mpi_test.hpp"
#include "team/team_test.hpp"

#include <lapwing/runtime.hpp>
#include <lapwing/window.hpp>

#include <atomic>
#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>

// Sanitizers put a pthread_create of their own in this place.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LAPWING_TEST_REFUSES_THREADS 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef LAPWING_TEST_REFUSES_THREADS
#endif
#endif
#endif

#ifdef LAPWING_TEST_REFUSES_THREADS

namespace {
std::atomic<bool> refuse_threads{false};
} // namespace

extern "C" __attribute__((visibility("default"))) int
pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) noexcept {
    if (refuse_threads) return EAGAIN;
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return create(thread, attributes, start, argument);
}

TEST_CASE("a rank that cannot start its progress thread says so, and no rank gets a team") {
    const bool refused = test::world_rank() == 0;
    const bool by_callers = lapwing::Settings{}.text("LAPWING_PROGRESS") == "caller";
    if (test::world_size() == 1 || !test::many_threads_allowed() || by_callers) return;
    {
        refuse_threads = refused;
        const std::string text = test::message_of<lapwing::Error>([] { lapwing::Runtime{}; });
        refuse_threads = false;
        if (refused)
            CHECK_THAT(text,
                       test::says({"rank 0 of", "progress thread could not be started", "LAPWING_PROGRESS=caller"}));
        else
            CHECK_THAT(text, test::says({"Team", "another rank could not start its progress thread",
                                         "see that rank's error"}));
    }
    // Nothing of it is left behind: messages of the next team do not get into its buffers.
    lapwing::Runtime runtime;
    lapwing::Window window{runtime, 80};
    test::check_goes_on(runtime, window);
}

#endif
