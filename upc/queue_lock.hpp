#pragma once

#include <lapwing/window.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::upc {

/// Where a lock is: a thread, and an offset in its part of the heap.
struct LockPlace {
    int thread = 0;
    std::uint64_t address = 0;

    friend bool operator==(const LockPlace&, const LockPlace&) = default;
};

/// What a lock is in memory. Zero: free.
struct LockWords {
    std::int64_t tail;  ///< who asked last, as QueueLocks::name() has it
    std::uint64_t mark; ///< lock_mark while it is one
};
inline constexpr std::uint64_t lock_mark = 0x6b636f4c'43505531U;

/// The locks that this thread asks for: queue locks of Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on Shared-Memory
/// Multiprocessors" (1991). A lock is a word at its thread, so that there may be as many as the heap holds; whoever asks waits at a place of its
/// own memory, of which it needs one for each lock that it holds or waits for. They are granted in the order of the requests.
///
/// For one thread of the process. Cost: an atomic at the lock's thread to lock and to unlock; while another holds it, one more each.
class QueueLocks {
public:
    /// The thread's places are the words from offset `places` of its part on, as many as `bytes` has; they must be zero.
    QueueLocks(Window& heap, std::uint64_t places, std::uint64_t bytes);

    /// Returns when this thread holds the lock; behind it reads see what was completed before the unlock of the one before.
    void lock(const LockPlace& lock);
    [[nodiscard]] bool attempt(const LockPlace& lock);
    /// Completes own writes first. The lock must be held.
    void unlock(const LockPlace& lock);
    [[nodiscard]] bool holds(const LockPlace& lock) const noexcept;
    /// Whether nobody holds the lock, or waits for it, as far as can be seen.
    [[nodiscard]] bool is_free(const LockPlace& lock);

private:
    /// A thread's place in a queue.
    struct Words {
        std::int64_t next;    ///< the name of the place behind it, or 0
        std::int64_t waiting; ///< 1 until the lock is passed on to it
    };
    /// A lock, and the place of this thread in its queue.
    struct Held {
        LockPlace lock;
        std::uint64_t place;
    };

    /// A place of a thread's as one number, which is not 0.
    [[nodiscard]] static std::int64_t name(int thread, std::uint64_t place) noexcept {
        return static_cast<std::int64_t>((static_cast<std::uint64_t>(thread) + 1) << 32 | place);
    }
    [[nodiscard]] std::uint64_t take_place(const LockPlace& lock);
    [[nodiscard]] std::uint64_t offset(std::uint64_t place) const noexcept { return places_ + place * sizeof(Words); }
    // Atomics on a word of a thread's part. Where all threads are on one node nobody else's atomics meet them, and they are the processor's.
    [[nodiscard]] std::atomic_ref<std::int64_t> word(int thread, std::uint64_t address) const noexcept;
    [[nodiscard]] std::int64_t load(int thread, std::uint64_t address);
    void store(int thread, std::uint64_t address, std::int64_t value);
    [[nodiscard]] std::int64_t swap(int thread, std::uint64_t address, std::int64_t value);
    [[nodiscard]] std::int64_t compare_swap(int thread, std::uint64_t address, std::int64_t expected, std::int64_t desired);
    /// Behind the atomic that has given this thread a lock.
    void acquire();
    /// A word of the place that a name stands for.
    void write(std::int64_t name, std::uint64_t word, std::int64_t value);
    /// Waits until a word of an own place is what `done` wants, and returns it.
    template <class Done>
    std::int64_t wait_for(std::uint64_t place, std::uint64_t word, Done done);

    Window& heap_;
    bool one_node_;
    int thread_;
    std::uint64_t places_;
    std::vector<std::uint64_t> free_places_;
    std::vector<Held> held_; ///< few, the last one most often the next that is unlocked
};

/// Does a step while the lock is held.
template <class Step>
auto under_lock(QueueLocks& locks, const LockPlace& lock, Step&& step) {
    locks.lock(lock);
    try {
        auto result = step();
        locks.unlock(lock);
        return result;
    } catch (...) {
        try {
            if (locks.holds(lock)) locks.unlock(lock);
        } catch (...) { // the first one is the cause
        }
        throw;
    }
}

} // namespace lapwing::upc
