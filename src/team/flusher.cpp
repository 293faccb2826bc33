#include "src/team/flusher.hpp"

#include "src/support/signals_blocked.hpp"
#include "src/team/wait_hook.hpp"

#include <lapwing/error.hpp>
#include <lapwing/statistics.hpp>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <pthread.h>

namespace lapwing::detail::team {
namespace {

/// Sleeps grow up to this many times the age while nothing is held back.
constexpr int longest_sleep = 4;

/// Those of the process.
struct Flushers {
    support::Mutex mutex{support::LockRank::flusher_list};
    std::vector<Flusher*> list;

    static Flushers& instance() {
        static Flushers* const flushers = new Flushers; // never destroyed: exit handlers use it
        return *flushers;
    }
};

} // namespace

Flusher::Flusher(std::chrono::microseconds age, const cpu_set_t& processors) : age_{age}, processors_{processors} {
    // Before the libraries that it calls are unloaded: see ProgressThread::add().
    static const bool stops_at_exit = std::atexit(stop_all) == 0;
    static_cast<void>(stops_at_exit);
    {
        const support::SignalsBlocked blocked;
        thread_ = std::thread{[this] { run(); }};
    }
    const std::lock_guard guard{Flushers::instance().mutex};
    Flushers::instance().list.push_back(this);
}

Flusher::~Flusher() {
    {
        const std::lock_guard guard{Flushers::instance().mutex};
        std::erase(Flushers::instance().list, this);
    }
    stop();
}

void Flusher::add(HoldsWrites& held) {
    const std::lock_guard guard{mutex_};
    list_.push_back(&held);
}

void Flusher::remove(HoldsWrites& held) noexcept {
    std::unique_lock lock{mutex_};
    std::erase(list_, &held);
    done_.wait(lock, [&] { return sending_ != &held; });
}

void Flusher::stop() noexcept {
    {
        const std::lock_guard guard{mutex_};
        stop_ = true;
    }
    wake_.notify_all();
    const std::lock_guard guard{stop_mutex_};
    if (thread_.joinable()) thread_.join();
}

void Flusher::stop_all() noexcept {
    const std::lock_guard guard{Flushers::instance().mutex};
    for (Flusher* const flusher : Flushers::instance().list) flusher->stop();
}

bool Flusher::look() {
    std::vector<HoldsWrites*> old;
    bool any = false;
    std::unique_lock lock{mutex_};
    const HeldWrites::Clock::time_point now = HeldWrites::Clock::now();
    for (HoldsWrites* const held : list_) {
        const HeldWrites::Age age = held->look(now);
        any |= age != HeldWrites::Age::none;
        if (age == HeldWrites::Age::old) old.push_back(held);
    }
    for (HoldsWrites* const held : old) {
        if (std::ranges::find(list_, held) == list_.end()) continue; // removed meanwhile
        sending_ = held;
        lock.unlock();
        held->send_old();
        lock.lock();
        sending_ = nullptr;
        done_.notify_all();
    }
    return any;
}

void Flusher::run() {
    // Before a thread of the program can end and leave it its number, and with that its caches.
    (void)support::thread_number();
    wait_as_own_thread();
    pthread_setname_np(pthread_self(), "lapwing-flush");
    if (CPU_COUNT(&processors_) != 0) pthread_setaffinity_np(pthread_self(), sizeof processors_, &processors_);
    for (std::chrono::microseconds sleep = age_;;) {
        {
            std::unique_lock lock{mutex_};
            if (wake_.wait_for(lock, sleep, [this] { return stop_; })) return;
        }
        sleep = look() ? age_ : std::min(2 * sleep, longest_sleep * age_);
    }
}

} // namespace lapwing::detail::team
