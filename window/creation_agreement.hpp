#pragma once

#include "window/remote_cache.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace lapwing {
class Team;
}

namespace lapwing::detail::transport {
struct WindowFacts;
}

namespace lapwing::detail::window {

/// Collective. Throws MismatchError unless all ranks have chosen the same cache. `least`: of all ranks' choices, each
/// and its negative, as with_cache_choices() has them.
void check_cache_choices(Team& team, const std::string& what, const CacheChoices& own,
                         std::span<const std::int64_t, 2 * cache_choices> least);

/// Collective. `same`: all ranks' parts have the same size.
void share_sizes(transport::WindowFacts& facts, bool same);

} // namespace lapwing::detail::window
