#pragma once

#include <lapwing/rank.hpp>

#include <array>
#include <cstdint>

namespace lapwing::detail::functions {

/// Over which ranks messages go in a team in which each rank is to exchange some with few others. A rank's number is
/// written in `hops()` digits, and every hop changes one digit to the target's: so a rank has as many neighbours as
/// digits can be changed, the hops() times the hops()-th root of the ranks. The same is done by Maley and DeVinney,
/// Conveyors for streaming many-to-many communication (2019).
class Route {
public:
    /// `direct`, at least 2: as many ranks send to each other directly, and on each hop.
    Route(int ranks, int direct) noexcept;

    /// That a message takes at most.
    [[nodiscard]] int hops() const noexcept { return hops_; }
    /// Ranks that one rank sends to on one of the hops, and itself, at most.
    [[nodiscard]] int neighbours() const noexcept { return static_cast<int>(side_); }
    /// Where a message for `target`, another rank, goes from `from`.
    [[nodiscard]] Rank next(Rank from, Rank target) const noexcept;

private:
    std::int64_t ranks_;
    int hops_ = 1;
    std::int64_t side_;                     ///< the base of the digits
    std::array<std::int64_t, 32> units_{1}; ///< of the digits, the least significant one first
};

} // namespace lapwing::detail::functions
