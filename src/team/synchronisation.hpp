#pragma once

#include "src/mpi/node_memory.hpp"
#include "src/team/barrier.hpp"
#include "src/team/collective_watch.hpp"
#include "src/team/membership.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lapwing::detail::team {

class TeamState;

/// What a collective call was given, as its ranks compare it.
struct CallArguments {
    std::int64_t number = 0; ///< made of all of it, as by a hash function
    // For a message, where the ranks' numbers differ.
    std::function<std::string()> text{};  ///< the arguments in words
    std::function<std::string()> start{}; ///< which rank makes which call on what; none: the name of the call
    const char* verb = "passes";          ///< what a rank does with them
    const char* remedy = "pass the same on all ranks";
};

/// The collective calls of a team: its barriers, and the detection of ranks that are in different ones.
class Synchronisation {
public:
    explicit Synchronisation(TeamState& team);
    Synchronisation(const Synchronisation&) = delete;
    Synchronisation& operator=(const Synchronisation&) = delete;

    /// Collective: makes the memory that the ranks of a node share.
    void open();
    /// Collective: frees it.
    void close_node_memory() noexcept;

    /// The level of checks inside the library, the same on all ranks; a program's inline code has a level of its own.
    [[nodiscard]] int checks() const noexcept { return checks_; }

    /// Releases, waits until all ranks are here, and acquires. Throws MismatchError on every rank unless all bring the
    /// same call and identity.
    void barrier(CollectiveCall call, std::optional<std::int64_t> identity);
    /// The same with the arguments of the call, which travel with the barrier: throws MismatchError, with the texts of
    /// two ranks, on every rank unless all bring the same.
    void barrier(CollectiveCall call, std::optional<std::int64_t> identity, const CallArguments& arguments);
    /// The barrier of a call in which something may have failed on some ranks only. Returns whether no rank has a
    /// `failure`. If this rank's release runs out of memory, `failure` becomes that exception unless it is set already.
    /// The arguments are compared as by barrier().
    [[nodiscard]] bool agreed_barrier(CollectiveCall call, std::exception_ptr& failure,
                                      const CallArguments& arguments = {});
    /// The same, and if ranks have a `failure` it throws on all: that one, elsewhere a UsageError that begins with
    /// `outcome` and says what the first of them could not do.
    void agree(CollectiveCall call, std::exception_ptr failure, std::string_view outcome);
    /// Collective, on a rank that was passed what a call cannot do, in place of the barrier that the call begins with:
    /// throws `refusal`. The other ranks, in whatever barrier, throw UsageError with its text.
    [[noreturn]] void refuse(const std::exception_ptr& refusal);
    /// Its two halves.
    void notify(CollectiveCall call, std::optional<std::int64_t> identity, std::optional<std::int64_t> arguments = {});
    void wait(CollectiveCall call, std::optional<std::int64_t> identity, const CallArguments& arguments = {});
    /// The program's split-phase barrier; identity and arguments of the wait must be those of the notify.
    void notify_split(std::optional<std::int64_t> identity, std::optional<std::int64_t> arguments = {});
    void wait_split(std::optional<std::int64_t> identity, const CallArguments& arguments = {});
    /// The barrier that the close of a window begins with. Throws MismatchError on every rank unless all close that
    /// window.
    void barrier_of_close(std::uint64_t window);
    /// The barrier that the close of the team begins with. `look` is called now and then while it lasts, and may throw:
    /// then the next call continues the same barrier. If ranks are in other calls the next call begins a new one.
    void barrier_of_team_close(const std::function<void()>& look);

    /// A collective call of all ranks is complete on this one; `call` is the name that its waits have, of static
    /// storage.
    void count(const char* call) noexcept {
        watch_.completed(collectives_.fetch_add(1, std::memory_order_relaxed), call);
    }
    /// Throws UsageError when this rank waits in vain for notifications of the window with that number: all other ranks
    /// are closing it.
    void check_notifiers(std::uint64_t window, const char* call);

    /// Collective, where ranks have passed different arguments to a call: throws MismatchError with the texts of two
    /// ranks, those with the lowest and the highest number.
    [[noreturn]] void throw_arguments_differ(const std::string& start, const CallArguments& own, std::int64_t lowest,
                                             std::int64_t highest);

    /// A wait for all ranks takes long: throws MismatchError when they are found to be in different calls.
    void look_for_mismatch(const char* call);
    /// Whom this rank waits for, in words, as far as it is known.
    [[nodiscard]] std::optional<std::string> missing() { return barrier_.missing(); }
    /// A rank that waits in the close of this team, which this rank has not closed; -1 if none is known.
    [[nodiscard]] int closing_rank() {
        return close_notified_.load(std::memory_order_relaxed) ? -1 : barrier_.closing_rank();
    }
    /// What the last collective call found, if ranks were in different calls.
    [[nodiscard]] const std::optional<LeaveReason>& mismatch() const noexcept { return mismatch_; }

    [[nodiscard]] Barrier& node_and_network_barrier() noexcept { return barrier_; }
    [[nodiscard]] const std::atomic<std::uint64_t>& completed_collectives() const noexcept { return collectives_; }

    // From the engine, with its mutex held.
    bool on_token(const messages::BarrierToken& token) { return barrier_.on_token(token); }
    bool on_note(const messages::WaitingNote& note) noexcept { return watch_.on_note(note); }
    void advance() { barrier_.advance(); }

private:
    /// Throws unless a barrier can begin.
    void require_not_notified(CollectiveCall call);
    /// Waits for what this rank has notified.
    [[nodiscard]] Attendance wait_for_all(CollectiveCall call);
    void check_attendance(CollectiveCall call, std::optional<std::int64_t> identity);
    /// Throws on all ranks where they are in different calls.
    void check_calls(CollectiveCall call, const Attendance& all);
    /// All ranks come here where one does.
    void check_arguments(CollectiveCall call, const CallArguments& arguments, const Attendance& all);

    TeamState& team_;
    Barrier barrier_;
    CollectiveWatch watch_;
    int checks_;
    mpi::NodeMemory node_memory_; ///< holds the node's part of the barrier
    /// Calls that this rank has completed: every rank counts the same calls in the same order.
    std::atomic<std::uint64_t> collectives_{0};
    std::uint64_t closing_window_ = 0;           ///< the window whose close this rank waits in, or 0
    std::optional<std::int64_t> split_identity_; ///< of the program's last notify
    std::optional<LeaveReason> mismatch_;
    std::atomic<bool> close_notified_{false}; ///< read by closes of other teams
    bool closing_ = false;                    ///< after the close's barrier: no message may be on its way any more
};

} // namespace lapwing::detail::team
