#include "model/cached_platform.hpp"

#include <lapwing/error.hpp>
#include <lapwing/path.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lapwing::detail::model {
namespace {

/// The paths that have a cache.
[[nodiscard]] Path cached_path(std::string_view word) {
    for (const Path path : {Path::rma, Path::service})
        if (word == name(path)) return path;
    throw UsageError{
        fmt::format("elements that ranks reach by the path {} are never cached; predict a cache for rma or "
                    "service",
                    word)};
}

void check(const CacheSizes& sizes) {
    if (!std::has_single_bit(sizes.page_bytes) || sizes.page_bytes < 64 || sizes.page_bytes > 65536)
        throw UsageError{fmt::format("a cache with pages of {} bytes; the size of a page is a power of two from 64 to "
                                     "65536",
                                     sizes.page_bytes)};
    if (sizes.bytes < 4 * sizes.page_bytes)
        throw UsageError{fmt::format("a cache of {} bytes has no room for four pages of {}; make it larger, or the "
                                     "pages smaller",
                                     sizes.bytes, sizes.page_bytes)};
}

} // namespace

AccessPlatform::Cache cache_on(const CostTables& tables, std::string_view path, const CacheSizes& sizes) {
    const Path on = cached_path(path);
    check(sizes);
    const TransferModel& gets = tables.transfers(on, Direction::get);
    const TransferModel& puts = tables.transfers(on, Direction::put);
    const auto cached = [&](std::string_view what) -> const RateCurve& {
        return rate_of(tables.rates, fmt::format("{}.cached.{}", path, what));
    };
    AccessPlatform::Cache cache{
        .page_bytes = sizes.page_bytes,
        .pages = sizes.bytes / sizes.page_bytes,
        // As far as it reads ahead of a loop that does not wait for pages.
        .read_ahead_pages =
            std::min({sizes.read_ahead_bytes, std::uint64_t{128} << 10, sizes.bytes / 2}) / sizes.page_bytes,
        .hit = {cached("hit.read"), cached("hit.write")},
        .dealt_hit = {cached("hit.dealt.read"), cached("hit.dealt.write")},
        .passed = {cached("passed.read"), cached("passed.write")},
        .write_miss = cached("baseline.write"),
    };
    const RateCurve& single = rate_of(tables.rates, fmt::format("{}.baseline.read", path));
    if (gets.empty() || puts.empty() || single.empty() || cache.hit[0].empty() || cache.hit[1].empty() ||
        cache.write_miss.empty())
        throw UsageError{fmt::format("the profile has no transfers, or no rates of cached accesses, on the path {}; "
                                     "measure them with `mpirun … lapwing-tune --rates`",
                                     path)};
    constexpr std::uint64_t several = 16;
    constexpr std::uint64_t line = 64;
    constexpr std::uint64_t element = 8;
    // Single accesses are measured by all ranks at the same time. In a program all have misses.
    constexpr std::uint64_t many = 1024;
    const auto get = [&](std::uint64_t bytes) { return transfer_seconds(tables, path, Direction::get, bytes); };
    const auto miss = [&](std::uint64_t bytes) {
        return single.seconds(many) + std::max(0.0, get(bytes) - get(element));
    };
    cache.miss_seconds = miss(sizes.page_bytes);
    cache.line_seconds = miss(line);
    cache.ahead_seconds =
        transfer_seconds(tables, path, Direction::get, sizes.page_bytes, several) / static_cast<double>(several);
    // Of a page that is written back while others are, beside a message of its own with one element.
    cache.written_byte_seconds = std::max(0.0, puts.time(sizes.page_bytes, several) - puts.time(element, several)) /
                                 static_cast<double>(several * (sizes.page_bytes - element));
    return cache;
}

} // namespace lapwing::detail::model
