#include "model/access_platform.hpp"

#include <lapwing/error.hpp>
#include <lapwing/path.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace lapwing::detail::model {

void use_synchronisation(AccessPlatform& platform, const MeasuredRates& rates, std::string_view path, int threads) {
    const auto of = [&](std::string_view key) -> const RateCurve& {
        return rate_of(rates, fmt::format("{}.{}", path, key));
    };
    using Growth = RateCurve::Growth;
    const auto ranks = static_cast<std::uint64_t>(std::max(1, threads));
    const RateCurve& barrier = of("barrier");
    platform.measured_ranks = barrier.empty() ? 0 : static_cast<int>(barrier.points().back().accesses);
    platform.barrier_seconds = barrier.at_ranks(ranks, Growth::logarithmic);
    platform.lock_seconds = of("lock").at_ranks(ranks, Growth::linear);
    platform.collective_seconds = of("sum").at_ranks(ranks, Growth::logarithmic);
    platform.notify_seconds = of("notify").seconds(1);
    // Of the threads one is the owner.
    const RateCurve& one_owner = of("one_owner.read");
    const double alone = one_owner.seconds(1);
    platform.contention =
        ranks > 1 && alone > 0 ? std::max(1.0, one_owner.at_ranks(ranks - 1, Growth::linear) / alone) : 1;
}

void use_transfers(AccessPlatform& platform, const CostTables& tables, std::string_view path) {
    const auto of = [&](std::string_view key) -> const RateCurve& {
        return rate_of(tables.rates, fmt::format("{}.{}", path, key));
    };
    constexpr std::uint64_t many = 1024;
    platform.atomic_seconds = of("atomic").seconds(many);
    platform.update_seconds = of("update").seconds(many);
    platform.lists = {of("list.read"), of("list.write")};
    for (const Path on : {Path::direct, Path::rma, Path::service})
        if (path == name(on))
            platform.transfers = {tables.transfers(on, Direction::get), tables.transfers(on, Direction::put)};
}

void find_exploited(AccessPlatform& platform) {
    const auto faster = [&](AccessPattern pattern, bool write) {
        const RateCurve& rate = platform.rates.of(pattern, write);
        const RateCurve& baseline = platform.rates.of(AccessPattern::baseline, write);
        return !rate.empty() && !baseline.empty() &&
               std::ranges::all_of(std::array<std::uint64_t, 3>{64, 512, 4096}, [&](std::uint64_t accesses) {
                   return rate.seconds(accesses) < exploited_below * baseline.seconds(accesses);
               });
    };
    platform.vectorises = faster(AccessPattern::vector, false) || faster(AccessPattern::vector, true);
    platform.coalesces = faster(AccessPattern::coalesce, false) || faster(AccessPattern::coalesce, true);
}

AccessPlatform measured_platform(const CostTables& tables, std::string_view path, int threads, Caching caching) {
    AccessPlatform platform{.rates = access_rates(tables.rates, path, caching, threads)};
    find_exploited(platform);
    use_synchronisation(platform, tables.rates, path, threads);
    use_transfers(platform, tables, path);
    constexpr std::uint64_t many = std::uint64_t{1} << 14;
    platform.private_seconds = rate_of(tables.rates, "private.read").seconds(many);
    return platform;
}

double AccessPlatform::concurrency(AccessPattern pattern, bool write, std::uint64_t accesses) const {
    if (!(private_seconds > 0))
        throw UsageError{"the rate of accesses to private memory is not known; measure it with lapwing-tune --rates"};
    return rates.of(pattern, write).seconds(accesses) / private_seconds;
}

} // namespace lapwing::detail::model
