#pragma once

#include "window/window_state.hpp"

namespace lapwing::detail::model {

/// Measures the path to `target` at the first use of a path that no profile describes, and gives the team's cost model
/// what it finds: later calls for the path do nothing. Ends with the transfer during which LAPWING_CALIBRATE is over,
/// on the rma path twice that, since messages are measured too; nothing without progress threads, where a target that
/// computes would be waited for.
///
/// Only this rank and the target's progress thread take part, and no byte that a program may look at is written. On the
/// service path bytes come from, and small puts go to, memory that every team exposes for it. On the rma path bytes are
/// read from the window, at whatever state they are, and dropped. Puts there are taken to be like gets, as they are on
/// networks where either is one message and its answer; small ones that travel as messages are known from the service
/// path.
void calibrate(window::WindowState& window, int target);

} // namespace lapwing::detail::model
