#pragma once

#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::upc {

/// Where a lock is: a thread, and an offset in its part of the heap; and the generation, which distinguishes
/// successive locks at the same place.
struct LockPlace {
    int thread = 0;
    std::uint64_t address = 0;
    std::uint32_t generation = 0;

    friend bool operator==(const LockPlace&, const LockPlace&) = default;
};

/// What a lock is in memory.
struct LockWords {
    std::int64_t tail;  ///< 0: the lock is free; else the QueueLocks::name() of the last in the queue; or it is no
                        ///< lock any more: freed_tail
    std::uint64_t mark; ///< lock_mark() while it is a lock; else the last generation
};
inline constexpr std::int64_t freed_tail = -1;
[[nodiscard]] constexpr std::uint64_t lock_mark(std::uint32_t generation) noexcept {
    return std::uint64_t{0x43505531} << 32 | generation;
}
[[nodiscard]] constexpr bool is_lock_mark(std::uint64_t mark) noexcept { return mark >> 32 == 0x43505531; }
[[nodiscard]] constexpr std::uint32_t generation_of(std::uint64_t mark) noexcept {
    return static_cast<std::uint32_t>(mark);
}

/// This thread's queue locks, after Mellor-Crummey and Scott, "Algorithms for Scalable
/// Synchronization on Shared-Memory Multiprocessors" (1991). A lock is a word at its thread, so there may be as
/// many as the heap has room for; a waiting thread spins on a place in its own memory, of which it needs one for each
/// lock that it holds or waits for. Locks are granted in the order of the requests.
///
/// For one thread of the process. Cost: an atomic at the lock's thread to lock and to unlock; under contention,
/// one more each.
class QueueLocks {
public:
    /// The thread's places are the words of the `bytes` bytes from offset `places` of its part on, which must be
    /// zero.
    QueueLocks(Window& heap, std::uint64_t places, std::uint64_t bytes);

    /// Returns when this thread holds the lock. Later reads, also of the team's other windows, see what was
    /// completed before the previous unlock. False if the lock has been freed.
    [[nodiscard]] bool lock(const LockPlace& lock);
    enum class Attempt : std::uint8_t { done, taken, freed };
    [[nodiscard]] Attempt attempt(const LockPlace& lock);
    /// First completes this thread's writes, also to the team's other windows. The lock must be held. False if another
    /// thread has freed it meanwhile: then it is no longer held.
    [[nodiscard]] bool unlock(const LockPlace& lock);
    [[nodiscard]] bool holds(const LockPlace& lock) const noexcept;
    /// Frees it, whoever holds it. False, and nothing is done, if this thread holds it and others
    /// wait for it.
    [[nodiscard]] bool retire(const LockPlace& lock);
    /// This thread no longer holds it, if it did: another thread retires it.
    void forget(const LockPlace& lock);
    /// Whether the word beside its tail says that it is this lock. An atomic at its thread.
    [[nodiscard]] bool is_lock(const LockPlace& lock);

private:
    /// A thread's place in a queue.
    struct Words {
        std::int64_t next; ///< the name of the next place in the queue, or 0
        std::int64_t
            waiting; ///< 1 until the lock is passed on to it, then 0; or lock_freed, if there is no lock any more
    };
    static constexpr std::int64_t lock_freed = 2;
    /// A lock, and the place of this thread in its queue.
    struct Held {
        LockPlace lock;
        std::uint64_t place;
    };

    /// A thread's place as one number other than 0.
    [[nodiscard]] static std::int64_t name(int thread, std::uint64_t place) noexcept {
        return static_cast<std::int64_t>((static_cast<std::uint64_t>(thread) + 1) << 32 | place);
    }
    [[nodiscard]] std::uint64_t take_place(const LockPlace& lock);
    [[nodiscard]] std::uint64_t offset(std::uint64_t place) const noexcept { return places_ + place * sizeof(Words); }
    /// Where a word of a thread's part is; null if it takes an atomic of the window. The processor's atomics are used
    /// if all threads are on one node, or if all atomics on the heap are the processor's and the word is in reach.
    [[nodiscard]] std::int64_t* word(int thread, std::uint64_t address) const noexcept;
    [[nodiscard]] std::int64_t load(int thread, std::uint64_t address);
    void store(int thread, std::uint64_t address, std::int64_t value);
    [[nodiscard]] std::int64_t swap(int thread, std::uint64_t address, std::int64_t value);
    [[nodiscard]] std::int64_t compare_swap(int thread, std::uint64_t address, std::int64_t expected,
                                            std::int64_t desired);
    /// Before the atomic that passes a lock on, and after the one that has given it to this thread: for all windows of
    /// the team.
    void release();
    void acquire();
    /// A word of the place with this name.
    void write(std::int64_t name, std::uint64_t word, std::int64_t value);
    /// Waits until `done` accepts a word of one of this thread's places, and returns it.
    template <class Done>
    std::int64_t wait_for(std::uint64_t place, std::uint64_t word, Done done);

    Window& heap_;
    bool one_node_;
    bool processor_atomics_; ///< on words that are in reach
    int thread_;
    std::uint64_t places_;
    std::vector<std::uint64_t> free_places_;
    std::vector<Held> held_; ///< few; the last one is mostly the next to be unlocked
};

/// Runs a step while holding one of the runtime's own locks, which nobody frees.
template <class Step>
auto under_lock(QueueLocks& locks, const LockPlace& lock, Step&& step) {
    static_cast<void>(locks.lock(lock));
    try {
        auto result = step();
        static_cast<void>(locks.unlock(lock));
        return result;
    } catch (...) {
        try {
            if (locks.holds(lock)) static_cast<void>(locks.unlock(lock));
        } catch (...) { // the first error is the cause
        }
        throw;
    }
}

} // namespace lapwing::upc
