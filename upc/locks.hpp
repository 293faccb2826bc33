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

/// upc_lock_t: locks in the shared heap. A thread takes memory for many at a time, so that most are made and freed
/// without anything but their own two words. `call` is the name in messages. Throws UsageError for what is no lock, and
/// wrong uses of one.
class Locks {
public:
    explicit Locks(ProgramState& program) : program_{program} {}

    /// The queues that the locks are made of, also those inside the runtime.
    [[nodiscard]] QueueLocks& queues();

    /// The pointer's phase is the generation of the lock at its place.
    [[nodiscard]] lapwing_upc_pointer allocate();
    /// Collective.
    [[nodiscard]] lapwing_upc_pointer allocate_together();
    /// Whether it is held or not.
    void free(const char* call, const lapwing_upc_pointer& lock);
    /// Collective.
    void free_together(const lapwing_upc_pointer& lock);
    void lock(const lapwing_upc_pointer& lock);
    [[nodiscard]] bool attempt(const lapwing_upc_pointer& lock);
    void unlock(const lapwing_upc_pointer& lock);

private:
    /// A run of locks in the own part.
    struct Slab {
        std::uint64_t begin;
        std::uint64_t locks;
    };
    /// Throws where no lock is, as far as the thread has not seen it before.
    [[nodiscard]] LockPlace place(const char* call, const lapwing_upc_pointer& lock);
    [[noreturn]] void throw_no_lock(const char* call, const lapwing_upc_pointer& lock) const;
    /// Behind so many attempts in a row that have failed: gives up the processor, and lets others have their answers,
    /// for longer and longer.
    void pause(std::uint32_t failures);
    /// Finds places that were freed, by whomever, or makes new ones.
    void find_places();

    ProgramState& program_;
    std::optional<QueueLocks> queues_;
    std::vector<Slab> slabs_;
    std::vector<std::uint64_t> free_places_; ///< in the own part
    /// Locks whose words this thread has seen to be those of a lock: the look is a round trip.
    static constexpr std::size_t most_seen = 256;
    std::array<LockPlace, most_seen> seen_{};
    std::uint32_t failed_attempts_ = 0; ///< in a row
};

} // namespace lapwing::upc
