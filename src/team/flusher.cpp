#include "src/team/flusher.hpp"

#include "src/support/biased_mutex.hpp"
#include "src/support/mutex.hpp"
#include "src/support/signals_blocked.hpp"
#include "src/team/held_writes.hpp"
#include "src/team/wait_hook.hpp"

#include <lapwing/statistics.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

namespace lapwing::detail::team {
namespace {

/// Sleeps grow up to this many times the age while there is nothing to send: a program that writes all the time is not
/// disturbed more often than one that writes nothing.
constexpr int longest_sleep = 4;
/// How long a thread is waited for that may be in MPI for good.
constexpr std::chrono::seconds patience{1};

} // namespace

struct Flusher::Shared {
    explicit Shared(std::chrono::microseconds of_age) : age{of_age} {}

    void run(const cpu_set_t& processors);
    /// Sends what is old. Whether there was anything.
    bool look(std::unique_lock<support::Mutex>& lock);
    template <class Gone>
    void drop_if(Gone gone, bool wait_for_good) noexcept;
    void stop() noexcept;

    const std::chrono::microseconds age;
    support::Mutex mutex{support::LockRank::flusher};
    std::condition_variable_any wake; ///< there is something to look at, or the thread shall end
    std::condition_variable_any done; ///< something is sent, or the thread has ended
    std::vector<HoldsWrites*> list;
    std::vector<HoldsWrites*> old;
    const HoldsWrites* sending = nullptr; ///< what the thread uses without the mutex
    bool stops = false;
    bool ended = false;
};

namespace {

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

Flusher::Flusher(std::chrono::microseconds age, const cpu_set_t& processors) : shared_{std::make_shared<Shared>(age)} {
    // Before the libraries that it calls are unloaded: see ProgressThread::add().
    static const bool stops_at_exit = std::atexit(stop_all) == 0;
    static_cast<void>(stops_at_exit);
    const std::lock_guard guard{Flushers::instance().mutex};
    Flushers::instance().list.push_back(this);
    try {
        const support::SignalsBlocked blocked;
        std::thread{[shared = shared_, processors] { shared->run(processors); }}.detach();
    } catch (...) {
        Flushers::instance().list.pop_back();
        throw;
    }
}

Flusher::~Flusher() {
    {
        const std::lock_guard guard{Flushers::instance().mutex};
        std::erase(Flushers::instance().list, this);
    }
    shared_->stop();
}

void Flusher::add(HoldsWrites& held) {
    {
        const std::lock_guard guard{shared_->mutex};
        shared_->old.reserve(shared_->list.size() + 1);
        shared_->list.push_back(&held);
    }
    shared_->wake.notify_all();
}

template <class Gone>
void Flusher::Shared::drop_if(Gone gone, bool wait_for_good) noexcept {
    std::unique_lock lock{mutex};
    std::erase_if(list, [&](const HoldsWrites* held) { return gone(*held); });
    const auto unused = [&] { return sending == nullptr || !gone(*sending); };
    if (wait_for_good) done.wait(lock, unused);
    else done.wait_for(lock, patience, unused);
}

void Flusher::remove(HoldsWrites& held) noexcept {
    shared_->drop_if([&](const HoldsWrites& one) { return &one == &held; }, true);
}

void Flusher::abandon(const HoldsWrites& held) noexcept {
    shared_->drop_if([&](const HoldsWrites& one) { return &one == &held; }, false);
}

void Flusher::abandon(const TeamState& team) noexcept {
    shared_->drop_if([&](const HoldsWrites& one) { return &one.team() == &team; }, false);
}

void Flusher::Shared::stop() noexcept {
    std::unique_lock lock{mutex};
    stops = true;
    wake.notify_all();
    done.wait_for(lock, patience, [this] { return ended; });
}

void Flusher::stop() noexcept { shared_->stop(); }

void Flusher::stop_all() noexcept {
    const std::lock_guard guard{Flushers::instance().mutex};
    for (Flusher* const flusher : Flushers::instance().list) flusher->stop();
}

bool Flusher::Shared::look(std::unique_lock<support::Mutex>& lock) {
    const HeldWrites::Clock::time_point now = HeldWrites::Clock::now();
    old.clear();
    for (HoldsWrites* const held : list)
        if (held->look(now)) old.push_back(held); // there is room: see add()
    const bool any = !old.empty();
    while (!old.empty() && !stops) {
        HoldsWrites* const held = old.back();
        old.pop_back();
        if (std::ranges::find(list, held) == list.end()) continue; // removed meanwhile
        sending = held;
        lock.unlock();
        held->send_old();
        lock.lock();
        sending = nullptr;
        done.notify_all();
    }
    return any;
}

void Flusher::Shared::run(const cpu_set_t& processors) {
    // Before a thread of the program can end and leave it its number, and with that its caches.
    (void)support::thread_number();
    support::BiasedMutex::own_none();
    wait_as_own_thread();
    pthread_setname_np(pthread_self(), "lapwing-flush");
    if (CPU_COUNT(&processors) != 0) pthread_setaffinity_np(pthread_self(), sizeof processors, &processors);
    std::unique_lock lock{mutex};
    for (std::chrono::microseconds sleep = age; !stops;) {
        if (list.empty()) wake.wait(lock, [this] { return stops || !list.empty(); });
        if (wake.wait_for(lock, sleep, [this] { return stops; })) break;
        sleep = look(lock) ? age : std::min(2 * sleep, longest_sleep * age);
    }
    ended = true;
    done.notify_all();
}

} // namespace lapwing::detail::team
