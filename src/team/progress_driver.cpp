#include "src/team/progress_driver.hpp"

#include "src/team/team_registry.hpp"

#include <exception>
#include <mutex>
#include <system_error>
#include <utility>

namespace lapwing::detail::support::settings_in {
void team_progress_driver() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::team {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::NumberSetting spin_setting{
    {.name = "LAPWING_PROGRESS_SPIN",
     .default_value = "200",
     .unit = "us",
     .help = "how long the progress thread polls on after the last traffic; beside a computation only while that pays",
     .choices = {}},
    0,
    1'000'000};
[[gnu::init_priority(support::before_programs)]] const support::NumberSetting sleep_setting{
    {.name = "LAPWING_PROGRESS_SLEEP",
     .default_value = "10000",
     .unit = "us",
     .help = "longest sleep of the progress thread without traffic",
     .choices = {}},
    10,
    1'000'000};

/// How long a wake request keeps the progress thread polling. keep_awake() repeats it with the tick of 4 ms, which may
/// be as late again if the thread that counts it was asleep (see ProgressThread::run). So this is twice what is needed,
/// and the target of a steady stream never falls asleep.
constexpr std::chrono::milliseconds awake_time{16};
/// A computation thread that starts this much between looks, several times in a row, streams: it needs the first
/// answers soon, and makes progress itself then. A progress thread that polls beside it would receive those answers,
/// and hold the engine's mutex whenever the next transfer is to start: that would end in the kernel, at 30 us instead
/// of 0.3.
constexpr std::int64_t stream_of_a_look = 16; ///< see ProgressDriver::streams()
constexpr std::chrono::microseconds between_looks{200};
constexpr unsigned looks_at_stream = 2;
/// After so long without traffic a team needs no polling: its next message waits up to a millisecond, once.
constexpr std::chrono::milliseconds quiet_time{20};

} // namespace

ProgressDriver::ProgressDriver(messages::Engine& engine, const mpi::Topology& topology, Membership& membership,
                               const Barrier& barrier, ProgressMode mode, int rank, int size) noexcept
    : engine_{engine},
      topology_{topology},
      membership_{membership},
      barrier_{barrier},
      mode_{mode},
      rank_{rank},
      size_{size},
      needs_callers_{mode == ProgressMode::caller && size > 1},
      serve_mask_{needs_callers_         ? without_thread_mask
                  : topology.nodes() > 1 ? beside_thread_mask
                                         : 0} {}

std::string ProgressDriver::start(const Settings& settings) {
    if (mode_ == ProgressMode::caller || size_ == 1) return {};
    awake_ = std::make_unique<std::atomic<Awake>[]>(std::size_t{1} << awake_bits);
    messages::ProgressThread::Options options;
    options.spin = std::chrono::microseconds{spin_setting.get(settings)};
    options.longest_sleep = std::chrono::microseconds{sleep_setting.get(settings)};
    options.share = topology_.processors().share();
    options.processors = topology_.processors().for_progress();
    try {
        messages::ProgressThread::instance().add(*this, options);
    } catch (const std::system_error& error) {
        return error.what();
    }
    progressing_ = true;
    return {};
}

void ProgressDriver::stop() noexcept {
    if (std::exchange(progressing_, false)) messages::ProgressThread::instance().remove(*this);
}

bool ProgressDriver::serve() noexcept {
    try {
        return engine_.progress();
    } catch (const std::exception& error) {
        // Failures other than MPI's, which have been reported, such as a lack of memory: the first one is kept.
        const std::lock_guard guard{engine_.mutex()};
        membership_.fail(error.what(), MPI_SUCCESS);
        return false;
    }
}

void ProgressDriver::serve_at_call(std::uint32_t mask) {
    static thread_local std::uint32_t calls = 0;
    if ((++calls & mask) != 0) return;
    serve();
    TeamRegistry::instance().serve_others(this);
}

void ProgressDriver::wake(Rank target, std::atomic<Awake>& last, Awake wanted) {
    if (target == rank_) return;
    // If there is no room for the request now, the next operation tries again.
    if (engine_.try_wake(target)) last.store(wanted, std::memory_order_relaxed);
    messages::ProgressThread::instance().nudge(); // its tick does not advance while it sleeps
}

bool ProgressDriver::is_streaming(Clock::time_point now) noexcept {
    if (const auto looks = (now - seen_.last_look) / between_looks; looks > 0) {
        const std::uint64_t streamed = streamed_.load(std::memory_order_relaxed);
        const bool streams = static_cast<std::int64_t>(streamed - seen_.streamed) >= looks * stream_of_a_look;
        seen_.streaming_looks = streams ? seen_.streaming_looks + 1 : 0;
        seen_.streamed = streamed;
        seen_.last_look = now;
    }
    return seen_.streaming_looks >= looks_at_stream;
}

messages::Progressing::Round ProgressDriver::progress_round(Clock::time_point now) noexcept {
    Round round;
    round.moved = serve();
    if (const std::uint64_t wakes = engine_.wakes(); wakes != seen_.wakes) {
        seen_.wakes = wakes;
        seen_.awake_until = now + awake_time;
    }
    round.awake = topology_.processors().share() == support::ProcessorShare::ample ? engine_.busy() : engine_.pushing();
    round.alert = now < seen_.awake_until || barrier_.gathering();
    round.attended = is_streaming(now) && !round.alert;
    if (round.moved || round.awake) seen_.last_moved = now;
    round.quiet = now - seen_.last_moved > quiet_time;
    return round;
}

} // namespace lapwing::detail::team
