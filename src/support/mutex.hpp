#pragma once

#include "src/support/assert.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <type_traits>

namespace lapwing::detail::support {

/// The order in which a thread takes mutexes: it may take one only if all that it holds come before it. So no two
/// threads ever wait for each other, whatever windows and teams they use. What each mutex guards, and the reason for
/// its place: docs/architecture.md, "The order of mutexes". A mutex that is taken only by try_lock waits for nobody,
/// and may be taken at any time.
enum class LockRank : std::uint8_t {
    mpi_use,           ///< held while MPI is initialised and finalized
    copy_registry,     ///< held while the copies beside a cache are notified
    prefetch_buffer,   ///< held while copies are filled
    chunked_transfers, ///< held while chunked transfers are moved on
    cache_registry,    ///< held while caches of ended threads are dropped
    cache,             ///< of one thread; held while the cache gets and puts
    gathered_adds,     ///< held while adds are sent
    access_ledger,     ///< held while an operation is started and entered
    flusher_start,     ///< held while a flusher is made
    flusher_list,      ///< held while the flushers of the process are listed, or stopped
    flusher,           ///< held while held writes are looked at
    team_registry,     ///< held during a round for other teams, and while MPI ends
    progress_start,    ///< held while the progress thread is started or joined
    progress_teams,    ///< held during a round of the progress thread, or of a waiting one for other teams
    epoch,
    team_parts,
    engine,
    membership,
    leaf,      ///< those that hold nothing else meanwhile
    innermost, ///< those that any allocation, or counter, may take
};

/// Enforces the order of mutexes in builds with internal_assertions.
class LockOrder {
public:
    /// What a thread holds. Exchanged when a thread continues as another, as fibers do.
    struct Held {
        struct Entry {
            const void* mutex = nullptr;
            LockRank rank{};
        };
        static constexpr std::size_t most = 32;
        std::array<Entry, most> entries{};
        std::size_t count = 0;
    };
    [[nodiscard]] static Held& held() noexcept;

    /// Before the calling thread waits for a mutex: ends the process if it holds one that does not come before this
    /// one.
    static void before(const void* mutex, LockRank rank) noexcept;
    /// The thread holds it now; and no longer.
    static void taken(const void* mutex, LockRank rank) noexcept;
    static void released(const void* mutex) noexcept;
};

/// A std::mutex with a place in the order.
template <class Standard>
class RankedMutex {
public:
    explicit constexpr RankedMutex([[maybe_unused]] LockRank rank) noexcept : place_{rank} {}
    RankedMutex(const RankedMutex&) = delete;
    RankedMutex& operator=(const RankedMutex&) = delete;

    void lock() {
        before();
        mutex_.lock();
        taken();
    }
    [[nodiscard]] bool try_lock() {
        if (!mutex_.try_lock()) return false;
        taken();
        return true;
    }
    void unlock() {
        released();
        mutex_.unlock();
    }
    void lock_shared() {
        before();
        mutex_.lock_shared();
        taken();
    }
    void unlock_shared() {
        released();
        mutex_.unlock_shared();
    }

private:
    struct Place {
        LockRank rank;
    };
    struct NoPlace {
        explicit constexpr NoPlace(LockRank) noexcept {}
    };

    void before() const noexcept {
        if constexpr (internal_assertions) LockOrder::before(this, place_.rank);
    }
    void taken() const noexcept {
        if constexpr (internal_assertions) LockOrder::taken(this, place_.rank);
    }
    void released() const noexcept {
        if constexpr (internal_assertions) LockOrder::released(this);
    }

    Standard mutex_;
    [[no_unique_address]] std::conditional_t<internal_assertions, Place, NoPlace> place_;
};

using Mutex = RankedMutex<std::mutex>;
using SharedMutex = RankedMutex<std::shared_mutex>;

} // namespace lapwing::detail::support
