// Room: prefetch
#pragma once

#include <cstdint>

namespace lapwing {

/// How copies of prefetched elements are stored.
enum class PrefetchStorage : std::uint8_t {
    by_index, ///< in the order of the indices: a row-major block for each rectangle that is needed (the paper's
              ///< deserialised data)
    by_owner, ///< one block after another for each owner, as they arrive (the paper's serialised data)
    /// Around the local block, in the space reserved by GlobalArrayOptions::halo, so that reads of both cost the same,
    /// and halo_view() reads them as plain memory. What a pattern needs beyond it is stored by_index.
    halo,
};

/// What a program promises about the elements that a pattern prefetches, and what it leaves to Lapwing. All patterns
/// that an array has at the same time must have the same options.
struct PrefetchOptions {
    /// True: automatic copies. A read after an acquire (a barrier, a lock, …) sees what was released before it, as
    /// without prefetch; the first such read fills all copies again. False: manual copies. Apart from this rank's own
    /// writes they are unchanged until update().
    bool consistent = true;
    /// Promises that the array keeps its extents as long as it has the pattern: resize() then throws. Owners take no
    /// part if the network allows it; otherwise their progress threads pack the elements.
    bool static_domain = false;
    PrefetchStorage storage = PrefetchStorage::by_index;

    friend bool operator==(const PrefetchOptions&, const PrefetchOptions&) = default;
};

} // namespace lapwing
