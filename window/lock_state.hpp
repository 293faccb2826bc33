#pragma once

#include "window/lock_table.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/team.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>

namespace lapwing::detail::window {

/// The inside of a Lock: a queue of ranks. A word at the home rank names the last of them. Each waits for the one
/// before it.
///
/// Between nodes it is the queue lock of Mellor-Crummey and Scott (1991): a rank that comes notifies the rank before
/// it, which passes the lock on by a write to a word at the waiting rank. On one node it is the lock of Craig (1993),
/// and of Magnusson, Landin and Hagersten (1994): a rank that comes watches a word of the rank before it, in shared
/// memory, so that no rank need know which comes next. The lock then changes hands by one store, and no message.
class LockState {
public:
    LockState(Team& team, Rank home);
    /// If the lock is held, reports it, and passes the lock on; unless an exception ends the scope: then the lock is
    /// lost with its holder, which leaves the team.
    ~LockState();
    LockState(const LockState&) = delete;
    LockState& operator=(const LockState&) = delete;

    void lock();
    bool try_lock();
    void unlock();
    [[nodiscard]] bool held() const noexcept { return holder_.load(std::memory_order_relaxed) != std::thread::id{}; }
    void close();

    /// The rank that asked last for the lock, so that none waits after it; -1 while the lock is free. For tests.
    [[nodiscard]] Rank last_in_queue();

private:
    /// A rank's words. Rank numbers are stored plus one, so that 0 means none.
    struct Words {
        /// At the home rank: the last rank in the queue, with its ticket on one node.
        std::int64_t tail;
        std::int64_t padding[7];
        std::int64_t next;    ///< between nodes: who waits for this rank
        std::int64_t waiting; ///< between nodes: this rank waits for the one before it
        std::int64_t passed;  ///< on one node: the last of its tickets that this rank has given up
    };
    static_assert(sizeof(Words) <= LockTable::slot_bytes);
    static constexpr std::uint64_t tail = offsetof(Words, tail);
    static constexpr std::uint64_t next = offsetof(Words, next);
    static constexpr std::uint64_t waiting = offsetof(Words, waiting);
    static constexpr std::uint64_t passed = offsetof(Words, passed);
    /// A ticket of a rank, as the tail names it: the number of the ticket, modulo 2^32, and the rank. A rank asks again
    /// only after those that wait for it, so `passed` stays at a ticket until they have seen it.
    [[nodiscard]] static constexpr std::int64_t ticket_of(std::int64_t rank_plus_one, std::uint32_t number) noexcept {
        return static_cast<std::int64_t>(std::uint64_t{number} << 32) | rank_plus_one;
    }
    [[nodiscard]] static constexpr std::uint32_t number_of(std::int64_t ticket) noexcept {
        return static_cast<std::uint32_t>(static_cast<std::uint64_t>(ticket) >> 32);
    }
    [[nodiscard]] static constexpr Rank rank_of(std::int64_t ticket) noexcept {
        return Rank{static_cast<int>(ticket & 0xFFFFFFFF) - 1};
    }

    [[nodiscard]] std::int64_t own() const noexcept { return state_.rank() + 1; }
    [[nodiscard]] bool held_by_this_thread() const noexcept {
        return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
    /// A word in memory that this rank can load and store.
    [[nodiscard]] std::atomic_ref<std::int64_t> word(Rank rank, std::uint64_t word) const noexcept;
    /// Whether the ticket has been given up. On one node.
    [[nodiscard]] bool is_over(std::int64_t ticket) const noexcept;
    [[nodiscard]] std::int64_t next_ticket() const noexcept;
    /// The same for the word of any rank, by the path of the block's atomics.
    [[nodiscard]] std::int64_t swap(Rank rank, std::uint64_t word, std::int64_t value,
                                    mpi::AtomicOperation operation = mpi::AtomicOperation::replace);
    [[nodiscard]] std::int64_t compare_swap(std::uint64_t word, std::int64_t expected, std::int64_t desired);
    void write(Rank rank, std::uint64_t word, std::int64_t value) { static_cast<void>(swap(rank, word, value)); }
    /// Waits for what another rank's hand-over changes.
    template <class Done>
    void wait_for_hand_over(Done&& done, const char* call);
    /// An operation on the queue's memory at `rank`, on behalf of `call`, whose name errors give.
    template <class Step>
    auto at(Rank rank, const char* call, Step&& step);
    /// This rank's only place in the queue: for the scope of a thread's call, or until the thread unlocks.
    class Place {
    public:
        explicit Place(LockState& lock) noexcept : lock_{lock} { ask(); }
        ~Place() {
            if (got_) lock_.place_taken_.store(false, std::memory_order_release);
        }
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;
        bool ask() noexcept { return got_ = got_ || !lock_.place_taken_.exchange(true, std::memory_order_acquire); }
        [[nodiscard]] bool got() const noexcept { return got_; }
        void keep() noexcept { got_ = false; }

    private:
        LockState& lock_;
        bool got_ = false;
    };
    /// This rank has the lock: the place stays with the thread until it unlocks.
    void take(Place& place);
    /// What try_lock() returns when it has found `before` in the lock's word. Throws PeerLeftError when that may stay
    /// so for ever.
    bool not_taken(std::int64_t before, const char* call);
    /// To the rank that waits longest, if any does.
    void hand_over(const char* call);
    void passed_on();
    /// Collective: gives the slot back.
    void end();

    team::TeamState& state_;
    Rank home_;
    bool one_node_;
    LockTable& table_;
    LockSlot slot_;
    bool open_ = true;
    std::atomic<bool> place_taken_{false}; ///< by one of this rank's threads
    std::atomic<std::thread::id> holder_{};
    int exceptions_at_start_ = std::uncaught_exceptions(); ///< to know an unwinding stack in the destructor
};

} // namespace lapwing::detail::window
