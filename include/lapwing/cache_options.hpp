// Room: window
#pragma once

#include <cstdint>
#include <optional>

namespace lapwing {

/// What a cache may keep, and for how long.
enum class CacheMode : std::uint8_t {
    off,       ///< every access goes to the owner
    epoch,     ///< contents live from an acquire to the next, dirty bytes until a release: the consistency table
    read_only, ///< contents live until Window::invalidate_cache(): for data that nobody writes meanwhile
    /// As epoch; in adopted windows the program's own MPI_Win_ calls synchronise too. Needs the library
    /// lapwing::transparent.
    transparent,
};

/// Which page makes room for another.
enum class CachePolicy : std::uint8_t {
    two_queues,    ///< 2Q (Johnson and Shasha, 1994)
    direct_mapped, ///< a region for each group of remote ranks, and a victim cache, as in MuPC (Zhang, 2007)
};

/// Whose contents an acquire by one thread makes unusable.
enum class CacheAcquire : std::uint8_t {
    rank,   ///< those of all threads of the rank: one thread may acquire, and the others read what it has seen
    thread, ///< the calling thread's: every thread acquires for itself, first of all when it starts, as the tasks of
            ///< the paper
};

/// A cache of one window, for each thread that uses it. What is left out comes from the settings LAPWING_CACHE…
struct CacheOptions {
    std::optional<CacheMode> mode = {};      ///< whether anything is cached, and what makes it unusable
    std::optional<CachePolicy> policy = {};  ///< which page makes room for another
    std::optional<std::uint64_t> bytes = {}; ///< memory for pages, for each thread; LAPWING_CACHE_MEMORY bounds all
    std::optional<std::uint64_t> page_bytes = {};       ///< a power of two from 64 to 65536
    std::optional<std::uint64_t> dirty_pages = {};      ///< pages with bytes to be written back
    std::optional<std::uint64_t> read_ahead_bytes = {}; ///< most that is read ahead of a sequential access; 0: nothing
    std::optional<bool> adapt = {}; ///< stop caching, and change the page size, where it does not pay
    /// With CachePolicy::direct_mapped: pages of the victim cache, at most a quarter of all.
    std::optional<std::uint64_t> victim_pages = {};
    std::optional<CacheAcquire> acquire = {}; ///< whose contents an acquire by one thread makes unusable
};

} // namespace lapwing
