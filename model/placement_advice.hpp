#pragma once

#include "model/advice.hpp"
#include "model/advice_costs.hpp"
#include "model/recorded_trace.hpp"

namespace lapwing::detail::model {

/// Adds advice on where elements are, and on how ranks wait for them: another distribution, or division of the work
/// (kind `distribution`), where all ranks' accesses fit one; an owner that all others access (`one-owner`), where there
/// are three ranks or more; notified puts (`notify`) in place of a barrier after puts to few ranks.
void advise_on_placement(const RecordedTrace& trace, const AdviceCosts& costs, Advice& advice);

} // namespace lapwing::detail::model
