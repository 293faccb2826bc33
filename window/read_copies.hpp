#pragma once

#include "src/mpi/atomics.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing {
class Layout;
}

namespace lapwing::detail::window {

/// Copies of bytes of other ranks that reads are served from beside the window's cache: those that prefetch/ keeps. The
/// window tells each of them (AccessOrder::add_copies) of its own writes to other ranks' segments, by whatever call and
/// on whatever path, loads and stores of the node included, and of its acquires. Ranges have been checked. Calls may
/// come from several threads.
class ReadCopies {
public:
    virtual ~ReadCopies() = default;

    /// An acquire, of the window or of its team: others may have written since the copies were filled.
    virtual void acquired() noexcept = 0;

    /// The calling rank has written `bytes` to `offset` of `target`, or has started to.
    virtual void written(int target, std::uint64_t offset, std::span<const std::byte> bytes) = 0;
    /// The same for a layout: byte k of `here`, a layout of memory at `base`, went to byte k of `there`, one of the
    /// target's segment.
    virtual void written(int target, const Layout& there, const Layout& here, const std::byte* base) = 0;
    /// The same of an atomic, which has left `bytes`, or found them. `mark` is ToldCopies::mark() from before it: if
    /// the copies were filled since, or told of another atomic on the value by another thread, `bytes` may be older
    /// than what they have.
    virtual void left(int target, std::uint64_t offset, std::span<const std::byte> bytes, std::uint64_t /*mark*/) {
        written(target, offset, bytes);
    }
    /// The calling rank has sent an atomic without a result. What it makes of the copy's value is what a read has to
    /// see at least, unless the copies were filled since `mark`, and may have it already.
    virtual void updated(int target, std::uint64_t offset, mpi::AtomicOperation operation, mpi::AtomicType type,
                         const void* operand, std::uint64_t mark) = 0;
    /// The calling rank writes bytes of which it does not know the values, as lists of atomics do: a later read has to
    /// ask the target.
    virtual void lost(int target, std::uint64_t offset, std::uint64_t bytes) = 0;

    /// The window goes, and with it what has been started on it: nothing is told any more, and nothing of the window
    /// used.
    virtual void window_closes() noexcept {}
};

} // namespace lapwing::detail::window
