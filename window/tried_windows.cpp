#include "window/tried_windows.hpp"

#include "src/support/log.hpp"
#include "src/team/team_state.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace lapwing::detail::window {
namespace {

/// What was found, the first time.
struct TriedWindows final : team::TeamPart {
    struct Kind {
        mpi::WindowKind kind;
        bool adopted;
        int unit;
        auto operator<=>(const Kind&) const = default;
    };
    std::map<Kind, mpi::ProbeResult> found;
};

/// What a program should know of windows of its own.
std::string warning(const mpi::ProbeResult& result) {
    if (!result.works)
        return fmt::format("MPI's windows are adopted, but not used: {}; accesses go by messages, and Lapwing's "
                           "atomics do not exclude the program's own MPI_Accumulate and its like",
                           result.reason);
    if (result.swaps_tried && !result.atomics.suffice())
        return fmt::format("MPI's atomics are not used on adopted windows: {}; Lapwing's are messages, and do not "
                           "exclude the program's own MPI_Accumulate and its like",
                           result.doubt);
    return {};
}

} // namespace

void use_what_works(transport::WindowFacts& facts, mpi::WindowKind kind, int unit) {
    auto& tried = facts.state.part<TriedWindows>().found;
    const TriedWindows::Kind key{kind, facts.adopted, unit};
    auto found = tried.find(key);
    if (found == tried.end()) {
        found = tried.emplace(key, facts.state.try_windows(kind, facts.adopted, unit)).first;
        if (const std::string text = warning(found->second); facts.adopted && facts.state.rank() == 0 && !text.empty())
            support::log_line(text);
    }
    facts.trusted = found->second.atomics;
    if (!found->second.works) facts.network = Path::service;
}

} // namespace lapwing::detail::window
