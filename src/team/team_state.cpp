#include "src/team/team_state.hpp"

#include "src/mpi/agreement.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mpi_state.hpp"
#include "src/team/host_waits.hpp"
#include "src/team/team_registry.hpp"
#include "src/team/wait_hook.hpp"

#include <lapwing/error.hpp>
#include <lapwing/wait_hook.hpp>

#include <fmt/format.h>

#include <atomic>

namespace lapwing::detail::support::settings_in {
void team_team_state() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::team {
namespace {

using support::check_mpi;

[[gnu::init_priority(support::before_programs)]] const support::NumberSetting in_flight_setting{
    {.name = "LAPWING_SERVICE_IN_FLIGHT",
     .default_value = "4",
     .unit = "packets",
     .help = "unacknowledged request packets to one target",
     .choices = {}},
    1,
    messages::most_packets_in_flight};

[[gnu::init_priority(support::before_programs)]] const support::NumberSetting wait_report_setting{
    {.name = "LAPWING_WAIT_REPORT",
     .default_value = "10",
     .unit = "s",
     .help = "how long a call waits for other ranks before it says so on standard error, "
             "once; 0: never",
     .choices = {}},
    0,
    1'000'000};

void require_mpi(MPI_Comm communicator) {
    if (support::mpi_world_open()) return;
    int finalized = 0;
    MPI_Finalized(&finalized);
    // Nothing distinguishes a session's communicator from one that is gone since MPI_Finalize.
    if (finalized != 0)
        throw UsageError{"Team: MPI is finalized already; make runtimes before MPI_Finalize, those of sessions too"};
    if (communicator == MPI_COMM_WORLD || communicator == MPI_COMM_SELF)
        throw UsageError{
            "Team: MPI is not initialised; call MPI_Init_thread before, or make a lapwing::Runtime, which does"};
    if (!support::mpi_has_sessions())
        throw UsageError{"Team: MPI is not initialised, and this MPI has no sessions (MPI 4.0) that the communicator "
                         "could come from; "
                         "call MPI_Init_thread before"};
}

void check_communicator(MPI_Comm communicator) {
    if (communicator == MPI_COMM_NULL)
        throw UsageError{
            "Team: the communicator is MPI_COMM_NULL; only ranks of the communicator may make a team of it"};
    require_mpi(communicator);
    int is_inter = 0;
    check_mpi(MPI_Comm_test_inter(communicator, &is_inter), "MPI_Comm_test_inter");
    if (is_inter != 0)
        throw UsageError{"Team: the communicator is an intercommunicator; merge it first (MPI_Intercomm_merge)"};
}

/// Waits until the other ranks are here, serving the older teams of this process meanwhile: a rank that is not here yet
/// may need them first. Afterwards all ranks are in the same calls, and MPI's blocking ones wait for nothing else.
void meet(MPI_Comm communicator) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(communicator, &request), "MPI_Ibarrier");
    support::Backoff backoff{support::ProcessorShare::crowded};
    for (int all_here = 0;;) {
        check_mpi(MPI_Test(&request, &all_here, MPI_STATUS_IGNORE), "MPI_Test");
        if (all_here != 0) return;
        if (!TeamRegistry::instance().serve_others(nullptr)) backoff.pause();
    }
}

/// Once in a process, by the first rank.
void report_no_thread(const TeamState& state) {
    static std::atomic<bool> said{false};
    if (state.paths().progress != ProgressMode::caller || state.topology().nodes() == 1 || state.rank() != 0) return;
    if (said.exchange(true)) return;
    support::log_line(
        "no progress thread (MPI_THREAD_MULTIPLE is not provided, or LAPWING_PROGRESS=caller): other ranks wait while "
        "this one computes, or waits in MPI, without calling Lapwing");
}

/// The program's wait hook has ended the wait: this rank cannot go on in the team, and leaves it for the others.
[[noreturn]] void end_wait(TeamState& team, const support::WaitTimer& timer, const char* call) {
    const std::string text = fmt::format(
        "{}: {}: the program's wait hook ended the wait after {:.1f} s; what it waited for is not done, so that this "
        "rank cannot use the team any more: end the program, or leave the runtime",
        team.who(), call, std::chrono::duration<double>{timer.elapsed()}.count());
    {
        const std::lock_guard guard{team.engine().mutex()};
        team.membership().interrupt(text);
    }
    throw InterruptedError{text};
}

} // namespace

TeamState::TeamState(MPI_Comm communicator, const Settings& settings) : settings_{settings} {
    check_communicator(communicator);
    meet(communicator);
    bool host_waits_know = false;
    try {
        communicators_.open(communicator);
        check_mpi(MPI_Comm_rank(communicators_.collectives(), &rank_), "MPI_Comm_rank");
        check_mpi(MPI_Comm_size(communicators_.collectives(), &size_), "MPI_Comm_size");
        who_ = fmt::format("rank {} of {}", rank_, size_);
        ChosenPaths chosen = choose_paths(communicators_.collectives(), settings_, who_);
        topology_ = std::move(chosen.topology);
        paths_ = std::move(chosen.paths);
        number_ = chosen.team_number;
        messages::EngineLimits limits;
        limits.packet_bytes = paths_.packet_bytes;
        limits.packets_in_flight = in_flight_setting.get(settings_);
        engine_ = std::make_unique<messages::Engine>(communicators_.engine(), limits, statistics_, engine_events_);
        if (size_ > 1) {
            calibration_ = support::allocate_zeroed(calibration_bytes); // untouched pages would all be one
            engine_->expose(calibration_window, {.base = calibration_.get(), .bytes = calibration_bytes});
        }
        synchronisation_.emplace(*this);
        membership_.emplace(*engine_, rank_, size_, who_, synchronisation_->completed_collectives());
        epoch_.own(make_remote_functions(*this));
        engine_events_.pass_to(*membership_, *synchronisation_, epoch_.functions());
        progress_driver_.emplace(*engine_, *topology_, *membership_, synchronisation_->node_and_network_barrier(),
                                 paths_.progress, rank_, size_);
        wait_report_ = std::chrono::seconds{wait_report_setting.get(settings_)};
        synchronisation_->open();
        TeamRegistry::instance().add(*this);
        if (progress_driver_->needs_callers()) {
            HostWaits::add(*this);
            host_waits_know = true;
        }
        start_progress();
        report_no_thread(*this);
    } catch (...) {
        TeamRegistry::instance().remove(*this);
        if (host_waits_know) HostWaits::remove(*this); // or another team's entry, which had this address
        if (progress_driver_) progress_driver_->stop();
        if (engine_ != nullptr) engine_->stop(); // MPI would write to its buffers, which end with it
        free_mpi();
        communicators_.close();
        throw;
    }
}

TeamState::~TeamState() {
    progress_driver_->stop();
    TeamRegistry::instance().remove(*this);
    epoch_.leave_functions();
}

void TeamState::start_progress() {
    const std::string problem = progress_driver_->start(settings_);
    if (mpi::all_agree(communicator(), problem.empty())) return;
    if (problem.empty())
        throw Error{
            fmt::format("{}: Team: another rank could not start its progress thread; see that rank's error", who_)};
    throw Error{fmt::format(
        "{}: Team: the progress thread could not be started ({}); raise the limit of threads (ulimit -u, or "
        "that of the container), or set LAPWING_PROGRESS=caller",
        who_, problem)};
}

void TeamState::free_mpi() noexcept {
    if (synchronisation_) synchronisation_->close_node_memory();
    if (topology_ != nullptr) topology_->close();
    communicators_.close_others();
}

mpi::ProbeResult TeamState::try_windows(mpi::WindowKind kind, bool adopted, int unit) const {
    return team::try_windows({.communicator = communicator(),
                              .topology = topology_,
                              .thread_level = paths_.thread_level,
                              .kind = kind,
                              .emulated_too = true, // they are in use already
                              .progress_threads = paths_.progress == ProgressMode::thread,
                              .adopted = adopted,
                              .unit = unit});
}

Path TeamState::path(Rank target) const noexcept {
    if (target == rank_) return Path::self;
    return topology_->node_index(target.value) >= 0 ? Path::direct : paths_.network;
}

void TeamState::require_open(const char* call) const {
    refuse_in_function(*this, call);
    if (lifecycle_.closed()) throw UsageError{fmt::format("{}: {}: the team is closed; make a new one", who_, call)};
    if (membership_->finalized()) throw_finalized(fmt::format("{}: {}", who_, call));
}

void TeamState::for_each_part(const std::function<void(TeamPart&)>& step) {
    std::vector<TeamPart*> parts;
    {
        const std::lock_guard guard{parts_mutex_};
        for (const auto& [type, part] : parts_) parts.push_back(part.get());
    }
    for (TeamPart* const part : parts) step(*part);
}

// ---- waiting --------------------------------------------------------------------------------------------------------

bool TeamState::progress() noexcept {
    constexpr std::uint32_t looks_at_own = 16; // between two at other teams
    static thread_local std::uint32_t looks = 0;
    bool moved = progress_driver_->serve();
    moved |= TeamRegistry::instance().serve_others(&*progress_driver_);
    if (++looks % looks_at_own == 0) moved |= messages::ProgressThread::instance().serve_in_turn(*progress_driver_);
    return moved;
}

void TeamState::wait(std::span<MPI_Request> requests, const char* call) {
    wait_until(
        [&] {
            int done = 0;
            check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), call,
                      who_);
            return done != 0;
        },
        call, Membership::next_collective);
}

void TeamState::wait_for_all(const char* call) {
    refuse_collective_in_function(*this, call);
    Memory nothing;
    complete(nothing, call, [&](std::byte*) {
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Ibarrier(communicator(), &request), "MPI_Ibarrier", who_);
        return request;
    });
}

void TeamState::give_up(Memory memory) noexcept {
    const std::lock_guard guard{given_up_mutex_};
    given_up_.push_back(std::move(memory));
}

void TeamState::look_after(support::WaitTimer& timer, const char* call, Rank target) {
    if (timer.elapsed() < support::WaitTimer::suspicious) return;
    if (target == Membership::next_collective) synchronisation_->look_for_mismatch(call);
    if (is_own_thread()) return;
    if (timer.again_after(wait_hook_interval) && wait_hook_ends_wait()) end_wait(*this, timer, call);
    if (wait_report_.count() != 0 && timer.first_beyond(wait_report_)) report_wait(timer, call, target);
}

void TeamState::report_wait(const support::WaitTimer& timer, const char* call, Rank target) {
    std::string whom = "other ranks";
    if (target >= 0) whom = fmt::format("rank {}", target.value);
    else if (target == Membership::next_collective) whom = synchronisation_->missing().value_or(whom);
    support::log_line(fmt::format("{}: {} has waited {} s for {} and goes on waiting{} (LAPWING_WAIT_REPORT)", who_,
                                  call, std::chrono::duration_cast<std::chrono::seconds>(timer.elapsed()).count(), whom,
                                  progress_driver_->needs_callers()
                                      ? "; there is no progress thread, so that a rank which computes, "
                                        "or waits in MPI, serves nobody: see \"Without a "
                                        "progress thread\" in docs/consistency.md"
                                      : ""));
}

} // namespace lapwing::detail::team
