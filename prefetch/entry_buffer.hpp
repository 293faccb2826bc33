#pragma once

#include "prefetch/entry.hpp"
#include "prefetch/entry_fills.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/support/biased_mutex.hpp"
#include "window/coherent_copies.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/detail/copy_state.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lapwing::detail::prefetching {

/// The copies that one array, or one user of a window, has prefetched: the prefetch buffer of LAPPS (Kayraklioglu,
/// Ferguson and El-Ghazawi, 2018), which knows ranks, offsets and bytes. It consists of entries, one for each owner and
/// request; each keeps the plan of its transfer. All are filled together, so that their round trips overlap.
///
/// Automatic copies are filled again by the first read after an acquire (refresh()); manual ones by fill() only. The
/// window notifies the buffer of this rank's writes, which go to the copies, too. Memory: the copies; for each entry
/// its two layouts and its plan; and once this rank has written to an owner, 24 bytes for each contiguous run of its
/// copies.
///
/// Several threads may call this at the same time, except add() and evict(), during which no thread may read.
class EntryBuffer final : public window::CoherentCopies, public std::enable_shared_from_this<EntryBuffer> {
public:
    /// When evict() may be called: while no other thread writes elements of the window, or at any time. Then all writes
    /// are notified, since none must go to memory that has been freed.
    enum class Eviction : std::uint8_t { without_writers, any_time };
    EntryBuffer(Window& window, const PrefetchOptions& options, Eviction eviction = Eviction::without_writers);
    ~EntryBuffer() override;
    EntryBuffer(const EntryBuffer&) = delete;
    EntryBuffer& operator=(const EntryBuffer&) = delete;

    [[nodiscard]] const PrefetchOptions& options() const noexcept { return options_; }
    [[nodiscard]] CopyState& state() noexcept { return state_; }
    /// Whether the window is still there.
    [[nodiscard]] bool attached() const noexcept { return attached_; }
    [[nodiscard]] window::WindowState& window() noexcept { return window_; }

    /// Memory of `bytes` bytes for `slices`, whose copies are where their layouts say, relative to its start. What
    /// comes from one owner becomes one entry. `place`: memory of the caller's to use instead.
    /// `index_bytes`: what the caller keeps to find them, for the statistics. Nothing is moved yet: the copies are
    /// stale. Throws RangeError when a slice leaves its owner's segment.
    std::byte* add(std::uint64_t bytes, std::vector<Slice> slices, std::uint64_t index_bytes,
                   std::byte* place = nullptr);

    /// Fills all copies; complete on return.
    void fill();
    /// Of manual copies those that no fill has completed yet; others stay as they are.
    void fill_new();
    /// Starts a fill. Until it completes, this rank must neither read the copies nor write the elements they mirror;
    /// reads of automatic copies wait for it.
    [[nodiscard]] Completion start_fill();
    /// Called by a read that finds the copies stale: fills them, unless another thread has. Manual copies: fills only
    /// new ones, and those whose value is unknown after a write of this rank. Throws UsageError if the window is
    /// closed.
    void refresh();
    /// Forgets all entries, and frees their memory.
    void evict();
    /// Adds to the window's statistics the hits of all threads.
    void count_hits() noexcept;
    /// Before the window is closed: evicts, and ends the notifications.
    void detach() noexcept;

    // CoherentCopies
    void acquired() noexcept override {
        if (options_.consistent) state_.expire();
    }
    void written(Rank target, Offset offset, std::span<const std::byte> bytes) override;
    void written(Rank target, const Layout& there, const Layout& here, const std::byte* base) override;
    void atomic_result(Rank target, Offset offset, std::span<const std::byte> bytes, std::uint64_t mark) override;
    void atomic_sent(Rank target, Offset offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                     const void* operand, std::uint64_t mark) override;
    void invalidated(Rank target, Offset offset, std::uint64_t bytes) override;
    [[nodiscard]] window::CopiesAround copies_of(Rank target, Offset offset, std::uint64_t before,
                                                 std::uint64_t after) override;
    void window_closes() noexcept override;

private:
    class FillUnderWay;
    struct Lost {
        Rank target = 0;
        Offset offset = 0;
        std::uint64_t bytes = 0;
    };

    // With mutex_ held.
    enum class Which : std::uint8_t { all, unfilled };
    void start(Which which);
    void finish_all();
    /// Ends the fill that start_fill() has begun, if there is one.
    void finish_under_way();
    void fill(Which which);
    /// Of manual copies: fills new ones, and fetches those whose value is unknown after a write of this rank.
    void renew();
    void repair();
    /// Before copies that nobody reads any more are fetched from the owners. From now on nobody writes to them without
    /// this mutex, and what the caches of this rank's threads held is written back: otherwise a fill by one thread
    /// would undo another thread's writes in the copies.
    void take_writes();
    /// Calls `function(entry)` for the entries of an owner.
    template <class Function>
    void of_owner(Rank owner, Function&& function);
    // With mutex_ held, too.
    void write(Rank target, Offset offset, std::span<const std::byte> bytes);
    /// The values there are no longer known.
    void note_lost(const Lost& lost);
    void lose(Rank target, Offset offset, std::uint64_t bytes);
    /// Whether something has come since `mark` that an atomic on this value does not know of, so that what it has left
    /// is to be asked for.
    [[nodiscard]] bool passed(Rank target, Offset offset, std::uint64_t mark);
    /// With mutex_ held: forgets all entries.
    void clear() noexcept;
    void count_memory(std::int64_t change);

    window::WindowState& window_;
    const PrefetchOptions options_;
    const Eviction eviction_;
    CopyState state_;
    /// Held while copies are filled, so that no write of this rank gets between a transfer and its end.
    support::BiasedMutex mutex_{support::LockRank::prefetch_buffer};
    std::vector<Entry> entries_;          ///< in the order in which they are filled
    std::vector<std::uint32_t> by_owner_; ///< places in entries_, ordered by owner
    std::vector<support::AlignedMemory> memory_;
    std::uint64_t memory_bytes_ = 0; ///< with what finds the copies
    std::uint64_t memory_peak_ = 0;
    EntryFills under_way_;      ///< of start()
    std::uint64_t filling_ = 0; ///< the number of the fill under way; 0: there is none
    std::vector<Lost> lost_;
    std::uint64_t filled_at_ = 0;                ///< number (CopyRegistry::change) of the last begin, or end, of a fill
    std::array<std::uint64_t, 64> changed_at_{}; ///< of the last atomic on values that fall on one place
    bool of_node_ = false; ///< whether the window counts it among those that have copies of the node's parts
    bool attached_ = true;
};

} // namespace lapwing::detail::prefetching
