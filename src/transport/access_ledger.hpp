#pragma once

#include "src/support/biased_mutex.hpp"
#include "src/transport/access.hpp"
#include "src/transport/outstanding_accesses.hpp"
#include "src/transport/window_facts.hpp"
#include "src/transport/window_transfer.hpp"

#include <lapwing/rank.hpp>

#include <boost/intrusive/list.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::detail::transport {

/// What a window has under way to other ranks: transports enter what they start, and a flush removes it.
class AccessLedger {
public:
    using Carrier = OutstandingAccesses::Carrier;
    static constexpr Rank any_rank{-1};

    explicit AccessLedger(WindowFacts& facts) noexcept : facts_{facts} {}
    AccessLedger(const AccessLedger&) = delete;
    AccessLedger& operator=(const AccessLedger&) = delete;

    [[nodiscard]] WindowFacts& facts() const noexcept { return facts_; }
    /// Guards the members below, unless they say otherwise. Taken before the engine's mutex, never after it.
    [[nodiscard]] support::BiasedMutex& mutex() noexcept { return mutex_; }

    /// Whether a later access may overtake a message of this size: messages of a pair of ranks stay in order by
    /// themselves, but bulk data moves on its own, and MPI's operations overtake both. Without the mutex.
    [[nodiscard]] bool may_be_overtaken(std::uint64_t message_bytes) const noexcept {
        return facts_.network == Path::rma || message_bytes > facts_.state.engine().inline_limit();
    }

    // What starts.
    /// `transfer`: the name of a read, which says when it is complete.
    void enter(const Access& access, const WindowTransfer* transfer, Carrier carrier) {
        if (access.writes()) outstanding_.add_write(access.target, access.offset, access.bytes, carrier);
        else outstanding_.add_read(access.target, access.offset, access.bytes, transfer, carrier);
    }
    void enter_adds(const Access& adds) {
        sent_adds_.add_write(adds.target, adds.offset, adds.bytes, Carrier::messages);
    }
    /// A non-blocking transfer, until remove().
    void enter(WindowTransfer& transfer) { transfers_.push_back(transfer); }
    /// A message has been given to the engine; with the mutex held if it is recorded under it, too. Not before: a flush
    /// by another thread in between would count it as complete.
    void count_message(Rank target) noexcept {
        // Release: a thread that counts it as started sees the engine busy with it, too.
        const std::uint64_t number = messages_started_.fetch_add(1, std::memory_order_release) + 1;
        last_message_[place(target)].store(number, std::memory_order_relaxed);
    }

    // What there is. The first three may be asked without the mutex: what a thread must wait for, it has seen before.
    [[nodiscard]] bool empty() const noexcept { return outstanding_.empty(); }
    [[nodiscard]] bool has_adds_that_may_be_overtaken() const noexcept {
        return facts_.network == Path::rma && !sent_adds_.empty();
    }
    [[nodiscard]] bool messages_under_way() const noexcept {
        // Acquire: this thread sees what another thread has completed, including this thread's gets.
        return messages_complete_.load(std::memory_order_acquire) != messages_started_.load(std::memory_order_relaxed);
    }
    /// Whether a message to this rank, or to one that shares its place, may be under way.
    [[nodiscard]] bool may_have_message(Rank target) const noexcept {
        return last_message_[place(target)].load(std::memory_order_relaxed) >
               messages_complete_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] bool full() const noexcept { return outstanding_.full(); }
    [[nodiscard]] bool full_of_adds() const noexcept { return sent_adds_.full(); }
    [[nodiscard]] bool conflicts(const Access& access) const noexcept {
        return outstanding_.conflicts(access.target, access.offset, access.bytes, access.writes());
    }
    [[nodiscard]] bool conflicts_with_adds(const Access& access) const noexcept {
        return has_adds_that_may_be_overtaken() &&
               sent_adds_.conflicts(access.target, access.offset, access.bytes, true);
    }
    [[nodiscard]] const OutstandingAccesses& outstanding() const noexcept { return outstanding_; }
    [[nodiscard]] bool touches(Rank target) const noexcept {
        return outstanding_.touches(target) || sent_adds_.touches(target);
    }
    [[nodiscard]] std::vector<Rank> ranks_of_adds() const;

    /// What was under way at a time: operations that other threads start later may not be complete when these are.
    struct Versions {
        std::uint64_t transfers = 0;
        std::uint64_t adds = 0;
        std::uint64_t messages = 0;
    };
    [[nodiscard]] Versions versions() const noexcept {
        return {outstanding_.version(), sent_adds_.version(), messages_started_.load(std::memory_order_acquire)};
    }
    /// Everything to `target`, or to any rank, that was under way then is complete.
    void complete(Rank target, Versions versions) noexcept;
    void complete_adds(Rank target, Versions versions) noexcept { sent_adds_.complete(target, versions.adds); }

    // Without the mutex:
    /// A transfer that is complete.
    void remove(WindowTransfer& transfer) noexcept;
    /// The window is about to be freed: removes all transfers and ends each with this.
    void end_transfers(void (WindowTransfer::*end)());

private:
    WindowFacts& facts_;
    support::BiasedMutex mutex_{support::LockRank::access_ledger};
    OutstandingAccesses outstanding_;
    /// Where messages with aggregated adds have gone: apart from the others, since adds do not wait for adds.
    OutstandingAccesses sent_adds_;
    /// Non-blocking transfers that are not known to be complete.
    boost::intrusive::list<WindowTransfer> transfers_;
    /// Messages to any rank that need a flush, and how many of them are known to be complete. On the path rma, too:
    /// notified puts, small transfers, and offsets that an adopted window's displacement units cannot express.
    std::atomic<std::uint64_t> messages_started_{0};
    std::atomic<std::uint64_t> messages_complete_{0};
    /// The number of the last message to a rank, so that a rank that leaves is reported only to windows that had
    /// something under way to it. Many ranks share a place.
    static constexpr std::size_t places = 64;
    [[nodiscard]] static std::size_t place(Rank target) noexcept {
        return static_cast<std::size_t>(target.value) % places;
    }
    std::array<std::atomic<std::uint64_t>, places> last_message_{};
};

} // namespace lapwing::detail::transport
