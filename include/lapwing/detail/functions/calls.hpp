// Room: functions
#pragma once

#include <lapwing/detail/functions/entry.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/serialise.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace lapwing {
class Team;
class Window;

/// Which thread of the owner runs a function.
enum class Where : std::uint8_t {
    /// Whichever makes progress there: the progress thread, or a call of the program's. The function must be short and
    /// must not wait.
    progress,
    /// A thread of the program, in its next collective call, Team::progress(), Team::wait_request(), release, or wait
    /// for a Future. The function may wait, but make no collective call.
    program
};

namespace detail::functions {

/// Whom a call goes to.
struct Destination {
    Team& team;
    Rank target;
    const char* call; ///< of the program, for messages: "Team::call"
    Window* window =
        nullptr; ///< that the call is about, or null; the call is then ordered with accesses to these bytes
    Offset offset{};
    std::uint64_t bytes = 0;
    Where where = Where::progress;
};

/// A call under way whose caller wants to know of its end.
class PendingCall {
public:
    virtual ~PendingCall() = default;
    [[nodiscard]] virtual bool done() const noexcept = 0;
    /// Makes a round of progress.
    virtual void progress() = 0;
    /// Waits until `enough()` holds. Throws PeerLeftError where the target has left.
    virtual void wait_until(const std::function<bool()>& enough) = 0;
    /// Waits until it is done().
    virtual void wait() = 0;
    /// What the function has returned, once done(). Throws FunctionError if it has thrown.
    [[nodiscard]] virtual std::span<const std::byte> result() const = 0;
};

/// Without a result: on return the arguments have been copied.
void post(const Destination& to, const FunctionEntry& function, const ByteWriter& arguments);
/// `result_bytes`: of the result, if its size is known; 0: it varies, or there is none.
[[nodiscard]] std::unique_ptr<PendingCall> ask(const Destination& to, const FunctionEntry& function,
                                               const ByteWriter& arguments, std::size_t result_bytes);
/// Throws RangeError for what is no rank.
void require_rank(Team& team, Rank target, const char* call);
/// Collective: see TeamFunctions::quiesce().
void quiesce(Team& team);

} // namespace detail::functions
} // namespace lapwing
