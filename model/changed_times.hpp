#pragma once

#include "model/advice.hpp"
#include "model/advice_costs.hpp"
#include "model/recorded_trace.hpp"

#include <cstdint>
#include <map>

namespace lapwing::detail::model {

[[nodiscard]] AccessUse::Amount amount_of(const trace::Record& record) noexcept;

/// A rank's part in a use: accesses to other nodes, and the reuse of all that is not its own.
struct RankOfUse {
    AccessUse::Amount far = {};
    trace::ReuseCounts within = {};
    trace::ReuseCounts over = {};
};
[[nodiscard]] std::map<int, RankOfUse> ranks_of(const RecordedTrace& trace, const AccessUse& use);

/// What a change of some uses is to a rank.
struct RankOfChange {
    double measured = 0;  ///< seconds now, as recorded
    double predicted = 0; ///< the same, from rates
    double then = 0;
    double accesses = 0;
    [[nodiscard]] double now() const noexcept { return measured > 0 ? measured : predicted; }
};
using RanksOfChange = std::map<int, RankOfChange>;
/// The one that takes longest now, or accesses most.
[[nodiscard]] int heaviest_of(const RanksOfChange& ranks);

/// One of so many remote accesses of a use, as it is, from the rates.
[[nodiscard]] double predicted_each(const AdviceCosts& costs, const AccessUse& use, std::uint64_t accesses);
/// Adds what a rank's part in a use takes now. Returns the rank's sum.
RankOfChange& add_now(const AdviceCosts& costs, RanksOfChange& ranks, int rank, const AccessUse& use,
                      const AccessUse::Amount& far);
/// Adds a change to the advice, unless the rates are known and it saves no time. Its times are those of the slowest
/// rank now, and of the slowest one then.
void add_change(const AdviceCosts& costs, Advice& advice, AdvisedChange change, const RanksOfChange& ranks);

} // namespace lapwing::detail::model
