#include "model/access_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
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

double RateCurve::of_transfer(double elements) const noexcept {
    if (points_.empty()) return 0;
    const auto place = [](const Point& p) { return static_cast<double>(p.accesses); };
    const auto total = [&](const Point& p) { return p.seconds * place(p); };
    if (points_.size() == 1 || elements <= place(points_.front()))
        return points_.size() == 1 ? points_.front().seconds * elements : total(points_.front());
    auto above = std::ranges::find_if(points_, [&](const Point& p) { return place(p) >= elements; });
    if (above == points_.end()) --above;
    const Point& below = *(above - 1);
    const double slope = std::max(0.0, total(*above) - total(below)) / (place(*above) - place(below));
    return total(below) + slope * (elements - place(below));
}

double RateCurve::at_ranks(std::uint64_t ranks, Growth growth) const noexcept {
    if (points_.empty() || ranks <= points_.back().accesses) return seconds(ranks);
    const auto place = [&](std::uint64_t of) {
        const auto number = static_cast<double>(std::max<std::uint64_t>(of, 1));
        return growth == Growth::linear ? number : std::log2(number);
    };
    const Point& last = points_.back();
    const double whole = place(last.accesses);
    // From one measurement: in proportion.
    if (points_.size() == 1) return whole > 0 ? last.seconds * place(ranks) / whole : last.seconds;
    const Point& before = *(points_.end() - 2);
    const double slope = std::max(0.0, last.seconds - before.seconds) / (whole - place(before.accesses));
    return last.seconds + slope * (place(ranks) - whole);
}

bool AccessRates::empty() const noexcept {
    return std::ranges::all_of(curves_, [](const auto& both) { return both[0].empty() && both[1].empty(); });
}

const RateCurve& rate_of(const MeasuredRates& rates, std::string_view key) {
    static const auto& none = *new RateCurve;
    const auto found = rates.find(key);
    return found == rates.end() ? none : found->second;
}

namespace {

/// What keys begin with that were measured with so many ranks, or the next larger number of them: the path, where that
/// is all.
[[nodiscard]] std::string of_ranks(const MeasuredRates& rates, std::string_view path, int threads) {
    const std::string begin = fmt::format("{}.ranks", path);
    int fewest = std::numeric_limits<int>::max();
    for (auto rate = rates.lower_bound(begin); rate != rates.end() && rate->first.starts_with(begin); ++rate) {
        int ranks = 0;
        const char* const number = rate->first.data() + begin.size();
        std::from_chars(number, rate->first.data() + rate->first.size(), ranks);
        if (ranks >= threads) fewest = std::min(fewest, ranks);
    }
    return threads < 1 || fewest == std::numeric_limits<int>::max() ? std::string{path}
                                                                    : fmt::format("{}{}", begin, fewest);
}

} // namespace

AccessRates access_rates(const MeasuredRates& rates, std::string_view path, Caching caching, int threads) {
    const std::string of = caching == Caching::none      ? of_ranks(rates, path, threads)
                           : caching == Caching::lapwing ? fmt::format("{}.cached", path)
                                                         : fmt::format("{}.mupc", path);
    AccessRates result;
    for (const AccessPattern pattern : {AccessPattern::baseline, AccessPattern::vector, AccessPattern::coalesce})
        for (const bool write : {false, true})
            result.of(pattern, write) =
                rate_of(rates, fmt::format("{}.{}.{}", of, name(pattern), write ? "write" : "read"));
    result.of(AccessPattern::local, false) = rate_of(rates, "own.read");
    result.of(AccessPattern::local, true) = rate_of(rates, "own.write");
    return result;
}

} // namespace lapwing::detail::model
