#pragma once

#include "src/support/biased_mutex.hpp"
#include "src/transport/window_facts.hpp"
#include "window/read_copies.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::window {

/// Has to know whether a window has copies: see ToldCopies.
class CopiesObserver {
public:
    /// The first has come, or the last has gone.
    virtual void copies_changed() = 0;

protected:
    ~CopiesObserver() = default;
};

/// The copies beside the cache that a window tells of its writes and acquires. While there are none, a write costs no
/// more than a look at their number.
///
/// A write is told when it has been started, so that what fills a copy anew behind it gets the new bytes: the order of
/// accesses sees to that. It is told with a mutex held: copies that have been removed are not told any more, and none
/// may write through the window, nor add or remove any, while it is being told.
class ToldCopies {
public:
    ToldCopies(const transport::WindowFacts& facts, CopiesObserver& observer) noexcept
        : facts_{facts}, observer_{observer} {}
    ToldCopies(const ToldCopies&) = delete;
    ToldCopies& operator=(const ToldCopies&) = delete;

    /// Without the mutex: copies that a thread must tell have been added before.
    [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
    /// From now on these copies are told; those added twice are told twice, until they have been removed twice. Any
    /// thread may add and remove them; in a cached window no other thread may be writing meanwhile, since element
    /// accesses write into pages of the cache of their own thread. They must be removed before they are destroyed; a
    /// window that closes removes them.
    void add(ReadCopies& copies);
    void remove(ReadCopies& copies);
    /// The window goes: tells all of them, and forgets them.
    void end() noexcept;

    /// A number of the moment, and one that is larger than all so far, for what changes copies: an atomic that takes a
    /// mark before it starts finds out whether copies were filled, or told of another, before they are told of it.
    [[nodiscard]] std::uint64_t mark() const noexcept { return changes_.load(std::memory_order_acquire); }
    [[nodiscard]] std::uint64_t change() noexcept { return changes_.fetch_add(1, std::memory_order_acq_rel) + 1; }

    // To all of them what ReadCopies says. The own part, of which there are no copies, and no bytes are nothing to
    // tell.
    void acquired() noexcept {
        if (!empty()) [[unlikely]]
            tell_acquired();
    }
    void written(int target, std::uint64_t offset, std::span<const std::byte> bytes) {
        if (concern(target)) [[unlikely]]
            tell_written(target, offset, bytes);
    }
    void written(int target, const Layout& there, const Layout& here, const std::byte* base) {
        if (concern(target)) [[unlikely]]
            tell_written(target, there, here, base);
    }
    void left(int target, std::uint64_t offset, std::span<const std::byte> bytes, std::uint64_t mark) {
        if (concern(target)) [[unlikely]]
            tell_left(target, offset, bytes, mark);
    }
    void updated(int target, std::uint64_t offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                 const void* operand, std::uint64_t mark) {
        if (concern(target)) [[unlikely]]
            tell_updated(target, offset, operation, type, operand, mark);
    }
    void lost(int target, std::uint64_t offset, std::uint64_t bytes) {
        if (concern(target)) [[unlikely]]
            tell_lost(target, offset, bytes);
    }
    /// Every block of a layout of the target's part.
    void lost(int target, const Layout& there) {
        if (concern(target)) [[unlikely]]
            tell_lost(target, there);
    }
    /// Whether there is anybody to tell of writes to that rank.
    [[nodiscard]] bool concern(int target) const noexcept { return !empty() && target != facts_.map.own_rank; }

private:
    template <class Call>
    void tell(Call&& call);
    void tell_acquired() noexcept;
    void tell_written(int target, std::uint64_t offset, std::span<const std::byte> bytes);
    void tell_written(int target, const Layout& there, const Layout& here, const std::byte* base);
    void tell_left(int target, std::uint64_t offset, std::span<const std::byte> bytes, std::uint64_t mark);
    void tell_updated(int target, std::uint64_t offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                      const void* operand, std::uint64_t mark);
    void tell_lost(int target, std::uint64_t offset, std::uint64_t bytes);
    void tell_lost(int target, const Layout& there);

    const transport::WindowFacts& facts_;
    CopiesObserver& observer_;
    support::BiasedMutex mutex_{support::LockRank::told_copies};
    std::vector<ReadCopies*> list_;
    std::atomic<std::size_t> count_{0}; ///< of the list; written with the mutex held
    std::atomic<std::uint64_t> changes_{0};
};

} // namespace lapwing::detail::window
