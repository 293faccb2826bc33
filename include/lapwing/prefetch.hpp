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

/// A part of another rank's segment that is prefetched: where its copy is. Valid until evict().
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
    std::uint64_t set_; ///< the requests that it is one of: those of an object since its last evict()
};

/// Copies of parts of other ranks' segments of a window, moved in bulk and kept consistent: the calls below the
/// patterns of global arrays, for programs and runtimes that know ranks and bytes, not indices. They are the low-level
/// interface of LAPPS (Kayraklioglu, Ferguson and El-Ghazawi, 2018, appendix A): request, access, update, evict.
///
/// ```cpp
/// lapwing::Prefetch ahead{window, {.consistent = false}};
/// const auto column = ahead.request(left, Offset{0}, Layout::strided(rows, sizeof(double), row_bytes));
/// for (int step = 0; step < steps; ++step) {
///     runtime.barrier();
///     ahead.update();                                             // everything that was requested, all owners at a
///     time for (std::size_t i = 0; i < rows; ++i) use(ahead.read<double>(column, i));
/// }
/// ```
///
/// All calls are local. Own writes to bytes that are prefetched, through any call on the window, go to the copies as
/// well. The object may outlive the window: it is empty then, and its calls throw UsageError. Hits are in the window's
/// statistics when it is closed, or behind evict().
class Prefetch {
public:
    /// Nothing is requested yet. Other threads of this rank must not write to the window meanwhile, nor while the
    /// object goes: inline writes of a cached window pass by what tells the copies of them. Throws UsageError for a
    /// closed window.
    explicit Prefetch(Window& window, const PrefetchOptions& options = {});
    Prefetch(Prefetch&&) noexcept;
    Prefetch& operator=(Prefetch&&) noexcept;
    /// As evict(); waits for an update that is under way.
    ~Prefetch();

    /// Prefetches the bytes that `slice`, a layout from `offset` on, has of the segment of `owner`; the copy has them
    /// packed. Automatic copies are filled by the first read, manual ones by update(). Throws RangeError when the slice
    /// leaves the segment, UsageError when the window was closed. Cost: memory for the copy, and planning the transfer;
    /// no message.
    PrefetchedSlice request(Rank owner, Offset offset, const Layout& slice);
    /// The whole segment.
    PrefetchedSlice request(Rank owner);

    /// The copy, which automatic mode fills first if it is stale. It stays as it is until the next update(), and in
    /// automatic mode until a read behind an acquire: other threads of the rank must then use read(). Throws UsageError
    /// for a slice that was evicted.
    [[nodiscard]] std::span<const std::byte> access(const PrefetchedSlice& slice);
    /// Value `k` of the copy, taken as an array of T. Several threads may read at a time. Throws RangeError, and
    /// UsageError as access().
    template <TriviallyCopyable T>
    [[nodiscard]] T read(const PrefetchedSlice& slice, std::uint64_t k) {
        T value;
        read_bytes(slice, k, std::as_writable_bytes(std::span{&value, 1}));
        return value;
    }

    /// Fills all copies; complete on return. What other ranks have written must have been released before, and must not
    /// be written meanwhile: as a get. Cost: for each owner a planned transfer, all under way at a time.
    void update();
    /// The copies must not be read, nor what they are of be written by this rank, until the completion says so.
    [[nodiscard]] Completion update_async();
    /// Forgets all slices, and frees the copies.
    void evict();

    /// Bytes of all copies.
    [[nodiscard]] std::uint64_t memory() const noexcept;

private:
    [[nodiscard]] detail::prefetching::EntryBuffer& buffer(const char* call) const;
    /// The same for a call on a slice, which must be one of these requests.
    [[nodiscard]] detail::prefetching::EntryBuffer& buffer(const char* call, const PrefetchedSlice& slice) const;
    void read_bytes(const PrefetchedSlice& slice, std::uint64_t k, std::span<std::byte> value);

    std::shared_ptr<detail::prefetching::EntryBuffer> buffer_;
    std::uint64_t memory_ = 0;
    std::uint64_t set_; ///< no other object of the process has the same, nor had this one before its last evict()
};

} // namespace lapwing
