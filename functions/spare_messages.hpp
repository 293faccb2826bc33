#pragma once

#include "functions/outbox.hpp"
#include "src/support/mutex.hpp"

#include <cstddef>
#include <deque>
#include <memory>

namespace lapwing::detail::functions {

/// Memory of messages that have left, for the next ones. For any thread.
class SpareMessages {
public:
    static constexpr std::size_t most_bytes = std::size_t{512} << 10;

    /// One of exactly so many bytes, which hold anything.
    [[nodiscard]] std::shared_ptr<Outgoing> take(std::size_t bytes);
    /// Frees it where there is no room, and those that came first to make some.
    void give_back(std::shared_ptr<Outgoing> message);

    [[nodiscard]] std::size_t bytes();

private:
    support::Mutex mutex_{support::LockRank::leaf};
    std::deque<std::shared_ptr<Outgoing>> spare_; ///< in the order in which they came
    std::size_t bytes_ = 0;
};

} // namespace lapwing::detail::functions
