#include "model/access_platform.hpp"

#include <lapwing/error.hpp>
#include <lapwing/path.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

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
    platform.bulk = {of("bulk.read"), of("bulk.write")};
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
    use_own_memory(platform, tables.rates);
    return platform;
}

void use_own_memory(AccessPlatform& platform, const MeasuredRates& rates) {
    platform.dealt_local = {rate_of(rates, "own.dealt.read"), rate_of(rates, "own.dealt.write")};
    constexpr std::uint64_t many = std::uint64_t{1} << 14;
    platform.private_seconds = rate_of(rates, "private.read").seconds(many);
    platform.private_in_order_seconds = rate_of(rates, "private.vector.read").seconds(many);
}

AccessPlatform beside_private_memory(AccessPlatform platform) {
    const auto subtract = [](RateCurve& rate, double seconds) {
        std::vector<RateCurve::Point> points = rate.points();
        for (RateCurve::Point& point : points) point.seconds = std::max(0.0, point.seconds - seconds);
        rate = RateCurve{std::move(points)};
    };
    const double anywhere = platform.private_seconds;
    const double in_order = platform.private_in_order_seconds > 0 ? platform.private_in_order_seconds : anywhere;
    using enum AccessPattern;
    for (const bool write : {false, true}) {
        for (const AccessPattern pattern : {baseline, local}) subtract(platform.rates.of(pattern, write), anywhere);
        for (const AccessPattern pattern : {vector, coalesce}) subtract(platform.rates.of(pattern, write), in_order);
        subtract(platform.dealt_local[write ? 1 : 0], anywhere);
        if (platform.cache)
            for (auto* const rates : {&platform.cache->hit, &platform.cache->dealt_hit, &platform.cache->passed})
                subtract((*rates)[write ? 1 : 0], anywhere);
    }
    return platform;
}

double transfer_seconds(const CostTables& tables, std::string_view path, Direction direction, std::uint64_t bytes,
                        std::uint64_t operations) {
    constexpr double element = 8;
    const auto size = std::max<std::uint64_t>(bytes, 1);
    const RateCurve& bulk =
        rate_of(tables.rates, fmt::format("{}.bulk.{}", path, direction == Direction::put ? "write" : "read"));
    const double of_all = bulk.of_transfer(static_cast<double>(size) / element);
    if (operations == 1 && !bulk.empty()) return of_all;
    for (const Path on : {Path::direct, Path::rma, Path::service})
        if (path == name(on)) {
            const TransferModel& model = tables.transfers(on, direction);
            if (model.empty()) return bulk.empty() ? 0 : static_cast<double>(operations) * of_all;
            const double alone = model.time(size);
            const double longer = bulk.empty() || !(alone > 0) ? 1 : std::max(1.0, of_all / alone);
            return longer * model.time(size, operations);
        }
    return 0;
}

double AccessPlatform::concurrency(AccessPattern pattern, bool write, std::uint64_t accesses) const {
    if (!(private_seconds > 0))
        throw UsageError{"the rate of accesses to private memory is not known; measure it with lapwing-tune --rates"};
    return rates.of(pattern, write).seconds(accesses) / private_seconds;
}

} // namespace lapwing::detail::model
