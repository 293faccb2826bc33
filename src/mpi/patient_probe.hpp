#pragma once

#include "src/mpi/probe.hpp"

namespace lapwing::detail::mpi {

/// Collective. As probe_windows(), for teams without progress threads: an atomic is distrusted for wrong answers alone,
/// not for the time it takes. Messages in its place would wait for the target's next call of Lapwing, so that a program
/// might hang on a slow day that runs on others.
[[nodiscard]] ProbeResult probe_windows_without_threads(const ProbeRequest& request);

} // namespace lapwing::detail::mpi
