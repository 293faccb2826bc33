#include "cache/page_cache_configuration.hpp"

#include <algorithm>

namespace lapwing::detail::cache {
namespace {

constexpr std::uint64_t least_pages_to_adapt = 64;
constexpr std::uint64_t most_growth = 4; ///< of pages that are adapted

} // namespace

std::uint64_t least_page_bytes(const PageCacheConfiguration& configuration) noexcept {
    return configuration.adapt ? std::max<std::uint64_t>(configuration.page_bytes / 2, 64) : configuration.page_bytes;
}

std::uint64_t largest_page_bytes(const PageCacheConfiguration& configuration) noexcept {
    std::uint64_t bytes = configuration.page_bytes;
    while (configuration.adapt && bytes < most_growth * configuration.page_bytes && bytes < 65536 &&
           configuration.bytes / (2 * bytes) >= least_pages_to_adapt)
        bytes *= 2;
    return bytes;
}

std::uint64_t part_stride(const PageCacheConfiguration& configuration) noexcept {
    const std::uint64_t largest_page = (configuration.adapt ? most_growth : 1) * configuration.page_bytes;
    return (configuration.largest_part / largest_page + 2) * largest_page;
}

PageCacheLayout::PageCacheLayout(const PageCacheConfiguration& configuration, std::uint64_t bytes_of_page) noexcept
    : page_bytes{bytes_of_page},
      frames{configuration.bytes / bytes_of_page},
      // Fewer than the pages that pass through at a time, or these would be evicted before they are written behind.
      dirty_pages{std::clamp<std::uint64_t>(frames / 4, 1, configuration.dirty_pages)} {}

} // namespace lapwing::detail::cache
