#include "src/mpi/watched_call.hpp"

#include "src/support/signals_blocked.hpp"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace lapwing::mpi {

bool ends_within(std::chrono::milliseconds longest, std::function<void()> work) {
    struct Shared {
        std::mutex mutex;
        std::condition_variable ended;
        bool done = false;
        std::exception_ptr failure;
    };
    const auto shared = std::make_shared<Shared>(); // may outlive this call
    {
        const support::SignalsBlocked blocked;
        std::thread{[shared, work = std::move(work)]() mutable {
            std::exception_ptr failure;
            try {
                work();
            } catch (...) {
                failure = std::current_exception();
            }
            work = {}; // gone before its end is told
            const std::lock_guard guard{shared->mutex};
            shared->failure = failure;
            shared->done = true;
            shared->ended.notify_one();
        }}.detach();
    }
    std::unique_lock guard{shared->mutex};
    if (!shared->ended.wait_for(guard, longest, [&] { return shared->done; })) return false;
    if (shared->failure) std::rethrow_exception(shared->failure);
    return true;
}

} // namespace lapwing::mpi
