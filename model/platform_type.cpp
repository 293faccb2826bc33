#include "model/platform_type.hpp"

#include "model/access_platform.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace lapwing::detail::model {
namespace {

/// Between HP-UPC's and MuPC's or Berkeley UPC's: a thousand, and seven thousand.
constexpr double most_of_low_latency = 2000;
constexpr double same_scale = 10;

/// As table 8.3 has it, with the platform's own numbers.
void choose_style(const PlatformMatrix& matrix, PlatformType& type) {
    const double own = matrix.baseline / matrix.local;
    const double best = std::min(matrix.vector, matrix.coalesce);
    const char* const walk = matrix.vector <= matrix.coalesce ? "in order" : "close to each other";
    if (!type.exploits) {
        type.style =
            fmt::format("{}gather single accesses into bulk transfers (patches, lists, prefetch, mapped arrays): one "
                        "takes as long as {:.0f} accesses to own elements, and a loop over neighbours is no faster "
                        "than one at random places",
                        type.low_latency ? "" : "access as little of other ranks' memory as possible, and ", own);
        type.trade_off = type.low_latency ? "easier to program than the first type; not fast where latency is high"
                                          : "harder to program; as fast as message passing";
        return;
    }
    type.style = fmt::format(
        "{}access elements {}: that takes {:.2g} of the time of an access at a random place, which takes as "
        "long as {:.0f} accesses to own elements",
        type.low_latency ? "" : "avoid accesses at random places, and ", walk, best / matrix.baseline, own);
    type.trade_off = type.low_latency ? "easiest to program, and fastest; not fast on other platforms"
                                      : "easier to program; not as fast as bulk transfers";
}

void find_bottlenecks(const PlatformMatrix& matrix, PlatformType& type) {
    const auto add = [&](double slow, double fast, double most, const char* what) {
        if (fast > 0 && slow > most * fast)
            type.bottlenecks.push_back(fmt::format("{}: {:.3g} times as long", what, slow / fast));
    };
    add(matrix.baseline, matrix.stream, 2, "reads while all ranks read, beside those of one rank alone");
    add(matrix.local, matrix.plain, same_scale, "own elements, beside private memory");
    add(matrix.coalesce, matrix.local, same_scale, "elements at small distances, beside own ones");
    add(matrix.vector, matrix.local, same_scale, "elements in order, beside own ones");
}

} // namespace

std::string PlatformType::name() const {
    return fmt::format("{} latency, access patterns {}", low_latency ? "low" : "high",
                       exploits ? "exploited" : "not exploited");
}

PlatformMatrix platform_matrix(const MeasuredRates& rates, std::string_view path, Caching caching) {
    constexpr std::uint64_t accesses = 1024;
    const AccessRates of = access_rates(rates, path, caching);
    const auto seconds = [&](AccessPattern pattern) { return of.of(pattern, false).seconds(accesses); };
    const PlatformMatrix matrix{.stream = rate_of(rates, fmt::format("{}.one_owner.read", path)).seconds(1),
                                .baseline = seconds(AccessPattern::baseline),
                                .coalesce = seconds(AccessPattern::coalesce),
                                .vector = seconds(AccessPattern::vector),
                                .local = seconds(AccessPattern::local),
                                .plain = rate_of(rates, "private.read").seconds(accesses)};
    if (std::min({matrix.baseline, matrix.coalesce, matrix.vector, matrix.local, matrix.plain}) <= 0)
        throw UsageError{fmt::format("the profile has no rates of single {}accesses on the path {}; measure them with "
                                     "`mpirun … lapwing-tune --rates`",
                                     caching == Caching::none ? "" : "cached ", path)};
    return matrix;
}

PlatformType platform_type(const PlatformMatrix& matrix) {
    PlatformType type{.low_latency = matrix.baseline <= most_of_low_latency * matrix.plain,
                      .exploits = std::min(matrix.vector, matrix.coalesce) < exploited_below * matrix.baseline};
    choose_style(matrix, type);
    find_bottlenecks(matrix, type);
    return type;
}

} // namespace lapwing::detail::model
