#pragma once

#include "src/support/biased_mutex.hpp"
#include "src/transport/window_facts.hpp"
#include "window/coherent_copies.hpp"
#include "window/near_bindings.hpp"

#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::window {

/// Is notified when a window gets its first copies or loses its last: see CopyRegistry.
class CopiesObserver {
public:
    /// The first copies were added, or the last removed.
    virtual void copies_changed() = 0;

protected:
    ~CopiesObserver() = default;
};

/// The coherent copies of a window, which it notifies of its writes and acquires. While there are none, a write costs
/// only a check of their number.
///
/// Loops that write elements of a cached window one after the other need no notification: they ask once where the
/// copies of a row are, and store there, too (copies_of()). What they know ends when the addresses change, or when
/// another thread fills the copies: both must come after forget_places().
///
/// A notification of a write comes after the write has started, so that a later fill of the copies fetches the new
/// bytes: the order of accesses ensures that. It is made with a mutex held: copies that have been removed are no longer
/// notified, and a copy must not write through the window, nor add or remove copies, while it is being notified.
class CopyRegistry {
public:
    CopyRegistry(const transport::WindowFacts& facts, CopiesObserver& observer) noexcept
        : facts_{facts}, observer_{observer} {}
    CopyRegistry(const CopyRegistry&) = delete;
    CopyRegistry& operator=(const CopyRegistry&) = delete;

    /// Takes no mutex: copies that a thread must notify have been added before.
    [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
    /// From now on these copies are notified; copies added twice are notified twice, until they have been removed
    /// twice. Any thread may add and remove copies; in a cached window no other thread may be writing meanwhile, since
    /// element accesses write into pages of their own thread's cache. Copies must be removed before they are destroyed;
    /// a window that closes removes them.
    void add(CoherentCopies& copies);
    void remove(CoherentCopies& copies);
    /// Where the copies are of what is around `offset` of another rank's part, of which `before` bytes lie before it:
    /// for writes of the calling thread to pages of its cache, which are then not notified. Knows nothing where there
    /// are several copies, or no fence of all threads.
    [[nodiscard]] CopiesAround copies_of(Rank target, Offset offset, std::uint64_t before, std::uint64_t after);
    /// What copies_of() has said holds no longer, for any thread. Every write that still goes by it is to a page that
    /// is marked as dirty by now.
    void forget_places() noexcept;
    /// The same before a fill by the calling thread; if none but that has asked, what it knows goes on to hold: a fill
    /// changes no address.
    void forget_places_of_others() noexcept;
    /// The window closes: notifies all copies, and removes them.
    void end() noexcept;
    /// Who stores to parts of the node without a call of the window, of which no copies are notified.
    [[nodiscard]] NearBindings& near_bindings() noexcept { return near_bindings_; }

    /// The current number of changes to copies, and the next one. An atomic that takes a mark before it starts can tell
    /// whether copies were filled, or notified of another atomic, before they are notified of it.
    [[nodiscard]] std::uint64_t mark() const noexcept { return changes_.load(std::memory_order_acquire); }
    [[nodiscard]] std::uint64_t change() noexcept { return changes_.fetch_add(1, std::memory_order_acq_rel) + 1; }

    // Notifications to all copies: see CoherentCopies. None are made for this rank's part, of which there are no
    // copies, and for writes of no bytes.
    void acquired() noexcept {
        if (!empty()) [[unlikely]]
            notify_acquired();
    }
    void written(Rank target, Offset offset, std::span<const std::byte> bytes) {
        if (concerns(target)) [[unlikely]]
            notify_written(target, offset, bytes);
    }
    void written(Rank target, const Layout& there, const Layout& here, const std::byte* base) {
        if (concerns(target)) [[unlikely]]
            notify_written(target, there, here, base);
    }
    void atomic_result(Rank target, Offset offset, std::span<const std::byte> bytes, std::uint64_t mark) {
        if (concerns(target)) [[unlikely]]
            notify_atomic_result(target, offset, bytes, mark);
    }
    void atomic_sent(Rank target, Offset offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                     const void* operand, std::uint64_t mark) {
        if (concerns(target)) [[unlikely]]
            notify_atomic_sent(target, offset, operation, type, operand, mark);
    }
    void invalidated(Rank target, Offset offset, std::uint64_t bytes) {
        if (concerns(target)) [[unlikely]]
            notify_invalidated(target, offset, bytes);
    }
    /// The same for every block of a layout of the target's part.
    void invalidated(Rank target, const Layout& there) {
        if (concerns(target)) [[unlikely]]
            notify_invalidated(target, there);
    }
    /// Whether any copies must be notified of writes to that rank.
    [[nodiscard]] bool concerns(Rank target) const noexcept { return !empty() && target != facts_.map.own_rank; }

private:
    template <class Call>
    void notify(Call&& call);
    void notify_acquired() noexcept;
    void notify_written(Rank target, Offset offset, std::span<const std::byte> bytes);
    void notify_written(Rank target, const Layout& there, const Layout& here, const std::byte* base);
    void notify_atomic_result(Rank target, Offset offset, std::span<const std::byte> bytes, std::uint64_t mark);
    void notify_atomic_sent(Rank target, Offset offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                            const void* operand, std::uint64_t mark);
    void notify_invalidated(Rank target, Offset offset, std::uint64_t bytes);
    void notify_invalidated(Rank target, const Layout& there);

    const transport::WindowFacts& facts_;
    CopiesObserver& observer_;
    NearBindings near_bindings_{facts_.map};
    support::BiasedMutex mutex_{support::LockRank::copy_registry};
    std::vector<CoherentCopies*> list_;
    std::atomic<std::size_t> count_{0}; ///< of the list; written with the mutex held
    std::atomic<std::uint64_t> changes_{0};

    static constexpr unsigned nobody = 0;
    static constexpr unsigned several_threads = ~0U;
    std::atomic<unsigned> asked_by_{nobody}; ///< number plus one of the thread that has asked for places
    std::atomic<std::uint64_t> version_{0};  ///< of places
};

} // namespace lapwing::detail::window
