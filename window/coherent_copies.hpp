#pragma once

#include "src/mpi/atomics.hpp"

#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing {
class Layout;
}

namespace lapwing::detail::window {

/// Copies beside the cache of a byte that is about to be written, and of its neighbours.
struct CopiesAround {
    std::uint64_t before = 0;  ///< bytes before it of which the same is known
    std::uint64_t after = 0;   ///< the same from it on; 0: nothing is known of it
    std::byte* copy = nullptr; ///< of the byte; null: nothing of this has a copy
    /// Holds as long as this is `known_at`, if the thread looks at it between its store to the page and the one to the
    /// copy.
    const std::atomic<std::uint64_t>* version = nullptr;
    std::uint64_t known_at = 0;
};

/// Copies of other ranks' bytes, beside the window's cache, that reads are served from: prefetch/ keeps such copies.
/// The window notifies each of them (CopyRegistry::add) of this rank's writes to other ranks' parts, by any call and on
/// any path, stores on the node included, and of its acquires; except of writes of elements to where copies_of() says.
/// Ranges have been checked. Calls may come from several threads.
class CoherentCopies {
public:
    virtual ~CoherentCopies() = default;

    /// An acquire by the window or its team: others may have written since the copies were filled.
    virtual void acquired() noexcept = 0;

    /// The calling rank has written `bytes` to `offset` of `target`, or has started to.
    virtual void written(Rank target, Offset offset, std::span<const std::byte> bytes) = 0;
    /// The same for layouts: byte k of `here`, a layout of memory at `base`, was written to byte k of `there`, a layout
    /// of the target's part.
    virtual void written(Rank target, const Layout& there, const Layout& here, const std::byte* base) = 0;
    /// An atomic of this rank has left `bytes`, or found them unchanged. `mark` is CopyRegistry::mark() from before it:
    /// if the copies have been filled since, or notified of another thread's atomic on the value, `bytes` may be older
    /// than what they hold.
    virtual void atomic_result(Rank target, Offset offset, std::span<const std::byte> bytes, std::uint64_t /*mark*/) {
        written(target, offset, bytes);
    }
    /// The calling rank has sent an atomic without a result. Reads must see the copy's value with the operation
    /// applied, unless the copies have been filled since `mark`, and may include it already.
    virtual void atomic_sent(Rank target, Offset offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                             const void* operand, std::uint64_t mark) = 0;
    /// The calling rank writes bytes whose values it does not know, as lists of atomics do: the next read must fetch
    /// them from the target.
    virtual void invalidated(Rank target, Offset offset, std::uint64_t bytes) = 0;

    /// Where the copies are of what is around `offset`, of which `before` bytes lie before it: element writes of a
    /// cached window then store there themselves, and notify nobody. See CopyRegistry::copies_of(), which adds the
    /// version. Copies whose addresses are unknown, or that may be freed while other threads write, tell nothing.
    [[nodiscard]] virtual CopiesAround copies_of(Rank /*target*/, Offset /*offset*/, std::uint64_t /*before*/,
                                                 std::uint64_t /*after*/) {
        return {};
    }

    /// The window closes, after completing what was started on it: there are no further notifications, and the window
    /// must no longer be used.
    virtual void window_closes() noexcept {}
};

} // namespace lapwing::detail::window
