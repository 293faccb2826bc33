#pragma once

#include "src/support/mutex.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <optional>
#include <thread>

namespace lapwing::detail::mpi {

/// Runs `late` in a thread of its own, once, if it lives longer than `longest`. `late` makes no call of MPI, whatever
/// level of threads that has. If no thread can be started, it is never run.
class Watch {
public:
    Watch(std::chrono::milliseconds longest, std::function<void()> late);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

private:
    support::Mutex mutex_{support::LockRank::leaf};
    std::condition_variable_any changed_;
    bool ended_ = false;
    std::optional<std::thread> thread_;
};

} // namespace lapwing::detail::mpi
