// Room: upc
#pragma once

#include <lapwing/upc.h>
#include <lapwing/upc/program.hpp>

namespace lapwing::upc {

/// upc_barrier: collective. This thread's writes are complete before it, and those of all threads are seen after it.
inline void barrier() { lapwing_upc_barrier(nullptr); }
/// With a name: a different one on another thread is an error on all.
inline void barrier(int name) { lapwing_upc_barrier(&name); }
/// upc_notify and upc_wait: a split-phase barrier, with work between them that needs no other thread.
inline void notify() { lapwing_upc_notify(nullptr); }
/// As above.
inline void notify(int name) { lapwing_upc_notify(&name); }
/// As above.
inline void wait() { lapwing_upc_wait(nullptr); }
/// As above.
inline void wait(int name) { lapwing_upc_wait(&name); }
/// upc_fence: local call. This thread's writes are complete, and later reads see what other threads completed before.
inline void fence() { lapwing_upc_fence(); }

/// `upc_lock_t* lock = upc_all_lock_alloc()`, freed at the end of its scope: both collective. Satisfies the standard's
/// Lockable.
class Lock {
public:
    Lock() : lock_{lapwing_upc_all_lock_alloc()} {}
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    /// Collective. If it may be running because of an exception on this thread alone, nothing is freed.
    ~Lock() {
        if (!collective_.unwinds()) lapwing_upc_all_lock_free(lock_);
    }

    /// upc_lock, upc_lock_attempt, upc_unlock.
    void lock() { lapwing_upc_lock(lock_); }
    /// As above.
    [[nodiscard]] bool try_lock() { return lapwing_upc_lock_attempt(lock_) != 0; }
    /// As above.
    void unlock() { lapwing_upc_unlock(lock_); }

private:
    detail::CollectiveLifetime collective_;
    lapwing_upc_pointer lock_;
};

/// `upc_lock_t*`: a lock by its place, which may be copied, and stored in shared memory. Made by one thread, or by all
/// together.
class LockPointer {
public:
    /// Null.
    LockPointer() noexcept = default;
    explicit LockPointer(const lapwing_upc_pointer& pointer) noexcept : pointer_{pointer} {}
    /// upc_all_lock_alloc, collective: one lock, at thread 0.
    [[nodiscard]] static LockPointer all_alloc() { return LockPointer{lapwing_upc_all_lock_alloc()}; }
    /// upc_global_lock_alloc: at the calling thread.
    [[nodiscard]] static LockPointer global_alloc() { return LockPointer{lapwing_upc_global_lock_alloc()}; }
    /// upc_lock_free, by any thread; and upc_all_lock_free, collective.
    void free() { lapwing_upc_lock_free(pointer_); }
    /// As above.
    void all_free() { lapwing_upc_all_lock_free(pointer_); }

    /// upc_lock, upc_lock_attempt, upc_unlock.
    void lock() const { lapwing_upc_lock(pointer_); }
    /// As above.
    [[nodiscard]] bool try_lock() const { return lapwing_upc_lock_attempt(pointer_) != 0; }
    /// As above.
    void unlock() const { lapwing_upc_unlock(pointer_); }
    [[nodiscard]] explicit operator bool() const noexcept { return pointer_.address != 0; }

private:
    lapwing_upc_pointer pointer_{};
};

} // namespace lapwing::upc
