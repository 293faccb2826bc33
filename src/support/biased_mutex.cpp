#include "src/support/biased_mutex.hpp"

#include "src/support/process_fence.hpp"

#include <sched.h>

namespace lapwing::detail::support {

bool BiasedMutex::claim() {
    const void* nobody = nullptr;
    if (owner_.load(std::memory_order_relaxed) != nobody) return false;
    // Without a fence of all threads the mutex is its own owner: no thread gets the bias.
    const void* const owner = can_fence_all_threads() ? this_thread() : this;
    if (!owner_.compare_exchange_strong(nobody, owner, std::memory_order_relaxed)) return false;
    return owner == this_thread() && enter();
}

void BiasedMutex::revoke_or_restore() {
    constexpr unsigned many = 1024; // cost more than revoking it once more
    const void* const owner = owner_.load(std::memory_order_relaxed);
    if (owner == this_thread()) {
        // What other threads did with the mutex held, this one has seen: it holds it, too.
        if (++locks_of_owner_ == many) revoked_.store(false, std::memory_order_relaxed);
        return;
    }
    locks_of_owner_ = 0;
    if (owner == this || revoked_.load(std::memory_order_relaxed)) return;
    revoked_.store(true, std::memory_order_release);
    fence_all_threads();
}

void BiasedMutex::wait_for_owner() noexcept {
    while (entered_.load(std::memory_order_acquire)) sched_yield();
}

} // namespace lapwing::detail::support
