#include "functions/outbox.hpp"

#include <vector>

namespace lapwing::detail::functions {

void Outbox::send_on() {
    if (queues_.empty()) return;
    // What is sent to this rank itself runs at once, and may send more.
    std::vector<int> targets;
    targets.reserve(queues_.size());
    for (const auto& [target, queue] : queues_) targets.push_back(target);
    for (const int target : targets) {
        std::deque<Send>& queue = queues_[target];
        for (std::size_t left = queue.size(); left > 0; --left) {
            const Send send = std::move(queue.front());
            queue.pop_front();
            if (send()) continue;
            queues_[target].push_front(send);
            break;
        }
        if (queues_[target].empty()) queues_.erase(target);
    }
}

} // namespace lapwing::detail::functions
