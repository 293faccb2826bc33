#pragma once

#include "model/access_platform.hpp"
#include "model/cost_model.hpp"

#include <cstdint>
#include <string_view>

namespace lapwing::detail::model {

/// As LAPWING_CACHE_BYTES, LAPWING_CACHE_PAGE and LAPWING_CACHE_READ_AHEAD, with their default values.
struct CacheSizes {
    std::uint64_t bytes = std::uint64_t{2} << 20;
    std::uint64_t page_bytes = 1024;
    std::uint64_t read_ahead_bytes = std::uint64_t{512} << 10;
};

/// A cache of such sizes between ranks that are connected by a path, with what was measured there: a miss fetches a
/// page and takes that much longer than a single read, read-ahead fetches pages while others are under way, and hits
/// take the measured time. Throws UsageError for a path without a cache, sizes that a cache cannot have, and what was
/// not measured.
[[nodiscard]] AccessPlatform::Cache cache_on(const CostTables& tables, std::string_view path, const CacheSizes& sizes);

} // namespace lapwing::detail::model
