#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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

/// Rates as lapwing-tune measures them, keyed by words joined by points: `private.read`, `own.read` and `own.write` (a
/// local element, through the array), and for each path `PATH.PATTERN.read`, `PATH.cached.PATTERN.read`
/// (likewise write; with the pattern `hit` for an element that is cached), `PATH.list.read`, `PATH.update`,
/// `PATH.atomic`, `PATH.notify` (a notified put and the wait for one). Where the number is that of ranks, not of
/// accesses: `PATH.barrier`, `PATH.sum` and `PATH.broadcast` (collective calls with one value), `PATH.lock` (taken and
/// released, when so many ranks want it), `PATH.one_owner.read` (when so many ranks read from one).
using MeasuredRates = std::map<std::string, RateCurve, std::less<>>;
/// Does not throw: what was not measured is an empty curve.
[[nodiscard]] const RateCurve& rate_of(const MeasuredRates& rates, std::string_view key);
/// The rates of accesses between ranks that are connected by a path; `cached`: with Lapwing's cache.
[[nodiscard]] AccessRates access_rates(const MeasuredRates& rates, std::string_view path, bool cached);

/// A platform as the model sees it.
struct AccessPlatform {
    AccessRates rates = {};
    bool vectorises = false; ///< benefits when successive accesses have the same affinity
    bool coalesces = false;  ///< benefits when accesses are near each other
    double barrier_seconds = 0;
    // The same for what else synchronises, each once; 0: not known.
    double lock_seconds = 0;
    double collective_seconds = 0;
    double notify_seconds = 0;
    double contention = 1;      ///< how much longer an access takes where all threads access one of them
    double private_seconds = 0; ///< an access to private memory
    /// A cache for remote accesses, as in section 7.2: hits cost what local accesses do.
    struct Cache {
        std::uint64_t page_bytes = 1024;
        std::uint64_t pages = 2048;
        std::uint64_t read_ahead_pages = 0; ///< the most that are fetched after a sequential miss
        double miss_seconds = 0;
    };
    std::optional<Cache> cache = {};

    /// How much longer a shared access takes than a private one: G of section 6.6. Throws UsageError unless the private
    /// access was measured.
    [[nodiscard]] double concurrency(AccessPattern pattern, bool write, std::uint64_t accesses) const;
};

/// Sets the times of barriers, locks, collective calls, notified puts and contention for one owner, for a number of
/// threads, from what was measured for ranks that are connected by a path.
void use_synchronisation(AccessPlatform& platform, const MeasuredRates& rates, std::string_view path, int threads);

/// Accesses by any thread, for equation 6.2.
struct AccessCounts {
    double sequential = 0; ///< N_s: of the sequential program
    double private_accesses = 0;
    double local = 0;
    double baseline = 0;
    double vector = 0;
    double coalesce = 0;
};
/// Equation 6.2: the speed-up that the G values alone predict, from the rates of reads.
[[nodiscard]] double predicted_speed_up(const AccessPlatform& platform, const AccessCounts& counts);

} // namespace lapwing::detail::model
