#include "src/team/remote_functions.hpp"

#include "src/support/type_text.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

namespace lapwing::detail::team {

void throw_in_function(const TeamState& team, const char* call) {
    const std::string function = support::type_text(running_function.type);
    if (running_function.where == RunningFunction::Where::progress)
        throw UsageError{fmt::format("{}: {}: called by a function of another rank ({}) that runs in a round of "
                                     "progress, where waiting would stop all progress; pass Where::program, or let it "
                                     "post what is to be done",
                                     team.who(), call, function)};
    throw UsageError{fmt::format("{}: {}: called by a function of another rank ({}), which runs while this rank may be "
                                 "in a collective call already; make collective calls outside of it",
                                 team.who(), call, function)};
}

} // namespace lapwing::detail::team
