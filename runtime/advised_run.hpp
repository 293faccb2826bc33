#pragma once

#include <lapwing/team.hpp>

namespace lapwing::detail::runtime {

/// Collective, before the team has any window: what LAPWING_ADVICE says becomes known to the team's windows. Rank 0
/// reads the file. Throws FileError on every rank if it cannot be used.
void use_advice(Team& team);

/// At the end, on rank 0: says in a line of what advice there was no window, as for another program or another version
/// of it.
void report_unused_advice(Team& team);

} // namespace lapwing::detail::runtime
