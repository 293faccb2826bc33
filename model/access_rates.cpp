#include "model/access_rates.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace lapwing::detail::model {

RateCurve::RateCurve(std::vector<Point> points) : points_{std::move(points)} {
    std::ranges::sort(points_, {}, &Point::accesses);
}

double RateCurve::seconds(std::uint64_t accesses) const noexcept {
    if (points_.empty()) return 0;
    const auto above = std::ranges::find_if(points_, [&](const Point& p) { return p.accesses >= accesses; });
    if (above == points_.begin()) return above->seconds;
    if (above == points_.end()) return points_.back().seconds;
    const Point& below = *(above - 1);
    const double whole = std::log(static_cast<double>(above->accesses)) - std::log(static_cast<double>(below.accesses));
    const double part = std::log(static_cast<double>(accesses)) - std::log(static_cast<double>(below.accesses));
    return below.seconds + (above->seconds - below.seconds) * part / whole;
}

bool AccessRates::empty() const noexcept {
    return std::ranges::all_of(curves_, [](const auto& both) { return both[0].empty() && both[1].empty(); });
}

const RateCurve& rate_of(const MeasuredRates& rates, std::string_view key) {
    static const auto& none = *new RateCurve;
    const auto found = rates.find(key);
    return found == rates.end() ? none : found->second;
}

AccessRates access_rates(const MeasuredRates& rates, std::string_view path, bool cached) {
    AccessRates result;
    for (const AccessPattern pattern : {AccessPattern::baseline, AccessPattern::vector, AccessPattern::coalesce})
        for (const bool write : {false, true})
            result.of(pattern, write) = rate_of(rates, fmt::format("{}{}.{}.{}", path, cached ? ".cached" : "",
                                                                   name(pattern), write ? "write" : "read"));
    result.of(AccessPattern::local, false) = rate_of(rates, "own.read");
    result.of(AccessPattern::local, true) = rate_of(rates, "own.write");
    return result;
}

void use_synchronisation(AccessPlatform& platform, const MeasuredRates& rates, std::string_view path, int threads) {
    const auto of = [&](std::string_view key) -> const RateCurve& {
        return rate_of(rates, fmt::format("{}.{}", path, key));
    };
    const auto ranks = static_cast<std::uint64_t>(std::max(1, threads));
    platform.barrier_seconds = of("barrier").seconds(ranks);
    platform.lock_seconds = of("lock").seconds(ranks);
    platform.collective_seconds = of("sum").seconds(ranks);
    platform.notify_seconds = of("notify").seconds(1);
    // Of the threads one is the owner.
    const RateCurve& one_owner = of("one_owner.read");
    const double alone = one_owner.seconds(1);
    platform.contention = ranks > 1 && alone > 0 ? std::max(1.0, one_owner.seconds(ranks - 1) / alone) : 1;
}

double AccessPlatform::concurrency(AccessPattern pattern, bool write, std::uint64_t accesses) const {
    if (!(private_seconds > 0))
        throw UsageError{"the rate of accesses to private memory is not known; measure it with lapwing-tune --rates"};
    return rates.of(pattern, write).seconds(accesses) / private_seconds;
}

double predicted_speed_up(const AccessPlatform& platform, const AccessCounts& counts) {
    const auto weighted = [&](AccessPattern pattern, double accesses) {
        return accesses == 0 ? 0.0
                             : accesses * platform.concurrency(pattern, false, static_cast<std::uint64_t>(accesses));
    };
    const double parallel = counts.private_accesses + weighted(AccessPattern::local, counts.local) +
                            weighted(AccessPattern::baseline, counts.baseline) +
                            weighted(AccessPattern::vector, counts.vector) +
                            weighted(AccessPattern::coalesce, counts.coalesce);
    return parallel == 0 ? 0 : counts.sequential / parallel;
}

} // namespace lapwing::detail::model
