#pragma once

#include "model/advice.hpp"
#include "model/advice_costs.hpp"
#include "model/recorded_trace.hpp"

namespace lapwing::detail::model {

/// Adds the change that LAPWING_ADVICE makes of the advice so far (kind `follow`): where a rank reads the same bytes of
/// others' parts again and again, a cache asks for all of them at once after each acquire. Where all that is read is
/// known, and nobody else writes.
void advise_to_follow(const RecordedTrace& trace, const AdviceCosts& costs, Advice& advice);

} // namespace lapwing::detail::model
