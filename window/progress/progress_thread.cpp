#include "window/progress/progress_thread.hpp"

#include "window/backoff.hpp"

#include <algorithm>

#include <sys/prctl.h>

namespace lapwing::window {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds tick_length{4};
constexpr std::chrono::microseconds first_sleep{50};

} // namespace

ProgressThread& ProgressThread::instance() {
    static ProgressThread thread;
    return thread;
}

ProgressThread::~ProgressThread() {
    // Teams that were never closed: the process ends, and their memory goes with it.
    stop_.store(true, std::memory_order_relaxed);
    wake();
    if (thread_.joinable()) thread_.join();
}

void ProgressThread::add(Progressing& team, const Options& options) {
    const std::lock_guard guard{teams_mutex_};
    teams_.push_back(&team);
    if (thread_.joinable()) return;
    options_ = options;
    stop_.store(false, std::memory_order_relaxed);
    thread_ = std::thread{[this] { run(); }};
}

void ProgressThread::remove(Progressing& team) {
    bool last = false;
    {
        const std::lock_guard guard{teams_mutex_};
        std::erase(teams_, &team);
        last = teams_.empty() && thread_.joinable();
        if (last) stop_.store(true, std::memory_order_relaxed);
    }
    if (!last) return;
    wake();
    thread_.join();
}

void ProgressThread::wake() noexcept {
    {
        const std::lock_guard guard{sleep_mutex_};
        nudged_ = true;
    }
    sleep_condition_.notify_one();
}

void ProgressThread::run() {
    // Timers may fire up to 50 us late by default, which is more than a round trip takes.
    prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    Clock::time_point last_traffic = Clock::now() - std::chrono::seconds{1};
    std::chrono::microseconds sleep = first_sleep;
    Backoff backoff{options_.crowded};
    while (!stop_.load(std::memory_order_relaxed)) {
        Progressing::Round round;
        bool attended = true;
        {
            const std::lock_guard guard{teams_mutex_};
            for (Progressing* team : teams_) {
                if (team->attended()) continue;
                attended = false;
                const Progressing::Round one = team->progress_round();
                round.moved |= one.moved;
                round.awake |= one.awake;
            }
        }
        const Clock::time_point now = Clock::now();
        tick_.store(static_cast<std::uint32_t>(now.time_since_epoch() / tick_length) | 1U, std::memory_order_relaxed);
        if (round.moved || round.awake) last_traffic = now;
        if (round.moved) {
            backoff.reset();
            continue;
        }
        if (!attended && now - last_traffic < options_.spin) {
            sleep = first_sleep;
            backoff.pause();
            continue;
        }
        std::unique_lock guard{sleep_mutex_};
        // Sequentially consistent with the load in nudge(): either the nudge sees that this thread is asleep, or this
        // thread sees what was queued before the nudge in its next round; a lost one costs one sleep at most.
        asleep_.store(true, std::memory_order_seq_cst);
        sleep_condition_.wait_for(guard, attended ? options_.longest_sleep : sleep, [this] { return nudged_; });
        asleep_.store(false, std::memory_order_seq_cst);
        nudged_ = false;
        sleep = std::min(2 * sleep, options_.longest_sleep);
    }
}

} // namespace lapwing::window
