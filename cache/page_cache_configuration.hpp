#pragma once

#include "cache/replacement.hpp"

#include <lapwing/cache_options.hpp>

#include <cstdint>

namespace lapwing::detail::cache {

/// A cache has room for at least this many pages.
inline constexpr std::uint64_t least_pages = 4;
/// Bytes that become valid or invalid together: a line.
inline constexpr std::uint64_t line_bytes = 64;

struct PageCacheConfiguration {
    std::uint64_t bytes = std::uint64_t{2} << 20;
    std::uint64_t page_bytes = 1024;
    std::uint64_t dirty_pages = 1024;
    std::uint64_t read_ahead_bytes = 512 << 10;
    CachePolicy policy = CachePolicy::two_queues;
    std::uint64_t victim_pages = 8; ///< of CachePolicy::direct_mapped
    RemoteRanks ranks = 1;
    std::uint64_t largest_part = 0; ///< bytes of the largest part of a rank
    bool adapt = true;
    bool alone = true; ///< no two threads call at a time
};

/// The smallest size that pages may be adapted to.
[[nodiscard]] std::uint64_t least_page_bytes(const PageCacheConfiguration& configuration) noexcept;
[[nodiscard]] std::uint64_t largest_page_bytes(const PageCacheConfiguration& configuration) noexcept;
/// Places from the beginning of a rank's part to that of the next one's (window::PageTable): whole pages of any size,
/// and so many that no page follows the last one of a part. Does not depend on the size of the cache.
[[nodiscard]] std::uint64_t part_stride(const PageCacheConfiguration& configuration) noexcept;

/// What a cache has room for with pages of one size.
struct PageCacheLayout {
    PageCacheLayout(const PageCacheConfiguration& configuration, std::uint64_t bytes_of_page) noexcept;

    std::uint64_t page_bytes;
    std::uint64_t frames;
    std::uint64_t dirty_pages;
};

} // namespace lapwing::detail::cache
