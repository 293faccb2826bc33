#include "functions/spare_messages.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace lapwing::detail::functions {

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
    const std::size_t bytes = message->message.size();
    if (bytes > most_bytes) return;
    const std::lock_guard guard{mutex_};
    for (; bytes_ + bytes > most_bytes; spare_.pop_front()) bytes_ -= spare_.front()->message.size();
    spare_.push_back(std::move(message));
    bytes_ += bytes;
}

std::size_t SpareMessages::bytes() {
    const std::lock_guard guard{mutex_};
    return bytes_;
}

} // namespace lapwing::detail::functions
