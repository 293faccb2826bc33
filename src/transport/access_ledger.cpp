#include "src/transport/access_ledger.hpp"

namespace lapwing::detail::transport {

std::vector<Rank> AccessLedger::ranks_of_adds() const {
    std::vector<Rank> ranks;
    sent_adds_.for_each_written_rank([&](Rank rank) { ranks.push_back(rank); });
    return ranks;
}

void AccessLedger::complete(Rank target, Versions versions) noexcept {
    LAPWING_ASSERT(versions.messages <= messages_started_.load(std::memory_order_relaxed));
    if (target != any_rank) {
        outstanding_.complete(target, versions.transfers);
        if (!sent_adds_.empty()) sent_adds_.complete(target, versions.adds);
        std::uint64_t last = last_message_[place(target)].load(std::memory_order_relaxed);
        if (last <= versions.messages && static_cast<std::size_t>(facts_.state.size()) <= places)
            last_message_[place(target)].compare_exchange_strong(last, 0, std::memory_order_relaxed);
        return;
    }
    outstanding_.complete(versions.transfers);
    sent_adds_.complete(versions.adds);
    if (messages_complete_.load(std::memory_order_relaxed) < versions.messages)
        messages_complete_.store(versions.messages, std::memory_order_release);
    LAPWING_ASSERT(messages_complete_.load(std::memory_order_relaxed) <=
                   messages_started_.load(std::memory_order_relaxed));
}

void AccessLedger::remove(WindowTransfer& transfer) noexcept {
    const support::BiasedMutex::Guard guard{mutex_};
    if (transfer.is_linked()) transfers_.erase(transfers_.iterator_to(transfer));
    outstanding_.finish_read(&transfer);
}

void AccessLedger::end_transfers(void (WindowTransfer::*end)()) {
    for (;;) {
        WindowTransfer* transfer = nullptr;
        {
            const support::BiasedMutex::Guard guard{mutex_};
            if (transfers_.empty()) return;
            transfer = &transfers_.front();
            transfers_.pop_front();
        }
        (transfer->*end)();
    }
}

} // namespace lapwing::detail::transport
