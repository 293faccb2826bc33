#include "src/team/team_state.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/probe.hpp"
#include "src/support/first_problem.hpp"
#include "src/support/log.hpp"
#include "src/support/mpi_error.hpp"
#include "src/team/host_waits.hpp"
#include "src/team/team_registry.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

namespace lapwing::support::settings_in {
void team_team_state() {} // see cmake/LapwingSettings.cmake
}

namespace lapwing::team {
namespace {

using support::check_mpi;

const support::ChoiceSetting path_setting{{.name = "LAPWING_PATH",
                                           .default_value = "auto",
                                           .unit = "",
                                           .help = "path between nodes; auto: rma if windows work and are no slower than messages, else service",
                                           .choices = {"auto", "direct", "rma", "service"},
                                           .collective = true}};
const support::ChoiceSetting node_setting{{.name = "LAPWING_NODE",
                                           .default_value = "auto",
                                           .unit = "",
                                           .help = "what a node is; auto: ranks that share memory, each: every rank, "
                                                   "pair: two such ranks (for tests)",
                                           .choices = {"auto", "each", "pair"},
                                           .collective = true}};
const support::ChoiceSetting progress_setting{{.name = "LAPWING_PROGRESS",
                                               .default_value = "auto",
                                               .unit = "",
                                               .help = "who keeps communication moving; auto: a thread if MPI provides "
                                                       "MPI_THREAD_MULTIPLE, else calls into Lapwing",
                                               .choices = {"auto", "thread", "caller"},
                                               .collective = true}};
const support::ChoiceSetting small_setting{{.name = "LAPWING_RMA_SMALL",
                                            .default_value = "auto",
                                            .unit = "",
                                            .help = "what carries puts and gets that fit into a message buffer, and atomics, "
                                                    "on the path rma; auto: messages to the owner's progress thread where MPI "
                                                    "emulates windows",
                                            .choices = {"auto", "mpi", "messages"},
                                            .collective = true}};
const support::NumberSetting spin_setting{{.name = "LAPWING_PROGRESS_SPIN",
                                           .default_value = "200",
                                           .unit = "us",
                                           .help = "how long the progress thread polls on after the last traffic; beside a computation only while that pays",
                                           .choices = {}},
                                          0, 1'000'000};
const support::NumberSetting sleep_setting{{.name = "LAPWING_PROGRESS_SLEEP",
                                            .default_value = "10000",
                                            .unit = "us",
                                            .help = "longest sleep of the progress thread without traffic",
                                            .choices = {}},
                                           10, 1'000'000};
const support::NumberSetting packet_setting{{.name = "LAPWING_SERVICE_PACKET",
                                             .default_value = "8000",
                                             .unit = "bytes",
                                             .help = "size of a message buffer of the service path; 192 of them a rank",
                                             .choices = {},
                                             .collective = true},
                                            512, 1U << 20};
const support::NumberSetting in_flight_setting{{.name = "LAPWING_SERVICE_IN_FLIGHT",
                                                .default_value = "4",
                                                .unit = "packets",
                                                .help = "unacknowledged request packets to one target",
                                                .choices = {}},
                                               1, 1024};

const support::NumberSetting wait_report_setting{{.name = "LAPWING_WAIT_REPORT",
                                                  .default_value = "10",
                                                  .unit = "s",
                                                  .help = "how long a call waits for other ranks before it says so on standard error, "
                                                          "once; 0: never",
                                                  .choices = {}},
                                                 0, 1'000'000};

/// How long a wake request keeps the progress thread polling. keep_awake repeats it with the tick, of 4 ms, which may be as
/// late again where the thread that counts it was asleep (see ProgressThread::run): so this is twice what is needed, and
/// the target of a steady stream never dozes.
constexpr std::chrono::milliseconds awake_time{16};
/// A computation thread that starts so much in each of some looks at it streams: it needs the first answers soon, and makes
/// progress then. A progress thread that polls beside it takes what it would receive, and holds the engine's mutex whenever it
/// wants to start the next transfer: that ends in the kernel, at 30 us instead of 0.3.
constexpr std::int64_t stream_of_a_look = 16; ///< see TeamState::streams()
constexpr std::chrono::microseconds between_looks{200};
constexpr unsigned looks_at_stream = 2;
/// A team where so long nothing has moved needs nobody to poll: what comes then waits for a millisecond once.
constexpr std::chrono::milliseconds quiet_time{20};

int provided_thread_level() {
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    return level;
}

void require_mpi() {
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized == 0)
        throw UsageError{"Team: MPI is not initialised; call MPI_Init_thread before, or make a lapwing::Runtime, which does"};
    if (finalized != 0) throw UsageError{"Team: MPI is finalized already; make runtimes before MPI_Finalize"};
}

/// Waits for the other ranks of a team to be, serving the older teams of this process meanwhile: who is not here yet may
/// need them first. After it all ranks are in the same calls, and MPI's blocking ones wait for nothing else.
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

} // namespace

TeamState::TeamState(MPI_Comm communicator, const Settings& settings) : settings_{settings} {
    require_mpi();
    if (communicator == MPI_COMM_NULL)
        throw UsageError{"Team: the communicator is MPI_COMM_NULL; only ranks of the communicator may make a team of it"};
    int is_inter = 0;
    check_mpi(MPI_Comm_test_inter(communicator, &is_inter), "MPI_Comm_test_inter");
    if (is_inter != 0)
        throw UsageError{"Team: the communicator is an intercommunicator; merge it first (MPI_Intercomm_merge)"};
    meet(communicator);
    check_mpi(MPI_Comm_dup(communicator, &communicator_), "MPI_Comm_dup");
    bool host_waits_know = false;
    try {
        check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
        check_mpi(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
        who_ = fmt::format("rank {} of {}", rank_, size_);
        check_mpi(MPI_Comm_dup(communicator_, &broadcast_communicator_), "MPI_Comm_dup");
        check_mpi(MPI_Comm_set_errhandler(broadcast_communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check_mpi(MPI_Comm_dup(communicator_, &engine_communicator_), "MPI_Comm_dup");
        check_mpi(MPI_Comm_set_errhandler(engine_communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        choose_paths();

        messages::EngineLimits limits;
        limits.packet_bytes = packet_setting.get(settings_);
        limits.packets_in_flight = in_flight_setting.get(settings_);
        engine_ = std::make_unique<messages::Engine>(engine_communicator_, limits, statistics_, *this);
        if (size_ > 1) {
            calibration_ = support::allocate_zeroed(calibration_bytes); // untouched pages would all be one
            engine_->expose(calibration_window, {.base = calibration_.get(), .bytes = calibration_bytes});
        }
        barrier_.emplace(*engine_, *topology_, rank_);
        watch_.emplace(*engine_, rank_, size_);
        wait_report_ = std::chrono::seconds{wait_report_setting.get(settings_)};
        make_node_barrier();
        needs_callers_ = progress_mode_ == ProgressMode::caller && size_ > 1;
        serve_mask_ = needs_callers_ ? without_thread_mask : topology_->nodes() > 1 ? beside_thread_mask : 0;
        TeamRegistry::instance().add(*this);
        if (needs_callers_) {
            HostWaits::add(*this);
            host_waits_know = true;
        }
        start_progress();
        report_no_thread();
    } catch (...) {
        TeamRegistry::instance().remove(*this);
        if (host_waits_know) HostWaits::remove(*this); // or another team's entry, which had this address
        stop_progress();
        if (engine_ != nullptr) engine_->stop(); // MPI would write to its buffers, which end with it
        free_mpi();
        free_communicator();
        throw;
    }
}

TeamState::~TeamState() {
    stop_progress();
    TeamRegistry::instance().remove(*this);
}

void TeamState::choose_paths() {
    // Every rank must take the same path, or they would wait for each other: compare what the ranks ask for.
    const auto path = path_setting.get(settings_);
    const auto node = node_setting.get(settings_);
    const auto progress = progress_setting.get(settings_);
    const int level = provided_thread_level();
    const auto small = small_setting.get(settings_);
    constexpr std::size_t automatic = 0;
    constexpr std::size_t by_messages = 2;
    std::array<std::int64_t, 12> extremes{};
    const std::array<std::int64_t, 6> own{static_cast<std::int64_t>(path), static_cast<std::int64_t>(node),
                                          static_cast<std::int64_t>(progress),
                                          static_cast<std::int64_t>(packet_setting.get(settings_)),
                                          static_cast<std::int64_t>(small), level};
    for (std::size_t i = 0; i < own.size(); ++i) {
        extremes[2 * i] = own[i];
        extremes[2 * i + 1] = -own[i];
    }
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, extremes.data(), static_cast<int>(extremes.size()), MPI_INT64_T, MPI_MIN,
                            communicator_),
              "MPI_Allreduce");
    constexpr std::array<const char*, 5> names{"LAPWING_PATH", "LAPWING_NODE", "LAPWING_PROGRESS", "LAPWING_SERVICE_PACKET",
                                               "LAPWING_RMA_SMALL"};
    for (std::size_t i = 0; i < names.size(); ++i)
        if (extremes[2 * i] != -extremes[2 * i + 1])
            throw MismatchError{fmt::format("{}: Team: {} is {} here and something else on another rank; set it alike on all "
                                            "ranks",
                                            who_, names[i], settings_.text(names[i]))};
    const auto lowest_level = static_cast<int>(extremes[2 * names.size()]);

    if (progress == 1 && lowest_level < MPI_THREAD_MULTIPLE)
        throw SettingError{fmt::format("{}: Team: LAPWING_PROGRESS=thread needs MPI_THREAD_MULTIPLE, and MPI provides level {}; "
                                       "initialise MPI with MPI_Init_thread(MPI_THREAD_MULTIPLE), or leave the setting at auto",
                                       who_, lowest_level)};
    progress_mode_ = progress != 2 && lowest_level == MPI_THREAD_MULTIPLE ? ProgressMode::thread : ProgressMode::caller;
    // Without progress threads a rank that waits in MPI serves MPI's operations, but no messages.
    const bool thread = progress_mode_ == ProgressMode::thread;
    small_by_messages_ = thread && small == by_messages;

    auto mode = node == 0 ? mpi::NodeMode::by_memory : node == 1 ? mpi::NodeMode::each : mpi::NodeMode::pairs;
    topology_ = std::make_unique<mpi::Topology>(communicator_, mode);
    if (topology_->largest_node() > 1) {
        if (!mpi::all_agree(communicator_, mpi::probe_shared_windows(topology_->node_communicator()))) {
            mode = mpi::NodeMode::each;
            topology_ = std::make_unique<mpi::Topology>(communicator_, mode);
            path_reason_ = "MPI_Win_allocate_shared does not work, so every rank is a node of its own; ";
        }
    }

    avoids_mpi_atomics_ = topology_->one_machine() && mpi::atomics_crash();

    constexpr std::size_t direct = 1; // choices of LAPWING_PATH
    constexpr std::size_t rma = 2;
    constexpr std::size_t service = 3;
    if (topology_->nodes() == 1) {
        network_path_ = Path::direct;
        path_reason_ += "all ranks are on one node";
        return;
    }
    if (path == direct)
        throw SettingError{fmt::format("{}: Team: LAPWING_PATH=direct needs all ranks on one node, and there are {} nodes; use "
                                       "auto, rma or service",
                                       who_, topology_->nodes())};
    if (path == service) {
        network_path_ = Path::service;
        path_reason_ += "LAPWING_PATH=service";
        return;
    }
    const mpi::ProbeResult probe = mpi::probe_windows(communicator_, *topology_, level, [](std::chrono::microseconds time, std::int64_t* asleep) {
        messages::ProgressThread::instance().sleep_outside_mpi(time, asleep); // that of other teams
    });
    if (path == rma && !probe.works)
        throw SettingError{fmt::format("{}: Team: LAPWING_PATH=rma, but MPI windows do not work here: {}; use auto or service",
                                       who_, probe.reason)};
    if (thread && small == automatic) small_by_messages_ = probe.emulated;
    // Where MPI emulates windows, an operation on them is messages, too, that a progress thread at the target answers: Lapwing's
    // own are faster at any size, and ask for no window over all ranks.
    const bool emulated = path == automatic && small == automatic && small_by_messages_;
    network_path_ = probe.works && !emulated ? Path::rma : Path::service;
    data_needs_no_target_ = network_path_ == Path::rma && probe.target_idle;
    path_reason_ += path == rma     ? "LAPWING_PATH=rma"
                    : !probe.works  ? probe.reason
                    : emulated      ? "MPI makes messages of windows' operations between the nodes, and Lapwing's own are faster"
                                    : "windows work between the nodes";
    if (small_by_messages_ && network_path_ == Path::rma) path_reason_ += "; small operations as messages (LAPWING_RMA_SMALL)";
    if (data_needs_no_target_) path_reason_ += "; gets and puts need no progress of their target";
}

void TeamState::make_node_barrier() {
    if (topology_->node_size() == 1) return;
    void* own = nullptr;
    const MPI_Comm node = topology_->node_communicator();
    const bool first = topology_->node_rank() == 0;
    const auto ranks = static_cast<std::size_t>(topology_->node_size());
    const MPI_Aint bytes = first ? static_cast<MPI_Aint>(sizeof(NodeBarrier) + ranks) : 0;
    check_mpi(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, node, &own, &node_window_), "MPI_Win_allocate_shared", who_);
    MPI_Aint size = 0;
    int unit = 0;
    void* shared = nullptr;
    check_mpi(MPI_Win_shared_query(node_window_, 0, &size, &unit, &shared), "MPI_Win_shared_query", who_);
    auto* const barrier = static_cast<NodeBarrier*>(shared);
    if (first) {
        new (barrier) NodeBarrier{};
        barrier->reset();
        for (std::size_t i = 0; i < ranks; ++i) new (barrier->states() + i) std::atomic<std::uint8_t>{0};
    }
    check_mpi(MPI_Barrier(node), "MPI_Barrier");
    barrier_->use_node(barrier);
}

void TeamState::start_progress() {
    std::string problem;
    if (progress_mode_ == ProgressMode::thread && size_ > 1) {
        messages::ProgressThread::Options options;
        options.spin = std::chrono::microseconds{spin_setting.get(settings_)};
        options.longest_sleep = std::chrono::microseconds{sleep_setting.get(settings_)};
        options.share = topology_->processors().share();
        options.processors = topology_->processors().for_progress();
        try {
            messages::ProgressThread::instance().add(*this, options);
            progressing_ = true;
        } catch (const std::system_error& error) {
            problem = error.what();
        }
        awake_ = std::make_unique<std::atomic<Awake>[]>(std::size_t{1} << awake_bits);
    }
    // Nobody may send to an engine that does not listen yet; and all ranks get a team, or none.
    if (mpi::all_agree(communicator_, problem.empty())) return;
    if (problem.empty())
        throw Error{fmt::format("{}: Team: another rank could not start its progress thread; see that rank's error", who_)};
    throw Error{fmt::format("{}: Team: the progress thread could not be started ({}); raise the limit of threads (ulimit -u, or "
                            "that of the container), or set LAPWING_PROGRESS=caller",
                            who_, problem)};
}

void TeamState::stop_progress() noexcept {
    if (std::exchange(progressing_, false)) messages::ProgressThread::instance().remove(*this);
}

Path TeamState::path(int target) const noexcept {
    if (target == rank_) return Path::self;
    return topology_->node_index(target) >= 0 ? Path::direct : network_path_;
}

// ---- progress and waiting -------------------------------------------------------------------------------------------

messages::Progressing::Round TeamState::progress_round(Clock::time_point now) noexcept {
    Round round;
    round.moved = serve();
    if (const std::uint64_t wakes = engine_->wakes(); wakes != seen_wakes_) {
        seen_wakes_ = wakes;
        awake_until_ = now + awake_time;
    }
    round.awake = topology_->processors().share() == support::ProcessorShare::ample ? engine_->busy() : engine_->pushing();
    round.alert = now < awake_until_ || barrier_->gathering();
    if (const auto looks = (now - last_look_) / between_looks; looks > 0) {
        const std::uint64_t streamed = streamed_.load(std::memory_order_relaxed);
        const bool streams = static_cast<std::int64_t>(streamed - seen_streamed_) >= looks * stream_of_a_look;
        streaming_looks_ = streams ? streaming_looks_ + 1 : 0;
        seen_streamed_ = streamed;
        last_look_ = now;
    }
    round.attended = !round.alert && streaming_looks_ >= looks_at_stream;
    if (round.moved || round.awake) last_moved_ = now;
    round.quiet = now - last_moved_ > quiet_time;
    return round;
}

bool TeamState::serve() noexcept {
    try {
        return engine_->progress();
    } catch (const std::exception& error) {
        // What is none of MPI's failures, which have been told, such as a lack of memory: the first one stays.
        const std::lock_guard guard{engine_->mutex()};
        on_failed(error.what(), MPI_SUCCESS);
        return false;
    }
}

bool TeamState::progress() {
    const bool moved = serve();
    return TeamRegistry::instance().serve_others(this) || moved;
}

void TeamState::on_failed(const std::string& text, int code) noexcept {
    {
        const std::lock_guard guard{trouble_mutex_};
        if (failure_.text.empty()) failure_ = {text, code};
        troubled_.store(true, std::memory_order_relaxed);
    }
    tell_departure({Why::failure}); // or the others would wait for what this rank cannot do any more
}

void TeamState::wake(int target, std::atomic<Awake>& last, Awake wanted) {
    if (target == rank_) return;
    // Without room for the request now the next operation tries again.
    if (engine_->try_wake(target)) last.store(wanted, std::memory_order_relaxed);
    messages::ProgressThread::instance().nudge(); // its tick stands still while it sleeps
}

void TeamState::on_progress() {
    barrier_->advance();
    if (news_.empty()) return;
    for (News& news : news_) {
        const messages::Request request{.kind = messages::RequestKind::departed,
                              .tag = news.departed.why.packed(),
                              .offset = static_cast<std::uint64_t>(news.departed.rank),
                              .size = news.departed.collectives};
        // A neighbour that takes nothing now, or never will, keeps it from no other.
        for (std::uint32_t left = news.untold; left != 0; left &= left - 1) {
            const int round = std::countr_zero(left);
            const auto neighbour = static_cast<int>((rank_ + (std::int64_t{1} << round)) % size_);
            bool told = false;
            try {
                told = is_departed(neighbour) || engine_->try_send_locked(neighbour, request);
            } catch (...) { // MPI fails, which has been recorded: the rest of the round goes on
                told = true;
            }
            if (told) news.untold &= ~(std::uint32_t{1} << round);
        }
    }
    std::erase_if(news_, [](const News& news) { return news.untold == 0; });
}

void TeamState::tell(const Departed& departed) {
    const int rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(size_ - 1)));
    const News news{departed, rounds == 0 ? 0 : ~std::uint32_t{0} >> (32 - rounds)};
    if (departed.rank == rank_) news_.insert(news_.begin(), news);
    else news_.push_back(news);
}

void TeamState::tell_departure(Why why) { tell_departure(why, collectives_.load(std::memory_order_relaxed)); }

void TeamState::tell_departure(Why why, std::uint64_t collectives) {
    if (!std::exchange(own_departure_told_, true)) tell({rank_, collectives, why});
}

void TeamState::on_departed(int rank, std::uint64_t collectives, std::uint32_t why) {
    const std::lock_guard guard{trouble_mutex_};
    if (is_departed(rank) || departed_.size() >= most_departures) return;
    const Departed departed{rank, collectives, Why::unpacked(why)};
    departed_.push_back(departed);
    tell(departed);
    broken_.store(true, std::memory_order_release);
    troubled_.store(true, std::memory_order_relaxed);
}

void TeamState::on_abandoned_access() {
    {
        // The team is over for this rank, too: the others count it among those that have left.
        const std::lock_guard guard{trouble_mutex_};
        if (!is_departed(rank_)) departed_.push_back({rank_, 0, {Why::memory}});
        broken_.store(true, std::memory_order_release);
        troubled_.store(true, std::memory_order_relaxed);
    }
    tell_departure({Why::memory});
}

bool TeamState::has_left(int rank) {
    const std::lock_guard guard{trouble_mutex_};
    return is_departed(rank);
}

bool TeamState::is_departed(int rank) const {
    return std::ranges::find(departed_, rank, &Departed::rank) != departed_.end();
}

std::string TeamState::Why::text() const {
    if (cause == exception) return "by an exception";
    if (cause == others) return fmt::format("after rank {} had", detail);
    if (cause == failure) return "when an MPI call of its own failed, or ranks were in different collective calls";
    if (cause == finalize) return "by MPI_Finalize";
    if (cause == memory) return "by an exception out of the scope of an adopted window, whose memory is gone";
    const auto call = static_cast<CollectiveCall>(detail & 0xFF);
    const auto other = static_cast<CollectiveCall>(detail >> 8);
    if (call == other) return fmt::format("after a mismatch: not all ranks passed the same to {}", name(call));
    return fmt::format("after a mismatch: it was in {} while another rank was in {}", name(call), name(other));
}

void TeamState::check_trouble(const char* call, int target) {
    const std::lock_guard guard{trouble_mutex_};
    if (!failure_.text.empty()) {
        const std::string text = fmt::format("{}: {}: progress failed: {}", who_, call, failure_.text);
        if (failure_.code != MPI_SUCCESS) throw MpiError{text, failure_.code};
        throw Error{text};
    }
    const bool hopeless = departed_.size() >= most_departures;
    const auto found = std::ranges::find_if(departed_, [&](const Departed& departed) {
        switch (target) {
        case any_rank: return true;
        case next_collective: return hopeless || departed.collectives <= collectives_.load(std::memory_order_relaxed);
        // A rank that others left can still reach the ones that stayed, but not all departures may be known.
        default: return departed.rank == target || (hopeless && target != rank_);
        }
    });
    if (found != departed_.end())
        throw PeerLeftError{fmt::format("{}: {}: rank {} left the team {}, so this call cannot complete; see that rank's error", who_,
                                        call, found->rank, found->why.text())};
}

void TeamState::wait(MPI_Request& request, const char* call) {
    wait_until(
        [&] {
            int done = 0;
            check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call, who_);
            return done != 0;
        },
        call, next_collective);
}

void TeamState::look_after(support::Patience& patience, const char* call, int target) {
    if (patience.elapsed() < support::Patience::suspicious) return;
    if (target == next_collective && !last_collective_) {
        barrier_->mark_waiting();
        const std::uint64_t collectives = collectives_.load(std::memory_order_relaxed);
        if (const std::string other = watch_->look(collectives, call, closing_window_, begins_with_barrier(call)); !other.empty()) {
            const std::string text = fmt::format("{}: {}: {}, and each waits for the other; all ranks of a team must make the same "
                                                 "collective calls in the same order",
                                                 who_, call, other);
            {
                const std::lock_guard guard{engine_->mutex()};
                // Whoever waits, in whatever call: of those that this rank has made it may have made others than they.
                tell_departure({Why::failure}, 0);
                on_failed(text, MPI_SUCCESS); // the calls cannot be taken back: nor can the team go on
            }
            throw MismatchError{text};
        }
    }
    if (wait_report_.count() != 0 && patience.first_beyond(wait_report_)) report_wait(patience, call, target);
}

void TeamState::report_wait(const support::Patience& patience, const char* call, int target) {
    std::string whom = "other ranks";
    if (target >= 0) whom = fmt::format("rank {}", target);
    else if (target == next_collective) whom = barrier_->missing().value_or(whom);
    support::log_line(fmt::format(
        "{}: {} has waited {} s for {} and goes on waiting{} (LAPWING_WAIT_REPORT)", who_, call,
        std::chrono::duration_cast<std::chrono::seconds>(patience.elapsed()).count(), whom,
        needs_callers_ ? "; there is no progress thread, so that a rank which computes, or waits in MPI, serves nobody: see \"Without a "
                         "progress thread\" in docs/consistency.md"
                       : ""));
}

void TeamState::check_notifiers(const EpochMember& window, const char* call) {
    if (!watch_->all_others_in(collectives_.load(std::memory_order_relaxed), name(CollectiveCall::window_close), window.number()))
        return;
    throw UsageError{fmt::format("{}: {}: all other ranks are closing the window, so that no notification can come; close it behind the "
                                 "last wait on all ranks",
                                 who_, call)};
}

void TeamState::report_no_thread() const {
    static std::atomic<bool> said{false};
    if (progress_mode_ != ProgressMode::caller || topology_->nodes() == 1 || rank_ != 0 || said.exchange(true)) return;
    support::log_line("no progress thread (MPI_THREAD_MULTIPLE is not provided, or LAPWING_PROGRESS=caller): other ranks wait while "
                      "this one computes, or waits in MPI, without calling Lapwing");
}

void TeamState::give_up(Memory memory) noexcept {
    const std::lock_guard guard{trouble_mutex_};
    given_up_.push_back(std::move(memory));
}

// ---- barriers -------------------------------------------------------------------------------------------------------

void TeamState::require_open(const char* call) const {
    if (closed_) throw UsageError{fmt::format("{}: {}: the team is closed; make a new one", who_, call)};
}

void TeamState::notify(CollectiveCall call, std::optional<std::int64_t> identity) {
    require_open(name(call));
    check_reachable(name(call), any_rank);
    if (barrier_->notified())
        throw UsageError{fmt::format("{}: {}: notify was called before, and its wait is missing; call wait first", who_,
                                     name(call))};
    release();
    barrier_->notify(call, identity);
}

void TeamState::wait_barrier(CollectiveCall call, std::optional<std::int64_t> identity) {
    wait_until([this] { return barrier_->complete(); }, name(call), next_collective);
    count_collective(name(call));
    barrier_->end();
    check_attendance(call, identity);
    acquire();
}

void TeamState::notify_split(std::optional<std::int64_t> identity) {
    notify(CollectiveCall::barrier, identity);
    notify_identity_ = identity;
}

void TeamState::wait_split(std::optional<std::int64_t> identity) {
    require_open("Team::wait");
    if (!barrier_->notified()) throw UsageError{fmt::format("{}: Team::wait: there was no notify before it; call notify first", who_)};
    if (identity != notify_identity_) {
        const auto text = [](const std::optional<std::int64_t>& value) { return value ? fmt::format("{}", *value) : "none"; };
        throw MismatchError{fmt::format("{}: Team::wait: its identity is {}, that of the notify before it {}; pass the same", who_,
                                        text(identity), text(notify_identity_))};
    }
    wait_barrier(CollectiveCall::barrier, identity);
}

void TeamState::barrier(CollectiveCall call, std::optional<std::int64_t> identity) {
    notify(call, identity);
    wait_barrier(call, identity);
}

void TeamState::barrier_of_close(const EpochMember& window) {
    closing_window_ = window.number();
    try {
        barrier(CollectiveCall::window_close, static_cast<std::int64_t>(closing_window_));
    } catch (...) {
        closing_window_ = 0;
        throw;
    }
    closing_window_ = 0;
}

void TeamState::check_attendance(CollectiveCall call, std::optional<std::int64_t> identity) {
    const Attendance all = barrier_->attendance();
    mismatch_.reset();
    if (all.lowest_call != all.highest_call) {
        const auto other = static_cast<CollectiveCall>(all.lowest_call == static_cast<std::int32_t>(call) ? all.highest_call
                                                                                                          : all.lowest_call);
        mismatch_ = Why::of_mismatch(call, other);
        throw MismatchError{fmt::format("{}: {}: another rank is in {} at the same time; all ranks of a team must make the same "
                                        "collective calls in the same order",
                                        who_, name(call), name(other))};
    }
    if (all.lowest_identity < all.highest_identity) {
        mismatch_ = Why::of_mismatch(call, call);
        if (call == CollectiveCall::window_close)
            throw MismatchError{fmt::format("{}: {}: this rank closes the window that was made as number {}, other ranks ones from number "
                                            "{} to {}; close windows and arrays in the same order on all ranks. It stays open",
                                            who_, name(call), identity.value_or(0), all.lowest_identity, all.highest_identity)};
        if (call == CollectiveCall::on_window)
            throw MismatchError{fmt::format("{}: {}: this rank calls {}, and of the others one calls {} and one {}; all ranks of a team must "
                                            "make the same collective calls in the same order",
                                            who_, name(call), text_on_window(identity.value_or(0)), text_on_window(all.lowest_identity),
                                            text_on_window(all.highest_identity))};
        if (call == CollectiveCall::lock_create || call == CollectiveCall::lock_close)
            throw MismatchError{fmt::format("{}: {}: of the team's locks this is {} here, and {} or {} on another rank; name the same "
                                            "home on all ranks, and make and close locks in the same order.{}",
                                            who_, name(call), text_of_lock(identity.value_or(0)), text_of_lock(all.lowest_identity),
                                            text_of_lock(all.highest_identity),
                                            call == CollectiveCall::lock_close ? " It stays open" : "")};
        throw MismatchError{fmt::format("{}: {}: the identities differ: {} here, from {} to {} over all ranks; ranks must meet "
                                        "in the same barrier",
                                        who_, name(call), identity ? fmt::format("{}", *identity) : "none", all.lowest_identity,
                                        all.highest_identity)};
    }
}

void TeamState::release() {
    check_usable("Team::release");
    serve_now_and_then();
    {
        const support::BiasedMutex::Guard guard{idle_members_mutex_};
        if (std::ranges::none_of(members_, [](const EpochMember* member) { return member->holds_back() || member->under_way(); }))
            return order_memory();
    }
    const std::shared_lock guard{members_mutex_};
    // What one member cannot complete keeps nothing back in the others.
    support::FirstProblem problem;
    for (EpochMember* member : members_)
        if (member->holds_back()) problem.attempt([&] { member->start_release(); });
    for (EpochMember* member : members_)
        if (member->under_way()) problem.attempt([&] { member->finish_release(); });
    order_memory();
    problem.rethrow();
}

void TeamState::order_memory() {
    // One member's order is every member's: a fence of the processor, and of what MPI keeps apart, the same in each.
    if (members_.empty()) std::atomic_thread_fence(std::memory_order_seq_cst);
    else members_.front()->order_memory();
}

void TeamState::acquire() {
    check_usable("Team::acquire");
    serve_looks();
    {
        const support::BiasedMutex::Guard guard{idle_members_mutex_};
        order_memory();
        if (members_with_copies_.empty()) return;
    }
    const std::shared_lock guard{members_mutex_};
    for (EpochMember* member : members_with_copies_) member->drop_copies();
}

void TeamState::add(EpochMember& member) {
    const std::lock_guard guard{members_mutex_};
    const support::BiasedMutex::Guard idle_guard{idle_members_mutex_};
    members_.push_back(&member);
    if (member.has_copies()) members_with_copies_.push_back(&member);
}

void TeamState::remove(EpochMember& member) noexcept {
    const std::lock_guard guard{members_mutex_};
    const support::BiasedMutex::Guard idle_guard{idle_members_mutex_};
    std::erase(members_, &member);
    std::erase(members_with_copies_, &member);
}

template <class Step>
void TeamState::for_each_part(Step&& step) {
    std::vector<TeamPart*> parts;
    {
        const std::lock_guard guard{parts_mutex_};
        for (const auto& [type, part] : parts_) parts.push_back(part.get());
    }
    for (TeamPart* const part : parts) step(*part);
}

// ---- the end --------------------------------------------------------------------------------------------------------

void TeamState::check_other_closes() {
    const auto obstacle = TeamRegistry::instance().blocked_by(*this);
    if (!obstacle) return;
    throw UsageError{fmt::format("{}: Team::close: rank {} of this team waits in the close of another team, of {} ranks, that "
                                 "this rank has not closed: the two would wait for each other. Close teams in the same order "
                                 "on all ranks: close that one now, then call close again",
                                 who_, obstacle->rank, obstacle->team_size)};
}

void TeamState::close() {
    if (closed_) return;
    if (TeamRegistry::mpi_ended())
        throw UsageError{fmt::format("{}: Team::close: MPI is finalized already; close runtimes before MPI_Finalize", who_)};
    {
        const std::lock_guard guard{members_mutex_};
        if (!members_.empty())
            throw UsageError{fmt::format("{}: Team::close: {} of its windows are open, the first is {}; close windows, arrays "
                                         "and locks before their runtime",
                                         who_, members_.size(), members_.front()->label())};
    }
    for_each_part([&](TeamPart& part) {
        if (const std::string open = part.still_open(); !open.empty())
            throw UsageError{fmt::format("{}: Team::close: {} are open; close windows, arrays and locks before their runtime", who_, open)};
    });
    if (!close_notified_.load(std::memory_order_relaxed)) {
        notify(CollectiveCall::team_close, {});
        close_notified_.store(true, std::memory_order_relaxed);
    }
    const auto next_check = std::chrono::milliseconds{20}; // looking at other teams costs more than polling
    auto check_at = std::chrono::steady_clock::now() + next_check;
    wait_until(
        [&] {
            if (barrier_->complete()) return true;
            if (std::chrono::steady_clock::now() >= check_at) {
                check_other_closes();
                check_at = std::chrono::steady_clock::now() + next_check;
            }
            return false;
        },
        "Team::close", next_collective);
    count_collective("Team::close");
    barrier_->end();
    close_notified_.store(false, std::memory_order_relaxed); // if another rank is elsewhere, the next close starts anew
    check_attendance(CollectiveCall::team_close, {});
    close_notified_.store(true, std::memory_order_relaxed);
    last_collective_ = true;
    // Everything sent is acknowledged and everything owed has left; then wait until that holds for all, so that no message
    // is on its way when the receives are taken back.
    wait_until([this] { return engine_->idle(); }, "Team::close");
    for_each_part([](TeamPart& part) { part.close(); });
    StatisticsValues total = statistics_.read();
    auto left_windows = TeamRegistry::instance().left_windows_of(*this);
    constexpr std::size_t bytes = sizeof total.values;
    Memory memory = std::make_unique_for_overwrite<std::byte[]>(bytes + sizeof left_windows);
    std::memcpy(memory.get(), total.values.data(), bytes);
    std::memcpy(memory.get() + bytes, left_windows.data(), sizeof left_windows);
    complete(memory, "Team::close", [&](std::byte* place) { // no rank has the sum before all have come
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Iallreduce(MPI_IN_PLACE, place, static_cast<int>(counter_count + left_windows.size()), MPI_UINT64_T, MPI_SUM,
                                 communicator_, &request),
                  "MPI_Iallreduce", who_);
        return request;
    });
    std::memcpy(total.values.data(), memory.get(), bytes);
    std::memcpy(left_windows.data(), memory.get() + bytes, sizeof left_windows);
    total_at_close_ = total;
    TeamRegistry::instance().remove(*this); // before anything goes that closes of other teams look at
    HostWaits::remove(*this);
    stop_progress();
    engine_->stop();
    TeamRegistry::instance().free_left_windows(*this, left_windows);
    free_mpi();
    closed_ = true;
    // What makes progress, but for this barrier itself, is behind all ranks before one may finalize MPI: in MPICH 4.0.2 over
    // UCX's TCP, MPI_Finalize asks every rank for an acknowledgement, and looks at messages no longer when it has them all.
    // Who gave its own before its MPI_Finalize waits there for ever.
    check_mpi(MPI_Barrier(communicator_), "MPI_Barrier", who_);
    free_communicator();
}

void TeamState::wait_for_all(const char* call) {
    Memory nothing;
    complete(nothing, call, [&](std::byte*) {
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Ibarrier(communicator_, &request), "MPI_Ibarrier", who_);
        return request;
    });
}

void TeamState::free_mpi() noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    if (node_window_ != MPI_WIN_NULL) MPI_Win_free(&node_window_);
    if (topology_ != nullptr) topology_->close();
    if (engine_communicator_ != MPI_COMM_NULL) MPI_Comm_free(&engine_communicator_);
    if (broadcast_communicator_ != MPI_COMM_NULL) MPI_Comm_free(&broadcast_communicator_);
}

void TeamState::free_communicator() noexcept {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0 && communicator_ != MPI_COMM_NULL) MPI_Comm_free(&communicator_);
}

void TeamState::say_goodbye(Why why) {
    {
        const std::lock_guard guard{engine_->mutex()};
        tell_departure(why);
    }
    // The others may be gone too: tell who listens, for a bounded time.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{1};
    support::Backoff backoff{support::ProcessorShare::crowded};
    while (std::chrono::steady_clock::now() < end) {
        try {
            if (engine_->idle()) return;
        } catch (const Error&) { // what has failed has been told
        }
        backoff.pause();
    }
}

void TeamState::leave(bool by_exception) noexcept {
    if (closed_ || left_) return;
    left_ = true;
    if (TeamRegistry::mpi_ended()) return;
    try {
        Why why;
        if (mismatch_) {
            why = *mismatch_;
        } else if (!by_exception) {
            const std::lock_guard guard{trouble_mutex_};
            if (!departed_.empty()) why = {Why::others, static_cast<std::uint32_t>(departed_.front().rank) & 0xFFFFFF};
        }
        say_goodbye(why);
    } catch (...) { // leaving anyway
    }
    TeamRegistry::instance().remove(*this);
    stop_progress();
    engine_->stop();
    // Communicators and windows stay: freeing them is collective, and the others are elsewhere.
}

void TeamState::on_finalize() noexcept {
    stop_progress();
    if (closed_ || left_) return;
    support::log_line(fmt::format("{}: MPI_Finalize was called while a team is open; close runtimes, windows and arrays first",
                                  who_));
    try {
        if (size_ > 1) say_goodbye({Why::finalize}); // MPI still works here, and the others may be waiting for this rank
    } catch (...) { // they are told as far as can be
    }
    engine_->stop();
    const std::lock_guard guard{trouble_mutex_};
    failure_ = {"MPI is finalized", MPI_SUCCESS};
    troubled_.store(true, std::memory_order_relaxed);
}

void TeamState::defer(std::unique_ptr<TeamState> team) noexcept { TeamRegistry::instance().keep(std::move(team)); }

std::string TeamState::report() const {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
    int length = 0;
    MPI_Get_library_version(version.data(), &length);
    std::string_view library{version.data(), static_cast<std::size_t>(length)};
    library = library.substr(0, library.find_first_of(std::string_view{"\n\r\0", 3})); // Open MPI counts the final zero
    int level = 0;
    MPI_Query_thread(&level);
    constexpr std::array<const char*, 4> levels{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
                                                "MPI_THREAD_MULTIPLE"};
    const char* level_name = level == MPI_THREAD_MULTIPLE     ? levels[3]
                             : level == MPI_THREAD_SERIALIZED ? levels[2]
                             : level == MPI_THREAD_FUNNELED   ? levels[1]
                                                              : levels[0];
    std::string text = fmt::format("{} ranks on {} nodes, {} on this one; {} ({})\n", size_, topology_->nodes(),
                                   topology_->node_size(), library, level_name);
    text += fmt::format("paths from rank {}: self to itself", rank_);
    if (topology_->node_size() > 1) text += fmt::format(", direct to {} ranks of its node", topology_->node_size() - 1);
    if (topology_->nodes() > 1)
        text += fmt::format(", {} to {} ranks of other nodes", name(network_path_), size_ - topology_->node_size());
    text += fmt::format(" ({})\n", path_reason_);
    text += fmt::format("progress by {}; message buffers {} KiB", name(progress_mode_), engine_->memory_bytes() / 1024);
    if (progress_mode_ == ProgressMode::caller)
        text += "; other ranks' requests are served only while this rank is inside Lapwing or, for rma, inside MPI";
    for (const SettingInfo& info : all_settings())
        if (settings_.origin(info.name) != "default")
            text += fmt::format("\n{}={} (from the {})", info.name, settings_.text(info.name), settings_.origin(info.name));
    return text;
}

} // namespace lapwing::team
