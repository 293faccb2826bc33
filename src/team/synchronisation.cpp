#include "src/team/synchronisation.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/team_state.hpp"
#include "src/trace/interval_times.hpp"
#include "src/trace/recorder.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <new>
#include <tuple>

namespace lapwing::detail::team {
namespace {

using support::check_mpi;

constexpr const char* same_calls = "all ranks of a team must make the same collective calls in the same order";

} // namespace

Synchronisation::Synchronisation(TeamState& team)
    : team_{team},
      barrier_{team.engine(), team.topology(), team.rank()},
      watch_{team.engine(), team.rank(), team.size()},
      checks_{checks_asked(team.settings())} {}

void Synchronisation::open() {
    const mpi::Topology& topology = team_.topology();
    if (topology.largest_node() == 1) return;
    const bool alone = topology.node_size() == 1;
    const MPI_Comm node = topology.node_communicator();
    const bool first = topology.node_rank() == 0;
    const auto ranks = static_cast<std::size_t>(topology.node_size());
    const std::uint64_t bytes = first ? sizeof(NodeBarrier) + ranks : 0;
    const mpi::Problem problem = mpi::first_problem(
        team_.communicator(), alone ? std::string{} : node_memory_.make(node, topology.node_source(), bytes));
    if (!problem.text.empty())
        throw Error{
            fmt::format("{}: no memory for the barriers of a node ({} bytes): rank {}: {}; allow it more, or set "
                        "LAPWING_NODE=each",
                        team_.who(), sizeof(NodeBarrier) + ranks, problem.rank, problem.text)};
    if (alone) return;
    auto* const barrier = reinterpret_cast<NodeBarrier*>(node_memory_.bases()[0]);
    if (first) {
        new (barrier) NodeBarrier{};
        barrier->reset();
        for (std::size_t i = 0; i < ranks; ++i) new (barrier->states() + i) std::atomic<std::uint8_t>{0};
    }
    check_mpi(MPI_Barrier(node), "MPI_Barrier");
    barrier_.use_node(barrier);
}

void Synchronisation::close_node_memory() noexcept { node_memory_.close(); }

// ---- barriers -------------------------------------------------------------------------------------------------------

void Synchronisation::require_not_notified(CollectiveCall call) {
    team_.require_open(name(call));
    refuse_collective_in_function(team_, name(call));
    team_.check_reachable(name(call), Membership::any_rank);
    if (barrier_.notified())
        throw UsageError{fmt::format("{}: {}: notify was called before, and its wait is missing; call wait first",
                                     team_.who(), name(call))};
}

void Synchronisation::notify(CollectiveCall call, std::optional<std::int64_t> identity,
                             std::optional<std::int64_t> arguments) {
    require_not_notified(call);
    team_.epoch().release();
    barrier_.notify(call, identity, arguments);
}

Attendance Synchronisation::wait_for_all(CollectiveCall call) {
    trace::begin_wait();
    team_.wait_until([this] { return barrier_.complete(); }, name(call), Membership::next_collective);
    count(name(call));
    barrier_.end();
    return barrier_.attendance();
}

void Synchronisation::wait(CollectiveCall call, std::optional<std::int64_t> identity, const CallArguments& arguments) {
    const Attendance all = wait_for_all(call);
    check_attendance(call, identity);
    check_arguments(call, arguments, all);
    const trace::AtBarrier point{call == CollectiveCall::barrier};
    team_.epoch().acquire();
}

void Synchronisation::barrier(CollectiveCall call, std::optional<std::int64_t> identity) {
    notify(call, identity);
    wait(call, identity);
}

void Synchronisation::barrier(CollectiveCall call, std::optional<std::int64_t> identity,
                              const CallArguments& arguments) {
    notify(call, identity, arguments.number);
    wait(call, identity, arguments);
}

bool Synchronisation::agreed_barrier(CollectiveCall call, std::exception_ptr& failure, const CallArguments& arguments) {
    require_not_notified(call);
    try {
        team_.epoch().release();
    } catch (const std::bad_alloc&) { // the others are on their way here
        if (failure == nullptr) failure = std::current_exception();
    }
    barrier_.notify(call, failure == nullptr ? 0 : 1, arguments.number);
    const Attendance all = wait_for_all(call);
    mismatch_.reset();
    check_calls(call, all);
    check_arguments(call, arguments, all);
    const bool well = all.highest_identity == 0;
    try {
        team_.epoch().acquire();
    } catch (const std::bad_alloc&) { // the ranks that fail together still have a collective call to make
        if (well) throw;
        if (failure == nullptr) failure = std::current_exception();
    }
    return well;
}

void Synchronisation::agree(CollectiveCall call, std::exception_ptr failure, std::string_view outcome) {
    if (!agreed_barrier(call, failure)) mpi::throw_failure(team_.communicator(), failure, outcome);
}

void Synchronisation::refuse(const std::exception_ptr& refusal) {
    try {
        notify(CollectiveCall::refused, {});
        (void)wait_for_all(CollectiveCall::refused);
        (void)mpi::first_problem(team_.communicator(), mpi::text_of(refusal)); // as the others do in check_calls()
    } catch (const std::exception&) { // a rank has left, say: this rank's own error says more
    }
    std::rethrow_exception(refusal);
}

void Synchronisation::notify_split(std::optional<std::int64_t> identity, std::optional<std::int64_t> arguments) {
    notify(CollectiveCall::barrier, identity, arguments);
    split_identity_ = identity;
}

void Synchronisation::wait_split(std::optional<std::int64_t> identity, const CallArguments& arguments) {
    team_.require_open("Team::wait");
    if (!barrier_.notified())
        throw UsageError{fmt::format("{}: Team::wait: there was no notify before it; call notify first", team_.who())};
    if (identity != split_identity_) {
        const auto text = [](const std::optional<std::int64_t>& value) {
            return value ? fmt::format("{}", *value) : "none";
        };
        throw MismatchError{
            fmt::format("{}: Team::wait: its identity is {}, that of the notify before it {}; pass the same",
                        team_.who(), text(identity), text(split_identity_))};
    }
    wait(CollectiveCall::barrier, identity, arguments);
}

void Synchronisation::barrier_of_close(std::uint64_t window) {
    closing_window_ = window;
    try {
        barrier(CollectiveCall::window_close, static_cast<std::int64_t>(closing_window_));
    } catch (...) {
        closing_window_ = 0;
        throw;
    }
    closing_window_ = 0;
}

void Synchronisation::barrier_of_team_close(const std::function<void()>& look) {
    const char* const call = name(CollectiveCall::team_close);
    if (!close_notified_.load(std::memory_order_relaxed)) {
        notify(CollectiveCall::team_close, {});
        close_notified_.store(true, std::memory_order_relaxed);
    }
    const auto between_looks = std::chrono::milliseconds{20}; // they cost more than polling
    auto look_at = std::chrono::steady_clock::now() + between_looks;
    team_.wait_until(
        [&] {
            if (barrier_.complete()) return true;
            if (std::chrono::steady_clock::now() >= look_at) {
                look();
                look_at = std::chrono::steady_clock::now() + between_looks;
            }
            return false;
        },
        call, Membership::next_collective);
    count(call);
    barrier_.end();
    close_notified_.store(false, std::memory_order_relaxed);
    check_attendance(CollectiveCall::team_close, {});
    close_notified_.store(true, std::memory_order_relaxed);
    closing_ = true;
}

// ---- mismatches -----------------------------------------------------------------------------------------------------

void Synchronisation::check_calls(CollectiveCall call, const Attendance& all) {
    if (all.lowest_call == all.highest_call) return;
    const auto other = static_cast<CollectiveCall>(
        all.lowest_call == static_cast<std::int32_t>(call) ? all.highest_call : all.lowest_call);
    mismatch_ = LeaveReason::of_mismatch(call, other);
    if (all.highest_call == static_cast<std::int32_t>(CollectiveCall::refused))
        mpi::throw_failure(team_.communicator(), {},
                           fmt::format("{}: {} was not carried out", team_.who(), name(call)));
    throw MismatchError{fmt::format("{}: {}: another rank is in {} at the same time; {}", team_.who(), name(call),
                                    name(other), same_calls)};
}

void Synchronisation::check_arguments(CollectiveCall call, const CallArguments& arguments, const Attendance& all) {
    if (all.lowest_arguments >= all.highest_arguments) return;
    mismatch_ = LeaveReason::of_mismatch(call, call);
    throw_arguments_differ(arguments.start ? arguments.start() : fmt::format("{}: {}", team_.who(), name(call)),
                           arguments, all.lowest_arguments, all.highest_arguments);
}

void Synchronisation::throw_arguments_differ(const std::string& start, const CallArguments& own, std::int64_t lowest,
                                             std::int64_t highest) {
    // All ranks know of it, so nobody waits for this one.
    const std::string text = own.text ? own.text() : std::string{"other arguments"};
    const auto first_with = [&](std::int64_t number) {
        return mpi::first_problem(team_.communicator(), own.number == number ? text : std::string{});
    };
    const mpi::Problem low = first_with(lowest);
    const mpi::Problem high = first_with(highest);
    const auto& [first, second] = low.rank < high.rank ? std::tie(low, high) : std::tie(high, low);
    throw MismatchError{fmt::format("{}: rank {} {} {}, and rank {} {}; {}", start, first.rank, own.verb, first.text,
                                    second.rank, second.text, own.remedy)};
}

void Synchronisation::check_attendance(CollectiveCall call, std::optional<std::int64_t> identity) {
    const Attendance all = barrier_.attendance();
    mismatch_.reset();
    check_calls(call, all);
    if (all.lowest_identity >= all.highest_identity) return;
    mismatch_ = LeaveReason::of_mismatch(call, call);
    const std::string where = fmt::format("{}: {}", team_.who(), name(call));
    switch (call) {
    case CollectiveCall::window_close:
        throw MismatchError{fmt::format(
            "{}: this rank closes the window that was made as number {}, other ranks ones from number {} to "
            "{}; close windows and arrays in the same order on all ranks. It stays open",
            where, identity.value_or(0), all.lowest_identity, all.highest_identity)};
    case CollectiveCall::on_window:
        throw MismatchError{fmt::format("{}: this rank calls {}, and of the others one calls {} and one {}; {}", where,
                                        text_on_window(identity.value_or(0)), text_on_window(all.lowest_identity),
                                        text_on_window(all.highest_identity), same_calls)};
    case CollectiveCall::upc_collective:
        throw MismatchError{
            fmt::format("{}: this rank calls upc_all_{}…, and of the others one calls upc_all_{}… and one "
                        "upc_all_{}…; {}",
                        where, call_on_window(identity.value_or(0)), call_on_window(all.lowest_identity),
                        call_on_window(all.highest_identity), same_calls)};
    case CollectiveCall::lock_create:
    case CollectiveCall::lock_close:
        throw MismatchError{fmt::format(
            "{}: of the team's locks this is {} here, and {} or {} on another rank; name the same home on "
            "all ranks, and make and close locks in the same order.{}",
            where, text_of_lock(identity.value_or(0)), text_of_lock(all.lowest_identity),
            text_of_lock(all.highest_identity), call == CollectiveCall::lock_close ? " It stays open" : "")};
    default:
        throw MismatchError{fmt::format(
            "{}: the identities differ: {} here, from {} to {} over all ranks; ranks must meet in the same "
            "barrier",
            where, identity ? fmt::format("{}", *identity) : "none", all.lowest_identity, all.highest_identity)};
    }
}

void Synchronisation::look_for_mismatch(const char* call) {
    if (closing_) return;
    barrier_.mark_waiting();
    const std::uint64_t collectives = collectives_.load(std::memory_order_relaxed);
    const std::string other = watch_.look(collectives, call, closing_window_, begins_with_barrier(call));
    if (other.empty()) return;
    const std::string text =
        fmt::format("{}: {}: {}, and each waits for the other; {}", team_.who(), call, other, same_calls);
    {
        const std::lock_guard guard{team_.engine().mutex()};
        // Notifies every rank that waits, in whatever call: the calls that this rank has completed may not have been
        // theirs.
        team_.membership().announce_own({LeaveReason::failure}, 0);
        team_.membership().fail(text, MPI_SUCCESS); // the calls cannot be taken back, so the team cannot go on
    }
    throw MismatchError{text};
}

void Synchronisation::check_notifiers(std::uint64_t window, const char* call) {
    if (!watch_.all_others_in(collectives_.load(std::memory_order_relaxed), name(CollectiveCall::window_close), window))
        return;
    throw UsageError{fmt::format(
        "{}: {}: all other ranks are closing the window, so that no notification can come; close it after the "
        "last wait on all ranks",
        team_.who(), call)};
}

} // namespace lapwing::detail::team
