// Room: arrays
#pragma once

#include <lapwing/detail/array_errors.hpp>
#include <lapwing/prefetch_options.hpp>
#include <lapwing/team.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lapwing::detail::prefetching {
class CopyState;
class EntryBuffer;
} // namespace lapwing::detail::prefetching

namespace lapwing::detail::arrays {

class SliceCollector;

/// The copies of elements that an array has prefetched, as far as they need not know indices.
class ArrayCopies {
public:
    [[nodiscard]] bool empty() const noexcept { return buffer_ == nullptr; }
    /// Requires !empty().
    [[nodiscard]] PrefetchOptions options() const noexcept;

    /// The barrier that prefetch() begins with: as ArrayBase::begin_collective(), with the options as its arguments.
    static void begin_call(const ArrayTitle& array, Team& team, const PrefetchOptions& options);
    /// Throws UsageError for options that the array cannot have, or that differ from those of its patterns.
    void check(const ArrayTitle& array, std::int64_t halo, const PrefetchOptions& options) const;
    /// Makes the buffer of the copies, if there is none.
    prefetching::CopyState& begin(Window& window, const PrefetchOptions& options);
    /// Memory of `bytes` bytes for the copies of `slices`: see EntryBuffer::add. Requires !empty().
    std::byte* add(std::uint64_t bytes, SliceCollector& slices, std::uint64_t index_bytes, std::byte* memory = nullptr);
    /// Fills manual copies that are new. Requires !empty().
    void fill_new();
    /// Fills copies that are stale. Requires !empty().
    [[gnu::noinline]] void refresh() const;
    void drop() noexcept;
    /// The buffer; throws UsageError if there are no copies.
    [[nodiscard]] prefetching::EntryBuffer& buffer(const ArrayTitle& array, const char* call) const;
    /// Throws UsageError if there are no copies in the halo.
    void require_halo(const ArrayTitle& array) const;
    /// Throws UsageError if a prefetch has promised that the extents stay.
    void require_free_extents(const ArrayTitle& array) const;
    void count_hits() const;

private:
    std::shared_ptr<prefetching::EntryBuffer> buffer_; ///< null if there are no copies
};

} // namespace lapwing::detail::arrays
