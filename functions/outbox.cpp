#include "functions/outbox.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace lapwing::detail::functions {
namespace {

constexpr std::size_t most_spare_bytes = std::size_t{512} << 10;

} // namespace

Outbox::~Outbox() {
    // MPI may still read what a rank that leaves has not sent to the end.
    static auto& for_ever = *new std::vector<std::shared_ptr<Outgoing>>;
    for (const auto& outgoing : leaving_) {
        if (outgoing->operation.done()) continue;
        team_.engine().abandon(outgoing->operation);
        for_ever.push_back(outgoing);
    }
}

std::shared_ptr<Outgoing> SpareMessages::take(std::size_t bytes) {
    {
        const std::lock_guard guard{mutex_};
        const auto has_size = [bytes](const auto& message) { return message->message.size() == bytes; };
        const auto found = std::find_if(spare_.rbegin(), spare_.rend(), has_size);
        if (found != spare_.rend()) {
            std::shared_ptr<Outgoing> message = std::move(*found);
            spare_.erase(std::next(found).base());
            bytes_ -= bytes;
            return message;
        }
    }
    return std::make_shared<Outgoing>(std::vector<std::byte>(bytes));
}

void SpareMessages::give_back(std::shared_ptr<Outgoing> message) {
    const std::lock_guard guard{mutex_};
    bytes_ += message->message.size();
    spare_.push_back(std::move(message));
    while (bytes_ > most_spare_bytes) {
        bytes_ -= spare_.front()->message.size();
        spare_.pop_front();
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
            if (!kept.send()) {
                queues_[target].push_front(std::move(kept));
                break;
            }
            kept_bytes_ -= kept.bytes;
        }
        if (queues_[target].empty()) queues_.erase(target);
    }
}

} // namespace lapwing::detail::functions
