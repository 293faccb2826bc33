#include "src/messages/polling_policy.hpp"

#include <algorithm>

namespace lapwing::detail::messages {
namespace {

using support::ProcessorShare;

constexpr std::chrono::microseconds first_sleep{50};
/// After traffic that a socket announced: the next is probably announced, too, and each look costs the computation on
/// this processor some microseconds.
constexpr std::chrono::microseconds first_told_sleep{500};
/// While a computation thread drives progress, because it waits or soon will: it may go back to computing at any time
/// without notice.
constexpr std::chrono::microseconds driven_sleep{1000};
/// The thread polls for requests that MPI serves without Lapwing's knowledge, unless a computation thread on the same
/// processor has waited within this time: that thread serves them too, and polling here would take the processor from
/// it for a time slice. The thread then sleeps between looks. A computation that does not wait gives up at most half of
/// its processor.
constexpr std::chrono::milliseconds courtesy{5};
/// For so many fruitless rounds after something moved the thread keeps its processor, even one that it shares with a
/// computation: after a yield it would get the processor back a time slice later, and the next request of a stream
/// arrives sooner. Counted in rounds, because these are slower on slower networks. Rounds in which traffic is merely
/// expected count as fruitless: what holds it up may be a thread that this one keeps from its processor.
constexpr unsigned hot_rounds = 8;
/// Between two yields on a processor of its own, where the other threads hardly ever need one.
constexpr unsigned rounds_between_yields = 32;
/// Fruitless rounds after a wake before the next sleep: MPI may need several to see what woke the thread.
constexpr unsigned rounds_after_wake = 16;
/// So many wakes in a row by a socket that brought nothing: the sockets are not MPI's, and are ignored for some sleeps.
constexpr unsigned most_false_wakes = 8;
constexpr unsigned sleeps_without_sockets = 16;

} // namespace

void PollingPays::see(bool moved, bool waited, Clock::time_point now, std::chrono::microseconds time) noexcept {
    waited_ |= waited;
    if (moved) {
        if (cold_ && !waited_)
            credit_ = std::clamp(credit_ + (now - last_moved_ < time ? 1 : -cost_in_vain), -most, most);
        waited_ = false;
        last_moved_ = now;
    }
    cold_ = !moved;
}

PollingPolicy::PollingPolicy(const Times& times, ProcessorShare share, Clock::time_point now)
    : times_{times},
      own_processor_{share == ProcessorShare::ample},
      last_traffic_{now - std::chrono::seconds{1}},
      last_wait_{last_traffic_},
      cold_rounds_{hot_rounds},
      sleep_{first_sleep} {}

PollingPolicy::Next PollingPolicy::after(const ProgressRound& round, const ComputationWaits& waits,
                                         Clock::time_point now) {
    ++rounds_;
    const bool waited = note_wait(waits, now);
    const bool polite = !own_processor_ && now - last_wait_ < courtesy;
    if (round.moved || round.awake || (round.alert && !polite)) note_traffic(now);
    if (round.moved) cold_rounds_ = 0;
    attended_ = round.attended;
    alert_ = round.alert;
    polling_pays_.see(round.moved, waited, now, times_.spin);
    if (round.moved && !round.attended) return Next::round;
    const bool recent = now - last_traffic_ < times_.spin;
    if (recent) sleep_ = sockets_tell_ ? first_told_sleep : first_sleep;
    if (attended_) return Next::sleep;
    const bool poll = recent && (own_processor_ || polling_pays_());
    return woken_ || poll ? next_poll() : Next::sleep;
}

PollingPolicy::Next PollingPolicy::next_poll() {
    if (rounds_ > rounds_after_wake) woken_ = false;
    if (++cold_rounds_ < hot_rounds) return Next::spin;
    return !own_processor_ || cold_rounds_ % rounds_between_yields == 0 ? Next::yield : Next::spin;
}

bool PollingPolicy::note_wait(const ComputationWaits& waits, Clock::time_point now) {
    if (!waits.driving && !waits.in_mpi && waits.begun == waits_begun_) return false;
    waits_begun_ = waits.begun;
    last_wait_ = now;
    socket_woke_ = false; // the wait may have taken what came
    return true;
}

void PollingPolicy::note_traffic(Clock::time_point now) {
    last_traffic_ = now;
    false_wakes_ = 0;
    socket_woke_ = false;
}

PollingPolicy::Sleep PollingPolicy::next_sleep() {
    if (socket_woke_ && ++false_wakes_ == most_false_wakes) {
        false_wakes_ = 0;
        sleeps_without_sockets_ = sleeps_without_sockets;
    }
    const bool watch_sockets = !attended_ && sleeps_without_sockets_ == 0;
    if (sleeps_without_sockets_ > 0) --sleeps_without_sockets_;
    if (alert_) sleep_ = first_sleep;
    return {attended_ ? std::min(driven_sleep, times_.longest_sleep) : sleep_, watch_sockets};
}

void PollingPolicy::woken(Sleeper::Woken by) {
    woken_ = by != Sleeper::Woken::by_time;
    sockets_tell_ = socket_woke_ = by == Sleeper::Woken::by_socket;
    // After a nudge the first sleeps are short again, so that the tick advances while this rank needs it. Since each
    // sleep is at most twice as long as the one before, the tick is late by less than the time already slept.
    if (by == Sleeper::Woken::by_nudge) sleep_ = first_sleep;
    else if (!attended_) sleep_ = std::min(2 * sleep_, times_.longest_sleep); // driven sleeps say nothing of traffic
    rounds_ = 0;
}

} // namespace lapwing::detail::messages
