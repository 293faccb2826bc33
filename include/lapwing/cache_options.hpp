// Room: window
#pragma once

#include <cstdint>
#include <optional>

namespace lapwing {

/// What a cache may keep, and for how long.
enum class CacheMode : std::uint8_t {
    off,       ///< every access goes to the owner
    epoch,     ///< contents live from an acquire to the next, dirty bytes until a release: the consistency table
    read_only, ///< contents live until Window::invalidate_cache(): for data that nobody writes in between
    /// As epoch; in adopted windows the program's own MPI_Win_ calls synchronise, too. Needs the library
    /// lapwing::transparent.
    transparent,
};

/// Which page is evicted for another.
enum class CachePolicy : std::uint8_t {
    two_queues,    ///< 2Q (Johnson and Shasha, 1994)
    direct_mapped, ///< a region for each group of remote ranks, and a victim cache, as in MuPC (Zhang, 2007)
};

/// Whose cached contents an acquire by one thread drops.
enum class CacheAcquire : std::uint8_t {
    rank,   ///< those of all threads of the rank: one thread may acquire for the others
    thread, ///< those of the calling thread only: every thread acquires for itself, first of all when it starts, like
            ///< the tasks in the paper
};

/// The cache of one window, one for each thread that uses it. What is not set here comes from the settings
/// LAPWING_CACHE…
struct CacheOptions {
    std::optional<CacheMode> mode = {};      ///< whether anything is cached, and for how long
    std::optional<CachePolicy> policy = {};  ///< which page is evicted
    std::optional<std::uint64_t> bytes = {}; ///< memory for pages, for each thread; LAPWING_CACHE_MEMORY bounds all
    std::optional<std::uint64_t> page_bytes = {};  ///< a power of two from 64 to 65536
    std::optional<std::uint64_t> dirty_pages = {}; ///< pages that may have dirty bytes
    std::optional<std::uint64_t> read_ahead_bytes =
        {};                         ///< limit of read-ahead for sequential accesses; 0: no read-ahead
    std::optional<bool> adapt = {}; ///< bypass the cache, and change the page size, when that pays
    /// With CachePolicy::direct_mapped: pages of the victim cache, at most a quarter of all.
    std::optional<std::uint64_t> victim_pages = {};
    std::optional<CacheAcquire> acquire = {}; ///< whose contents an acquire by one thread drops
};

} // namespace lapwing
