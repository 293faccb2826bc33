// Room: prefetch
#pragma once

#include <cstdint>

namespace lapwing {

/// How copies of prefetched elements lie in memory.
enum class PrefetchStorage : std::uint8_t {
    by_index, ///< as the indices do: a row-major block for each rectangle that is needed (the paper's deserialised
              ///< data)
    by_owner, ///< one block behind the other for each owner, as they arrive (the paper's serialised data)
    /// Around the own block, so that reads of both cost the same, and halo_view() reads them as plain memory: in the
    /// room that GlobalArrayOptions::halo has left. What a pattern needs beyond it goes by_index.
    halo,
};

/// What a program promises about the elements that a pattern prefetches, and what it leaves to Lapwing. All patterns
/// that an array has at a time have the same options.
struct PrefetchOptions {
    /// Automatic: a read behind an acquire (a barrier, a lock, …) sees what was released before it, as without
    /// prefetch; the first such read fills all copies again. Manual (false): copies stay as they are until update(),
    /// but for own writes.
    bool consistent = true;
    /// The array keeps its extents as long as it has the pattern: resize() is refused. Owners then take no part where
    /// the network allows; else their progress threads pack what they are asked for.
    bool static_domain = false;
    PrefetchStorage storage = PrefetchStorage::by_index;

    friend bool operator==(const PrefetchOptions&, const PrefetchOptions&) = default;
};

} // namespace lapwing
