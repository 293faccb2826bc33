// Room: support
#pragma once

namespace lapwing::detail::support {

/// Calls a member function, from within a loop that hardly ever needs it. A compiler takes the call of a cold function
/// for one that is never made: it keeps the loop's sums in registers rather than in memory, where each addition would
/// wait for the store before it. The member function itself is not taken for a cold one.
template <auto Function, class Object, class... Arguments>
[[gnu::noinline, gnu::cold]] auto seldom(const Object& object, Arguments... arguments) {
    return (object.*Function)(arguments...);
}

} // namespace lapwing::detail::support
