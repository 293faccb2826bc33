#pragma once

namespace lapwing::runtime {

/// Says on stderr, once, that this program was started by the launcher of another MPI than it was built with: its ranks do not
/// find each other then, and each runs as if it were alone. Of all processes that were started the first one says it. MPI is
/// initialised.
void warn_of_other_launcher() noexcept;

} // namespace lapwing::runtime
