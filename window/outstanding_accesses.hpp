#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lapwing::window {

/// The bytes at other ranks that own operations under way may still read or write, so that a later operation on the same
/// bytes can wait for them: MPI orders neither puts nor gets (MPI 3.1, section 11.7), and Lapwing promises program order.
///
/// Exact for a few accesses (neighbouring ones are joined); beyond that small accesses go into a Bloom filter of 64-byte
/// lines, and larger ones count as touching everything. It may report a conflict where there is none, never the reverse.
class OutstandingAccesses {
public:
    /// May be called without the lock that guards the rest: what a thread must wait for, it has seen before.
    [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

    [[nodiscard]] bool conflicts(int rank, std::uint64_t offset, std::uint64_t bytes, bool write) const noexcept {
        const std::size_t count = size();
        if (count == 0 || bytes == 0) return false;
        for (std::size_t i = 0; i < count; ++i) {
            const Access& access = accesses_[i];
            if (access.rank == rank && offset < access.end && access.begin < offset + bytes && (write || access.write)) return true;
        }
        if (!spilled_) return false;
        if (everything_ || lines(offset, bytes) > most_lines) return true;
        for (std::uint64_t line = offset / line_bytes; line <= (offset + bytes - 1) / line_bytes; ++line)
            if (bit(rank, line)) return true;
        return false;
    }

    void add(int rank, std::uint64_t offset, std::uint64_t bytes, bool write) noexcept {
        ++version_;
        const std::size_t count = size();
        if (count != 0) {
            Access& last = accesses_[count - 1];
            if (last.rank == rank && last.end == offset && last.write == write) {
                last.end += bytes;
                return;
            }
        }
        if (count < accesses_.size()) {
            accesses_[count] = {rank, write, offset, offset + bytes};
            resize(count + 1);
            return;
        }
        spilled_rank_ = !spilled_ || spilled_rank_ == rank ? rank : several_ranks;
        spilled_ = true;
        if (lines(offset, bytes) > most_lines) {
            everything_ = true;
            return;
        }
        for (std::uint64_t line = offset / line_bytes; line <= (offset + bytes - 1) / line_bytes; ++line) set_bit(rank, line);
    }

    /// Changes with every add().
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

    /// Every operation is complete.
    void clear() noexcept {
        resize(0);
        clear_spilled();
    }
    /// The operations to one rank are complete.
    void clear(int rank) noexcept {
        if (size() == 1) [[likely]] { // nothing is spilled before all places are taken
            if (accesses_[0].rank == rank) resize(0);
            return;
        }
        if (spilled_) {
            if (spilled_rank_ != rank) return; // which of the filter's lines were the rank's is not known
            clear_spilled();
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size(); ++i)
            if (accesses_[i].rank != rank) accesses_[kept++] = accesses_[i];
        resize(kept);
    }

    /// Whether there may be accesses to `rank`.
    [[nodiscard]] bool touches(int rank) const noexcept {
        const std::size_t count = size();
        for (std::size_t i = 0; i < count; ++i)
            if (accesses_[i].rank == rank) return true;
        return spilled_ && (spilled_rank_ == rank || spilled_rank_ == several_ranks);
    }
    /// The only rank with accesses under way, or -1 if there are several or it is not known.
    [[nodiscard]] int only_rank() const noexcept {
        if (empty() || (spilled_ && spilled_rank_ != accesses_[0].rank)) return several_ranks;
        for (std::size_t i = 1; i < size(); ++i)
            if (accesses_[i].rank != accesses_[0].rank) return several_ranks;
        return accesses_[0].rank;
    }

private:
    struct Access {
        int rank = 0;
        bool write = false;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    [[nodiscard]] std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
    void resize(std::size_t count) noexcept { count_.store(count, std::memory_order_relaxed); }
    void clear_spilled() noexcept {
        if (!spilled_) return;
        spilled_ = false;
        everything_ = false;
        bits_.fill(0);
    }
    static constexpr int several_ranks = -1;

    static constexpr std::uint64_t line_bytes = 64;
    static constexpr std::uint64_t most_lines = 8;

    static std::uint64_t lines(std::uint64_t offset, std::uint64_t bytes) noexcept {
        return (offset + bytes - 1) / line_bytes - offset / line_bytes + 1;
    }
    [[nodiscard]] static std::size_t hash(int rank, std::uint64_t line) noexcept {
        const std::uint64_t mixed = (line + static_cast<std::uint64_t>(rank) * 0x9E3779B97F4A7C15U) * 0xD6E8FEB86659FD93U;
        return static_cast<std::size_t>(mixed >> 50); // 14 bits
    }
    [[nodiscard]] bool bit(int rank, std::uint64_t line) const noexcept {
        const std::size_t h = hash(rank, line);
        return (bits_[h / 64] >> (h % 64) & 1U) != 0;
    }
    void set_bit(int rank, std::uint64_t line) noexcept {
        const std::size_t h = hash(rank, line);
        bits_[h / 64] |= std::uint64_t{1} << (h % 64);
    }

    std::array<Access, 8> accesses_{};
    std::atomic<std::size_t> count_{0}; ///< relaxed: written under the lock
    std::uint64_t version_ = 0;
    bool spilled_ = false;
    int spilled_rank_ = 0; ///< of everything in the filter
    bool everything_ = false;
    std::array<std::uint64_t, 256> bits_{}; ///< 2^14 lines
};

} // namespace lapwing::window
