#include "src/support/biased_mutex.hpp"

#include "src/support/process_fence.hpp"

#include <algorithm>

#include <sched.h>

namespace lapwing::detail::support {

namespace {

thread_local bool owns_none = false;

} // namespace

void BiasedMutex::own_none() noexcept { owns_none = true; }

bool BiasedMutex::claim() {
    const void* nobody = nullptr;
    if (owner_.load(std::memory_order_relaxed) != nobody || owns_none) return false;
    // Without a fence of all threads the mutex is its own owner: no thread gets the bias.
    const void* const owner = can_fence_all_threads() ? this_thread() : this;
    if (!owner_.compare_exchange_strong(nobody, owner, std::memory_order_relaxed)) return false;
    return owner == this_thread() && enter();
}

void BiasedMutex::revoke_or_restore() {
    constexpr unsigned most = 1U << 16;
    const void* const owner = owner_.load(std::memory_order_relaxed);
    if (owner == this_thread()) {
        // What other threads did with the mutex held, this one has seen: it holds it, too.
        if (++locks_of_owner_ == locks_to_bias_) revoked_.store(false, std::memory_order_relaxed);
        return;
    }
    locks_of_owner_ = 0;
    if (owner == this || revoked_.load(std::memory_order_relaxed)) return;
    // Where there is no owner, one may come at this moment.
    locks_to_bias_ = std::min(2 * locks_to_bias_, most);
    revoked_.store(true, std::memory_order_release);
    if (can_fence_all_threads()) fence_all_threads();
}

void BiasedMutex::wait_for_owner() noexcept {
    while (entered_.load(std::memory_order_acquire)) sched_yield();
}

} // namespace lapwing::detail::support
