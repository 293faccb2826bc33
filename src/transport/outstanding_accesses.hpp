#pragma once

#include "src/support/assert.hpp"

#include <lapwing/rank.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace lapwing::detail::transport {

/// The bytes at other ranks that own operations under way may still read or write, so that a later operation on the
/// same bytes can wait for them: MPI orders neither puts nor gets (MPI 3.1, section 11.7), and Lapwing promises program
/// order.
///
/// It also knows which of them MPI's window carries: a flush of those that travel as messages needs no MPI_Win_flush.
///
/// Exact: accesses conflict if they overlap and one of them writes, and only then. Writes stay until a flush has
/// completed them, and reads until a flush or their own completion. Neighbouring writes are joined; beyond `most`
/// intervals the record is full(), and the next access first completes everything: one flush in so many transfers.
class OutstandingAccesses {
public:
    static constexpr std::size_t most = 256;
    /// What moves the bytes.
    enum class Carrier : std::uint8_t { window, messages };

    /// May be called without the lock that guards the rest: what a thread must wait for, it has seen before.
    [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }
    [[nodiscard]] bool full() const noexcept { return count_.load(std::memory_order_relaxed) >= most; }

    [[nodiscard]] bool conflicts(Rank rank, Offset offset, std::uint64_t bytes, bool write) const noexcept {
        if (bytes == 0) return false;
        const std::uint64_t begin = offset.bytes;
        const std::uint64_t end = begin + bytes;
        const auto at = first_reaching(rank, begin + 1);
        if (at != writes_.end() && at->rank == rank && at->begin < end) return true;
        return write && std::ranges::any_of(reads_, [&](const Read& read) {
                   return read.rank == rank && begin < read.end && read.begin < end;
               });
    }

    void add_write(Rank rank, Offset offset, std::uint64_t bytes, Carrier carrier) {
        ++version_;
        Write added{rank, offset.bytes, offset.bytes + bytes, version_, carrier == Carrier::window};
        if (writes_.empty()) [[likely]] { // nothing to join: every put that a flush follows
            writes_.push_back(added);
            return count();
        }
        const auto first = writes_.begin() + (first_reaching(rank, offset) - writes_.cbegin());
        auto last = first; // of those that the new one touches
        for (; last != writes_.end() && last->rank == rank && last->begin <= added.end; ++last) {
            added.begin = std::min(added.begin, last->begin);
            added.end = std::max(added.end, last->end);
            added.by_window = added.by_window || last->by_window;
        }
        if (first == last) {
            writes_.insert(first, added);
        } else {
            *first = added;
            writes_.erase(first + 1, last);
        }
        count();
    }

    /// `transfer` is the read's name for finish_read().
    void add_read(Rank rank, Offset offset, std::uint64_t bytes, const void* transfer, Carrier carrier) {
        ++version_;
        reads_.push_back({rank, offset.bytes, offset.bytes + bytes, version_, transfer, carrier == Carrier::window});
        count();
    }
    /// The read is complete; nothing happens if that is known already.
    void finish_read(const void* transfer) noexcept {
        const auto found = std::ranges::find(reads_, transfer, &Read::transfer);
        if (found == reads_.end()) return;
        *found = reads_.back();
        reads_.pop_back();
        count();
    }

    /// Changes with every access that is added.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

    /// Every operation is complete.
    void complete() noexcept {
        writes_.clear();
        reads_.clear();
        count();
    }
    /// The operations that were there when version() was `version` are complete: those to one rank, or all.
    void complete(Rank rank, std::uint64_t version) noexcept {
        const auto done = [&](const auto& access) { return access.rank == rank && access.version <= version; };
        if (writes_.size() == 1) [[likely]] {
            if (done(writes_[0])) writes_.clear();
        } else {
            std::erase_if(writes_, done);
        }
        if (!reads_.empty()) std::erase_if(reads_, done);
        count();
    }
    void complete(std::uint64_t version) noexcept {
        if (version == version_) return complete();
        const auto done = [&](const auto& access) { return access.version <= version; };
        std::erase_if(writes_, done);
        std::erase_if(reads_, done);
        count();
    }

    /// Whether there are accesses to `rank`.
    [[nodiscard]] bool touches(Rank rank) const noexcept {
        if (!writes_.empty() && writes_.back().rank == rank) [[likely]]
            return true;
        const auto at = first_reaching(rank, 0);
        return (at != writes_.end() && at->rank == rank) ||
               std::ranges::any_of(reads_, [rank](const Read& read) { return read.rank == rank; });
    }
    /// Whether there are accesses to `rank` that MPI's window carries.
    [[nodiscard]] bool touches_by_window(Rank rank) const noexcept {
        return written_by_window(rank) || read_by_window(rank, reads_.end());
    }
    /// Calls `visit(rank)` once for each rank with writes under way.
    template <class Visit>
    void for_each_written_rank(Visit&& visit) const {
        for (auto write = writes_.begin(); write != writes_.end(); ++write)
            if (write == writes_.begin() || write->rank != std::prev(write)->rank) visit(write->rank);
    }
    /// Calls `visit(rank)` once for each rank with accesses under way that MPI's window carries.
    template <class Visit>
    void for_each_rank_by_window(Visit&& visit) const {
        Rank last = -1;
        for (const Write& write : writes_)
            if (write.by_window && write.rank != last) visit(last = write.rank);
        for (auto read = reads_.begin(); read != reads_.end(); ++read)
            if (read->by_window && !written_by_window(read->rank) && !read_by_window(read->rank, read))
                visit(read->rank);
    }

    /// Ends the process where the invariants do not hold, in builds with internal assertions.
    void validate() const {
        for (auto write = writes_.begin(); write != writes_.end(); ++write) {
            LAPWING_ASSERT(write->begin < write->end && write->version <= version_);
            if (write == writes_.begin()) continue;
            const Write& before = *std::prev(write);
            // In order, and with a gap: neighbours are joined.
            LAPWING_ASSERT(before.rank < write->rank || (before.rank == write->rank && before.end < write->begin));
        }
        for (const Read& read : reads_) LAPWING_ASSERT(read.begin < read.end && read.version <= version_);
        LAPWING_ASSERT(count_.load(std::memory_order_relaxed) == writes_.size() + reads_.size());
    }

private:
    struct Write {
        Rank rank = 0;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint64_t version = 0; ///< of the latest that was joined
        bool by_window = true;     ///< one of those that were joined, at least
    };
    struct Read {
        Rank rank = 0;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint64_t version = 0;
        const void* transfer = nullptr;
        bool by_window = true;
    };

    [[nodiscard]] bool written_by_window(Rank rank) const noexcept {
        for (auto write = first_reaching(rank, 0); write != writes_.end() && write->rank == rank; ++write)
            if (write->by_window) return true;
        return false;
    }
    /// Among the reads before `end`.
    [[nodiscard]] bool read_by_window(Rank rank, std::vector<Read>::const_iterator end) const noexcept {
        return std::any_of(reads_.begin(), end,
                           [rank](const Read& read) { return read.rank == rank && read.by_window; });
    }

    /// The first write to `rank` that ends at `offset` or after it, or else the first one after those to `rank`.
    [[nodiscard]] std::vector<Write>::const_iterator first_reaching(Rank rank, Offset offset) const noexcept {
        return std::ranges::partition_point(writes_, [&](const Write& write) {
            return write.rank < rank || (write.rank == rank && write.end < offset.bytes);
        });
    }
    void count() noexcept {
        count_.store(reads_.empty() ? writes_.size() : writes_.size() + reads_.size(), std::memory_order_release);
        if constexpr (support::internal_assertions) validate();
    }

    std::vector<Write> writes_; ///< by rank, then begin; disjoint
    std::vector<Read> reads_;   ///< in no order, since each leaves by itself
    std::atomic<std::size_t> count_{
        0}; ///< written under the lock; release: who sees it empty sees what the accesses wrote
    std::uint64_t version_ = 0;
};

} // namespace lapwing::detail::transport
