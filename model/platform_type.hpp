#pragma once

#include "model/access_rates.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::model {

/// The performance matrix of a platform (Zhang 2007, table 8.2): seconds of a single read.
struct PlatformMatrix {
    double stream = 0;   ///< of another rank's element, while no other rank reads; 0: not known
    double baseline = 0; ///< the same, while all do
    double coalesce = 0; ///< at small, irregular distances
    double vector = 0;   ///< one after another
    double local = 0;    ///< of an own element
    double plain = 0;    ///< of private memory
};
/// From measured rates, of 1024 accesses. Throws UsageError if they are not there.
[[nodiscard]] PlatformMatrix platform_matrix(const MeasuredRates& rates, std::string_view path, Caching caching);

/// How to program a platform (section 8.3, table 8.3).
struct PlatformType {
    bool low_latency = false; ///< a remote read takes no longer than 2000 private ones
    bool exploits = false;    ///< coalescing or vectors: they take less than 0.8 of the baseline
    [[nodiscard]] int number() const noexcept { return 1 + (low_latency ? 2 : 0) + (exploits ? 1 : 0); }
    [[nodiscard]] std::string name() const;
    std::string style = {};
    std::string trade_off = {};
    /// What an ideal platform would not have (section 8.1), with numbers.
    std::vector<std::string> bottlenecks = {};
};
[[nodiscard]] PlatformType platform_type(const PlatformMatrix& matrix);

} // namespace lapwing::detail::model
