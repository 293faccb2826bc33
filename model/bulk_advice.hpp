#pragma once

#include "model/advice.hpp"
#include "model/advice_costs.hpp"
#include "model/recorded_trace.hpp"

namespace lapwing::detail::model {

/// Adds advice on bulk transfers in place of single accesses: sections (kind `patch`), index lists (`list`), and
/// patterns of prefetch (`prefetch`). The same change of several call sites to one object, between the same sequence
/// points, is one, and what several of them read moves once.
void advise_on_bulk(const RecordedTrace& trace, const AdviceCosts& costs, Advice& advice);

} // namespace lapwing::detail::model
