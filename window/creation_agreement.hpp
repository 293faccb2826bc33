#pragma once

#include "src/team/team_state.hpp"
#include "src/transport/window_facts.hpp"
#include "window/remote_cache.hpp"

#include <cstdint>
#include <exception>
#include <span>
#include <string>

namespace lapwing {
class Team;
}

namespace lapwing::detail::window {

/// Collective, with a barrier: a step of the creation of a window that may fail on some ranks only. Throws on every
/// rank then: what `step` has thrown here, elsewhere a UsageError that begins with `outcome`.
template <class Step>
void agree_on_creation(const transport::WindowFacts& facts, const std::string& outcome, Step&& step) {
    std::exception_ptr failure;
    try {
        step();
    } catch (...) {
        failure = std::current_exception();
    }
    facts.state.synchronisation().agree(team::CollectiveCall::window_create, failure, outcome);
}

/// Collective. Throws MismatchError unless all ranks have chosen the same cache. `least`: of all ranks' choices, each
/// and its negative, as with_cache_choices() has them.
void check_cache_choices(Team& team, const std::string& what, const CacheChoices& own,
                         std::span<const std::int64_t, 2 * cache_choices> least);

/// Collective. `same`: all ranks' parts have the same size.
void share_sizes(transport::WindowFacts& facts, bool same);

} // namespace lapwing::detail::window
