#include "functions/outbox.hpp"

namespace lapwing::detail::functions {

Outbox::~Outbox() {
    // MPI may still read what a rank that leaves has not sent to the end.
    static auto& for_ever = *new std::vector<std::shared_ptr<Outgoing>>;
    for (const auto& outgoing : leaving_) {
        if (outgoing->operation.done()) continue;
        team_.engine().abandon(outgoing->operation);
        for_ever.push_back(outgoing);
    }
}

bool Outbox::try_call(Rank target, messages::HandlerNumber number, const std::shared_ptr<Outgoing>& outgoing) {
    if (!team_.engine().locked().try_call(outgoing->operation, target, number, outgoing->message)) return false;
    keep_until_left(outgoing);
    return true;
}

void Outbox::send_on() {
    std::erase_if(leaving_, [](const auto& outgoing) { return outgoing->operation.done(); });
    if (queues_.empty()) return;
    // What is sent to this rank itself runs at once, and may send more.
    std::vector<int> targets;
    targets.reserve(queues_.size());
    for (const auto& [target, queue] : queues_) targets.push_back(target);
    for (const int target : targets) {
        std::deque<Kept>& queue = queues_[target];
        for (std::size_t left = queue.size(); left > 0; --left) {
            Kept kept = std::move(queue.front());
            queue.pop_front();
            kept_bytes_ -= kept.bytes;
            if (kept.send()) continue;
            kept_bytes_ += kept.bytes;
            queues_[target].push_front(std::move(kept));
            break;
        }
        if (queues_[target].empty()) queues_.erase(target);
    }
}

} // namespace lapwing::detail::functions
