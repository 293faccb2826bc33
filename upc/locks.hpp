#pragma once

#include "upc/queue_lock.hpp"

#include <lapwing/upc.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace lapwing::upc {

class ProgramState;

/// upc_lock_t: locks in the shared heap. A thread allocates memory for many at a time, so that most locks are made and
/// freed by accessing only their own two words. `call` is the name in messages. Throws UsageError for what is not a
/// lock, and for incorrect use of one.
class Locks {
public:
    explicit Locks(ProgramState& program) : program_{program} {}

    /// The queues that implement the locks, including the runtime's own locks.
    [[nodiscard]] QueueLocks& queues();

    /// The pointer's phase is the generation of the lock at its place.
    [[nodiscard]] lapwing_upc_pointer allocate();
    /// Collective.
    [[nodiscard]] lapwing_upc_pointer allocate_together();
    /// Works whether the lock is held or not.
    void free(const char* call, const lapwing_upc_pointer& lock);
    /// Collective.
    void free_together(const lapwing_upc_pointer& lock);
    void lock(const lapwing_upc_pointer& lock);
    [[nodiscard]] bool attempt(const lapwing_upc_pointer& lock);
    void unlock(const lapwing_upc_pointer& lock);

private:
    /// A run of locks in this thread's part.
    struct Slab {
        std::uint64_t begin;
        std::uint64_t locks;
    };
    /// Throws if there is no lock, unless the thread has seen it before.
    [[nodiscard]] LockPlace place(const char* call, const lapwing_upc_pointer& lock);
    [[noreturn]] void throw_no_lock(const char* call, const lapwing_upc_pointer& lock) const;
    /// Finds freed places, whoever freed them, or makes new ones.
    void find_places();

    ProgramState& program_;
    std::optional<QueueLocks> queues_;
    std::vector<Slab> slabs_;
    std::vector<std::uint64_t> free_places_; ///< in this thread's part
    /// Locks that this thread has seen to exist: to check takes a round trip.
    static constexpr std::size_t most_seen = 256;
    std::array<LockPlace, most_seen> seen_{};
    std::uint32_t failed_attempts_ = 0;                ///< in a row
    static constexpr std::uint32_t longest_pause = 10; ///< between attempts, in doublings
};

} // namespace lapwing::upc
