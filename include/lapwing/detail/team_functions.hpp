// Room: team
#pragma once

#include <lapwing/rank.hpp>

#include <cstdint>

namespace lapwing {

enum class Where : std::uint8_t;

namespace detail::team {

/// The calls of a Team that run functions at other ranks. Include <lapwing/functions.hpp> to make them;
/// docs/functions.md explains them.
template <class Team>
class TeamFunctions {
public:
    /// Local call. Runs `function(arguments...)` at rank `target` and returns a Future of what it returns; what it
    /// throws is thrown by Future::get() as FunctionError, with its text. The arguments have been copied on return;
    /// spans and strings are valid in the function until it returns. Calls of one rank to one target run in the order
    /// in which they are made, those for Where::program among themselves. Throws RangeError for a rank that does not
    /// exist and for arguments of more than 1 MiB, or, with Where::program, more than a packet (about 7900 bytes,
    /// LAPWING_SERVICE_PACKET), PeerLeftError. Cost: one message and its answer; another where the arguments are larger
    /// than a packet.
    template <class F, class... A>
    [[nodiscard]] auto call(Rank target, F function, const A&... arguments) {
        return call_function(self(), Where{}, target, function, arguments...);
    }
    /// The same on the thread that `where` says.
    template <class F, class... A>
    [[nodiscard]] auto call(Where where, Rank target, F function, const A&... arguments) {
        return call_function(self(), where, target, function, arguments...);
    }

    /// Local call. The same without a result, as a put: on return the arguments have been copied, the function has run
    /// when a later release of this rank returns (Team::release(), a barrier), and what it has thrown is thrown by that
    /// release. It may be made by a function that another rank has sent here. Cost: a message, which carries those to
    /// the same target that are made meanwhile, too.
    template <class F, class... A>
    void post(Rank target, F function, const A&... arguments) {
        post_function(self(), Where{}, target, function, arguments...);
    }
    template <class F, class... A>
    void post(Where where, Rank target, F function, const A&... arguments) {
        post_function(self(), where, target, function, arguments...);
    }

    /// Collective. Returns on every rank when all functions have run that any rank has called or posted, and those that
    /// they have posted, and so on; and acquires. Throws what a function has thrown that this rank has posted. Cost:
    /// two reductions or more, until the sums of two of them show that nothing is under way (Mattern's four-counter
    /// method, "Algorithms for distributed termination detection", 1987).
    void quiesce() { quiesce_functions(self()); }

protected:
    TeamFunctions() = default;
    ~TeamFunctions() = default;
    TeamFunctions(const TeamFunctions&) = default;
    TeamFunctions& operator=(const TeamFunctions&) = default;

private:
    // The functions that are called are in <lapwing/functions.hpp>.
    [[nodiscard]] Team& self() noexcept { return static_cast<Team&>(*this); }
};

} // namespace detail::team
} // namespace lapwing
