#include "src/support/biased_mutex.hpp"

#include "src/support/thread_sanitizer.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lapwing::detail::support {
namespace {

long membarrier(int command) { return syscall(__NR_membarrier, command, 0, 0); }

/// Whether this process may ask for a fence on all its processors.
bool can_revoke() {
#ifdef LAPWING_THREAD_SANITIZER
    return false; // it does not know membarrier
#endif
    static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    return registered;
}

} // namespace

bool BiasedMutex::claim() {
    if (revoked_.load(std::memory_order_acquire)) return false;
    const void* nobody = nullptr;
    if (can_revoke() && owner_.compare_exchange_strong(nobody, this_thread(), std::memory_order_relaxed))
        return enter();
    revoke();
    return false;
}

void BiasedMutex::wait_for_owner() noexcept {
    while (entered_.load(std::memory_order_acquire)) sched_yield();
}

void BiasedMutex::revoke() {
    const std::lock_guard guard{mutex_};
    if (revoked_.load(std::memory_order_relaxed)) return;
    const void* nobody = nullptr;
    owner_.compare_exchange_strong(nobody, this, std::memory_order_relaxed); // nobody can get the bias any more
    revoked_.store(true, std::memory_order_release);
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

} // namespace lapwing::detail::support
