#include "model/loggp_platform.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lapwing::detail::model {

AccessPlatform loggp_platform(const LogGpNetwork& network, int threads, const AccessPlatform& own) {
    if (std::min({network.latency, network.overhead, network.gap, network.per_byte}) < 0 || threads < 1)
        throw UsageError{fmt::format("a network of L = {} s, o = {} s, g = {} s, G = {} s with {} threads; none of "
                                     "these may be negative, and there must be at least 1 thread",
                                     network.latency, network.overhead, network.gap, network.per_byte, threads)};
    constexpr double bytes = 8;
    AccessPlatform platform{.rates = own.rates, .dealt_local = own.dealt_local, .private_seconds = own.private_seconds};
    const double message = network.latency + 2 * network.overhead;
    const RateCurve read{2 * message + bytes * network.per_byte};
    const RateCurve write{std::max(network.gap, network.overhead) + bytes * network.per_byte};
    for (const AccessPattern pattern : {AccessPattern::baseline, AccessPattern::vector, AccessPattern::coalesce}) {
        platform.rates.of(pattern, false) = read;
        platform.rates.of(pattern, true) = write;
    }
    const auto rounds = std::bit_width(static_cast<unsigned>(threads) - 1);
    platform.barrier_seconds = static_cast<double>(rounds) * message;
    // Up a tree and down again.
    platform.collective_seconds = 2 * platform.barrier_seconds;
    platform.notify_seconds = message;
    // By way of its home, from each thread that wants it to the next one.
    platform.lock_seconds = static_cast<double>(threads) * 2 * message;
    // An owner serves one access after another, and all other threads want one of it.
    const double served = std::max(network.gap, network.overhead);
    const double alone = read.seconds(1);
    if (alone > 0) platform.contention = std::max(1.0, static_cast<double>(threads - 1) * served / alone);
    return platform;
}

} // namespace lapwing::detail::model
