#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::model {

/// The reference patterns of Zhang's model (2007, section 6.4).
enum class AccessPattern : std::uint8_t { baseline, vector, coalesce, local };
inline constexpr std::array<std::string_view, 4> access_pattern_words{"baseline", "vector", "coalesce", "local"};
[[nodiscard]] constexpr std::string_view name(AccessPattern pattern) {
    return access_pattern_words[static_cast<std::size_t>(pattern)];
}

/// Time of one of N accesses as a function of N: measured points, interpolated linearly in the logarithm of N.
/// Outside of them, the time of the nearest point.
class RateCurve {
public:
    struct Point {
        std::uint64_t accesses = 0;
        double seconds = 0; ///< per access
    };
    RateCurve() = default;
    explicit RateCurve(double seconds) : points_{{1, seconds}} {}
    /// Sorted by the number of accesses.
    explicit RateCurve(std::vector<Point> points);

    [[nodiscard]] bool empty() const noexcept { return points_.empty(); }
    /// 0 if nothing was measured.
    [[nodiscard]] double seconds(std::uint64_t accesses) const noexcept;
    /// Of one transfer of so many elements, for a curve over the elements of transfers: linear between those that were
    /// measured, and beyond them as between the last two.
    [[nodiscard]] double of_transfer(double elements) const noexcept;
    /// The same for a curve over ranks; for more than were measured it goes on as it grew at last.
    enum class Growth : std::uint8_t { logarithmic, linear };
    [[nodiscard]] double at_ranks(std::uint64_t ranks, Growth growth) const noexcept;
    [[nodiscard]] const std::vector<Point>& points() const noexcept { return points_; }

private:
    std::vector<Point> points_;
};

/// Rates of a platform: r(N, pattern) for reads and writes.
class AccessRates {
public:
    [[nodiscard]] RateCurve& of(AccessPattern pattern, bool write) {
        return curves_[static_cast<std::size_t>(pattern)][write ? 1 : 0];
    }
    [[nodiscard]] const RateCurve& of(AccessPattern pattern, bool write) const {
        return curves_[static_cast<std::size_t>(pattern)][write ? 1 : 0];
    }
    [[nodiscard]] bool empty() const noexcept;

private:
    std::array<std::array<RateCurve, 2>, 4> curves_;
};

/// Rates as lapwing-tune measures them, keyed by words joined by points: `private.read` and, in order,
/// `private.vector.read`, `own.read` and `own.write` (an own element, through an array of one block a rank),
/// `own.dealt.read` (of one whose blocks are dealt in turn), and for each path `PATH.PATTERN.read`,
/// `PATH.cached.PATTERN.read` (likewise write; with the pattern `hit` or `hit.dealt` for an element that is cached,
/// `passed` for one that bypasses the cache), `PATH.list.read`, `PATH.bulk.read` (a section of one rank's elements, by
/// their number), `PATH.update`, `PATH.atomic`, `PATH.notify` (a notified put and the wait for one).
/// `PATH.mupc.PATTERN.read` is with MuPC's cache, and `PATH.ranksN.PATTERN.read` without a cache, of N ranks while the
/// others wait; those that name no number are of all. Where the number is that of ranks, not of accesses:
/// `PATH.barrier`, `PATH.sum` and `PATH.broadcast` (collective calls with one value), `PATH.lock` (taken and released,
/// when so many ranks want it), `PATH.one_owner.read` (when so many ranks read from one).
using MeasuredRates = std::map<std::string, RateCurve, std::less<>>;
/// Does not throw: what was not measured is an empty curve.
[[nodiscard]] const RateCurve& rate_of(const MeasuredRates& rates, std::string_view key);
/// With which cache rates were measured: none, Lapwing's, or MuPC's (Zhang 2007, section 4.4.9).
enum class Caching : std::uint8_t { none, lapwing, mupc };
/// The rates of accesses between ranks that are connected by a path. Without a cache, those that were measured with so
/// many threads, or with the next larger number of ranks; 0: with all.
[[nodiscard]] AccessRates access_rates(const MeasuredRates& rates, std::string_view path, Caching caching,
                                       int threads = 0);

} // namespace lapwing::detail::model
