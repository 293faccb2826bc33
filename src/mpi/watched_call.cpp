#include "src/mpi/watched_call.hpp"

#include "src/support/mutex.hpp"
#include "src/support/signals_blocked.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace lapwing::detail::mpi {
namespace {

std::atomic<int> abandoned{0};

} // namespace

int abandoned_calls() noexcept { return abandoned.load(std::memory_order_acquire); }

bool ends_within(std::chrono::milliseconds longest, std::function<void()> work) {
    struct Shared {
        support::Mutex mutex{support::LockRank::leaf};
        std::condition_variable_any ended;
        bool done = false;
        bool abandoned = false;
        std::exception_ptr failure;
        std::function<void()> work;
    };
    const auto shared = std::make_shared<Shared>(); // may outlive this call
    shared->work = std::move(work);
    try {
        const support::SignalsBlocked blocked;
        std::thread{[shared] {
            std::exception_ptr failure;
            try {
                shared->work();
            } catch (...) {
                failure = std::current_exception();
            }
            shared->work = {}; // gone before its end is reported
            const std::lock_guard guard{shared->mutex};
            shared->failure = failure;
            shared->done = true;
            if (shared->abandoned) abandoned.fetch_sub(1, std::memory_order_release);
            shared->ended.notify_one();
        }}.detach();
    } catch (const std::system_error&) {
        // No more threads can be started here; but the other ranks have begun.
        shared->work();
        return true;
    }
    std::unique_lock guard{shared->mutex};
    if (!shared->ended.wait_for(guard, longest, [&] { return shared->done; })) {
        shared->abandoned = true;
        abandoned.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    if (shared->failure) std::rethrow_exception(shared->failure);
    return true;
}

std::optional<std::thread> started_thread(std::function<void()> work) {
    try {
        const support::SignalsBlocked blocked;
        return std::thread{std::move(work)};
    } catch (const std::system_error&) {
        return std::nullopt;
    }
}

} // namespace lapwing::detail::mpi
