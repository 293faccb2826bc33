#include "src/support/biased_mutex.hpp"

#include "src/support/process_fence.hpp"

#include <sched.h>

namespace lapwing::detail::support {

bool BiasedMutex::claim() {
    if (revoked_.load(std::memory_order_acquire)) return false;
    const void* nobody = nullptr;
    if (can_fence_all_threads() && owner_.compare_exchange_strong(nobody, this_thread(), std::memory_order_relaxed))
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
    fence_all_threads();
}

} // namespace lapwing::detail::support
