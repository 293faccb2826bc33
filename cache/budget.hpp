#pragma once

#include "src/support/mutex.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

namespace lapwing::detail::cache {

/// The memory that all caches of a team share in this process. Each thread has its own cache of each window, so the
/// number of caches is known only while the program runs.
///
/// While every demand is met there is nothing to share. When the demands exceed the limit, every cache gets what it
/// wants up to a level, the same for all, at which the limit is used up (max-min fairness). Caches that hold more give
/// it back at their thread's next release, and those that got less take it at theirs; nobody takes memory away from a
/// cache that is in use. Until then each newcomer gets half of what is free. Caches of threads that have ended are
/// dropped as soon as another gets less than it wants.
class Budget {
public:
    explicit Budget(std::uint64_t limit) noexcept : limit_{limit}, level_{limit} {}
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;

    /// The caches of one window.
    class Caches {
    public:
        Caches() = default;
        Caches(const Caches&) = delete;
        Caches& operator=(const Caches&) = delete;
        /// Writes back and drops those whose threads have ended. False: one of them could not be written back, and
        /// stays.
        virtual bool drop_ended() = 0;

    protected:
        ~Caches() = default;
    };
    void enter(Caches& caches);
    /// On return, nobody drops them any more.
    void remove(Caches& caches);
    /// If threads have ended since the last time, drops their caches, of all windows. The caller must hold no cache.
    void drop_ended();

    /// One cache's share. Used by one thread at a time; its destructor returns it to the budget.
    class Share {
    public:
        explicit Share(Budget& budget) noexcept : budget_{budget} {}
        ~Share();
        Share(const Share&) = delete;
        Share& operator=(const Share&) = delete;

        /// Bytes that the cache holds.
        [[nodiscard]] std::uint64_t held() const noexcept { return held_; }
        /// Whether claim() might give another answer than last time. Cheap.
        [[nodiscard]] bool outdated() const noexcept {
            return seen_ != budget_.generation_.load(std::memory_order_relaxed);
        }
        /// Claims memory for a cache that wants `wanted` bytes and is useless below `least`. Returns how many bytes it
        /// may hold from now on; 0: there is no room now.
        [[nodiscard]] std::uint64_t claim(std::uint64_t wanted, std::uint64_t least);
        /// The cache keeps only `bytes` of what it claimed.
        void keep(std::uint64_t bytes);
        /// Returns everything, and wants nothing until the next claim.
        void give_up();

    private:
        Budget& budget_;
        std::uint64_t wanted_ = 0; ///< 0: not counted yet
        std::uint64_t held_ = 0;
        std::uint64_t seen_ = ~std::uint64_t{0};
    };

    [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
    [[nodiscard]] std::uint64_t used() const;
    /// True for the first caller only, which then reports that the budget is used up.
    [[nodiscard]] bool warn_once() noexcept { return !warned_.exchange(true, std::memory_order_relaxed); }

private:
    void join(std::uint64_t wanted);
    void leave(std::uint64_t wanted);
    void find_level() noexcept;

    support::Mutex caches_mutex_{support::LockRank::cache_registry}; ///< guards the two below
    std::vector<Caches*> caches_;
    std::uint64_t ended_before_ = 0; ///< support::ended_threads() whose caches are gone

    const std::uint64_t limit_;
    std::atomic<std::uint64_t> generation_{0}; ///< incremented when shares may change
    std::atomic<bool> warned_{false};
    mutable support::Mutex mutex_{support::LockRank::leaf}; ///< guards the fields below
    std::multiset<std::uint64_t> wanted_;
    std::uint64_t used_ = 0;
    std::uint64_t level_;
};

} // namespace lapwing::detail::cache
