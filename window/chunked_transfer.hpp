#pragma once

#include "src/support/mutex.hpp"

#include <lapwing/detail/direction.hpp>
#include <lapwing/rank.hpp>

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace lapwing::detail::window {

/// A non-blocking transfer in chunks, only the first of which have been started: the others wait for memory. Its window
/// knows it until all are complete at this end, so that a flush completes all of it, and later accesses to the same
/// bytes come after it.
class ChunkedTransfer : public boost::intrusive::list_base_hook<> {
public:
    /// It may touch `bytes` from `offset` of the segment of `target`.
    ChunkedTransfer(Rank target, Offset offset, std::uint64_t bytes, transport::Direction direction) noexcept
        : target_{target}, begin_{offset.bytes}, bytes_{bytes}, direction_{direction} {}
    ChunkedTransfer(const ChunkedTransfer&) = delete;
    ChunkedTransfer& operator=(const ChunkedTransfer&) = delete;

    // By a thread that holds ChunkedTransfers::Lock. A transfer that is complete is no longer in its window's list.

    /// Starts the rest, and returns when all is complete at this end. Throws its failure, as the wait for the transfer
    /// will.
    virtual void finish() = 0;
    /// As far as that goes without waiting. Whether it is complete at this end, or has failed: its wait throws why.
    [[nodiscard]] virtual bool advance() noexcept = 0;
    /// Nothing can complete it any more.
    virtual void discard() noexcept = 0;
    /// Whether it has memory that others wait for.
    [[nodiscard]] virtual bool holds_memory() const noexcept = 0;

    /// Whether an access to these bytes must not overtake it.
    [[nodiscard]] bool meets(Rank target, Offset offset, std::uint64_t bytes, bool write) const noexcept {
        return target == target_ && (write || direction_ == transport::Direction::put) &&
               offset.bytes < begin_ + bytes_ && begin_ < offset.bytes + bytes;
    }
    [[nodiscard]] Rank target() const noexcept { return target_; }

protected:
    ~ChunkedTransfer() = default;

private:
    Rank target_;
    std::uint64_t begin_;
    std::uint64_t bytes_;
    transport::Direction direction_;
};

/// The chunked transfers of a window. One thread at a time moves them on: one that waits for them, or one that flushes.
class ChunkedTransfers {
public:
    class Lock {
    public:
        explicit Lock(ChunkedTransfers& transfers) : transfers_{transfers}, guard_{transfers.progress_mutex_} {
            LAPWING_ASSERT(transfers_.holder_.load(std::memory_order_relaxed) == std::thread::id{});
            transfers_.holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        }
        ~Lock() { transfers_.holder_.store({}, std::memory_order_relaxed); }
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;

    private:
        ChunkedTransfers& transfers_;
        std::lock_guard<support::Mutex> guard_;
    };

    [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }
    void add(ChunkedTransfer& transfer);
    void remove(ChunkedTransfer& transfer) noexcept;

    /// Before an access: finishes those that it conflicts with. Does nothing if the caller holds Lock: it is moving one
    /// on.
    void before(Rank target, Offset offset, std::uint64_t bytes, bool write);
    /// Finishes those to `target`, or all. Throws the failure of the first, after the others are complete.
    void finish(Rank target);
    void finish();
    /// Finishes those with memory that others wait for.
    void free_memory();
    /// Moves them on without waiting. Whether none is left.
    [[nodiscard]] bool try_to_free_memory();
    void discard() noexcept;

private:
    /// Finishes those that are wanted, one by one; those that enter meanwhile, too.
    template <class Wanted>
    void finish_if(Wanted&& wanted);
    template <class Wanted>
    [[nodiscard]] ChunkedTransfer* find(Wanted&& wanted);
    [[nodiscard]] bool locked_by_caller() const noexcept {
        return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }

    support::Mutex progress_mutex_{support::LockRank::chunked_transfers};
    std::atomic<std::thread::id> holder_{};
    support::Mutex mutex_{support::LockRank::leaf}; ///< of the list
    boost::intrusive::list<ChunkedTransfer> list_;
    std::atomic<std::size_t> count_{0}; ///< release: who sees it empty sees what the transfers wrote
};

} // namespace lapwing::detail::window
