#pragma once

#include <lapwing/rank.hpp>
#include <lapwing/team.hpp>
#include <lapwing/window.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

namespace lapwing::window {

/// The inside of a Lock: the queue lock of Mellor-Crummey and Scott (1991) in a window. Ranks are stored plus one, so that 0
/// means nobody.
class LockState {
public:
    LockState(Team& team, Rank home);
    /// Says so when the lock is held, and passes it on unless an exception ends the scope: then the lock goes down with its
    /// holder, which leaves the team.
    ~LockState();
    LockState(const LockState&) = delete;
    LockState& operator=(const LockState&) = delete;

    void lock();
    bool try_lock();
    void unlock();
    [[nodiscard]] bool held() const noexcept { return holder_.load(std::memory_order_relaxed) != std::thread::id{}; }
    void close();

    /// The rank that asked last for the lock, which nobody has behind it; -1 while the lock is free. For tests.
    [[nodiscard]] int last_in_queue() { return static_cast<int>(window_.atomic_read<std::int64_t>(home_, tail) - 1); }

private:
    struct Entry {
        std::int64_t tail;    ///< at the home rank: the last in the queue
        std::int64_t next;    ///< who waits for this rank
        std::int64_t waiting; ///< this rank waits for the one before it
    };
    static constexpr Offset tail{offsetof(Entry, tail)};
    static constexpr Offset next{offsetof(Entry, next)};
    static constexpr Offset waiting{offsetof(Entry, waiting)};

    [[nodiscard]] std::int64_t own() const noexcept { return team_.rank().value + 1; }
    [[nodiscard]] std::int64_t own_word(Offset word) const;
    [[nodiscard]] bool held_by_this_thread() const noexcept {
        return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
    /// An operation on the queue's memory at `rank`, on behalf of `call`, which is what errors speak of.
    template <class Step>
    auto at(Rank rank, const char* call, Step&& step);
    /// This rank has the lock: `turn` stays with the thread until it unlocks.
    void take(std::unique_lock<std::mutex>& turn);
    void passed_on();

    Team& team_;
    Rank home_;
    Window window_;
    std::mutex turn_; ///< of this rank's threads: a rank has one entry in the queue
    std::atomic<std::thread::id> holder_{};
    int exceptions_at_start_ = std::uncaught_exceptions(); ///< to know an unwinding stack in the destructor
};

} // namespace lapwing::window
