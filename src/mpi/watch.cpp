#include "src/mpi/watch.hpp"

#include "src/mpi/watched_call.hpp"

#include <mutex>
#include <utility>

namespace lapwing::detail::mpi {

Watch::Watch(std::chrono::milliseconds longest, std::function<void()> late)
    : thread_{started_thread([this, longest, late = std::move(late)] {
          std::unique_lock guard{mutex_};
          if (changed_.wait_for(guard, longest, [this] { return ended_; })) return;
          guard.unlock();
          late();
      })} {}

Watch::~Watch() {
    if (!thread_) return;
    {
        const std::lock_guard guard{mutex_};
        ended_ = true;
    }
    changed_.notify_one();
    thread_->join();
}

} // namespace lapwing::detail::mpi
