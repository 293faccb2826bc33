#pragma once

#include "window/window_state.hpp"

namespace lapwing::detail::model {

/// Measures the path to `target` on the first use of a path that has no profile, and stores the result in the team's
/// cost model: later calls for the path do nothing. Ends with the transfer during which LAPWING_CALIBRATE runs out,
/// on the rma path after twice that, since messages are measured too. Does nothing without progress threads, when it
/// would have to wait for a target that computes.
///
/// Only this rank and the target's progress thread take part, and no byte that a program may read is written. On the
/// service path, gets read from and small puts write to memory that every team exposes for this. On the rma path, bytes
/// are read from the window, in whatever state they are, and dropped. Puts there are assumed to cost what gets do, as
/// on networks where either is one message and a reply; small ones that travel as messages are known from the service
/// path.
void calibrate(window::WindowState& window, int target);

} // namespace lapwing::detail::model
