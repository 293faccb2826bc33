// Room: prefetch
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/values.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lapwing {

namespace detail::prefetching {
class EntryBuffer;
} // namespace detail::prefetching

/// A prefetched part of another rank's segment: where its copy is. Valid until evict().
class PrefetchedSlice {
public:
    /// Number of bytes.
    [[nodiscard]] std::uint64_t size() const noexcept { return bytes_; }

private:
    friend class Prefetch;
    PrefetchedSlice(std::byte* copy, std::uint64_t bytes, std::uint64_t set) noexcept
        : copy_{copy}, bytes_{bytes}, set_{set} {}

    std::byte* copy_;
    std::uint64_t bytes_;
    std::uint64_t set_; ///< the set of requests that it belongs to: those of an object since its last evict()
};

/// Copies of parts of other ranks' segments of a window, moved in bulk and kept consistent. This is the level below the
/// patterns of global arrays, for programs and runtimes that know ranks and bytes, not indices. It is the low-level
/// interface of LAPPS (Kayraklioglu, Ferguson and El-Ghazawi, 2018, appendix A): request, access, update, evict.
///
/// ```cpp
/// lapwing::Prefetch ahead{window, {.consistent = false}};
/// const auto column = ahead.request(left, Offset{0}, Layout::strided(rows, sizeof(double), row_bytes));
/// for (int step = 0; step < steps; ++step) {
///     runtime.barrier();
///     ahead.update();                                     // everything that was requested, from all owners at once
///     for (std::size_t i = 0; i < rows; ++i) use(ahead.read<double>(column, i));
/// }
/// ```
///
/// All calls are local. Writes of this rank to bytes that are prefetched, through any call on the window or an element
/// of the array that it belongs to, go to the copies as well; stores to Window::reachable() do not. The object may
/// outlive the window: it is then empty, and its calls throw UsageError. Hits are added to the window's statistics when
/// it is closed, or after evict().
class Prefetch {
public:
    /// Nothing is requested yet. Other threads of this rank must not write to the window during the call, nor while the
    /// object is destroyed, because inline writes of a cached window do not notify the copies. Throws UsageError for a
    /// closed window.
    explicit Prefetch(Window& window, const PrefetchOptions& options = {});
    Prefetch(Prefetch&&) noexcept;
    Prefetch& operator=(Prefetch&&) noexcept;
    /// As evict(); waits for an update that is under way.
    ~Prefetch();

    /// Prefetches the bytes that `slice`, a layout starting at `offset`, selects from the segment of `owner`; the copy
    /// holds them packed. Automatic copies are filled by the first read, manual ones by update(). Throws RangeError if
    /// the slice leaves the segment, UsageError if the window was closed. Cost: memory for the copy, and planning the
    /// transfer; no message.
    ///
    /// From the first request of a rank of this node until evict(), an array that the window belongs to reads and
    /// writes the elements of the node's other ranks by calls of the window, in place of loads and stores. So no other
    /// thread of this rank may access the array's elements during that request and the evict(), and references to
    /// elements made before the request must not be written to after it.
    PrefetchedSlice request(Rank owner, Offset offset, const Layout& slice);
    /// The whole segment.
    PrefetchedSlice request(Rank owner);

    /// The copy; in automatic mode it is filled first if it is stale. It stays unchanged until the next update(), and
    /// in automatic mode until a read after an acquire: other threads of the rank must then use read(). Throws
    /// UsageError for a slice that was evicted.
    [[nodiscard]] std::span<const std::byte> access(const PrefetchedSlice& slice);
    /// Value `k` of the copy, seen as an array of T. Several threads may read at the same time. Throws RangeError, and
    /// UsageError as access().
    template <TriviallyCopyable T>
    [[nodiscard]] T read(const PrefetchedSlice& slice, std::uint64_t k) {
        T value;
        read_bytes(slice, k, std::as_writable_bytes(std::span{&value, 1}));
        return value;
    }

    /// Fills all copies; complete on return. As for a get, what other ranks have written must have been released
    /// before, and must not be written at the same time. Cost: for each owner a planned transfer; all are under way at
    /// once.
    void update();
    /// Starts a fill. Until it completes, this rank must neither read the copies nor write the elements they mirror.
    [[nodiscard]] Completion update_async();
    /// Removes all slices, and frees the copies. Other threads: see request().
    void evict();

    /// Bytes of all copies.
    [[nodiscard]] std::uint64_t memory() const noexcept;

private:
    [[nodiscard]] detail::prefetching::EntryBuffer& buffer(const char* call) const;
    /// The same for a call on a slice, which must belong to these requests.
    [[nodiscard]] detail::prefetching::EntryBuffer& buffer(const char* call, const PrefetchedSlice& slice) const;
    void read_bytes(const PrefetchedSlice& slice, std::uint64_t k, std::span<std::byte> value);

    std::shared_ptr<detail::prefetching::EntryBuffer> buffer_;
    std::uint64_t memory_ = 0;
    std::uint64_t set_; ///< unique among the objects of the process, and changed by each evict()
};

} // namespace lapwing
