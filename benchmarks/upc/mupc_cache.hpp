#pragma once

#include <lapwing/upc.hpp>

#include <algorithm>
#include <cstdint>

namespace lapwing::bench {

/// MuPC's cache as Zhang (2007), chapter 5, counts it: `sets` sets for each of the other threads, and the victim cache
/// beside them.
[[nodiscard]] inline CacheOptions mupc_sets(int threads, std::uint64_t sets, std::uint64_t block_bytes) {
    const std::uint64_t mapped = sets * static_cast<std::uint64_t>(std::max(1, threads - 1));
    const std::uint64_t victims = std::min<std::uint64_t>(8, mapped / 3); // with more, sets would be taken away
    CacheOptions options = upc::mupc_cache(mapped + victims, block_bytes);
    options.victim_pages = victims;
    return options;
}

} // namespace lapwing::bench
