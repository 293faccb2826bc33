#include <lapwing/lock.hpp>

#include <lapwing/error.hpp>
#include <lapwing/window.hpp>

#include "window/team_state.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>

namespace lapwing {
namespace window {

/// The queue lock of Mellor-Crummey and Scott (1991) in a window. Ranks are stored plus one, so that 0 means nobody.
class LockState {
public:
    LockState(Team& team, Rank home) : team_{team}, home_{home}, window_{team, sizeof(Entry), {.name = "lock", .notification_counters = 0}} {}

    void lock() {
        const std::thread::id self = std::this_thread::get_id();
        if (holder_.load(std::memory_order_relaxed) == self)
            throw UsageError{fmt::format("{}: Lock::lock: this thread holds the lock already; unlock it first", team_.who())};
        turn_.lock();
        try {
            window_.atomic_write(team_.rank(), next, std::int64_t{0});
            window_.atomic_write(team_.rank(), waiting, std::int64_t{1});
            const auto before = window_.swap(home_, tail, own(), std::memory_order_release);
            if (before != 0) {
                const Rank predecessor{static_cast<int>(before - 1)};
                window_.atomic_write(predecessor, next, own());
                team_.state().wait_until([&] { return own_word(waiting) == 0; }, "Lock::lock");
            }
        } catch (...) {
            turn_.unlock();
            throw;
        }
        holder_.store(self, std::memory_order_relaxed);
        team_.acquire();
    }

    bool try_lock() {
        if (holder_.load(std::memory_order_relaxed) == std::this_thread::get_id() || !turn_.try_lock()) return false;
        window_.atomic_write(team_.rank(), next, std::int64_t{0});
        if (window_.compare_swap(home_, tail, std::int64_t{0}, own()) != 0) {
            turn_.unlock();
            return false;
        }
        holder_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        team_.acquire();
        return true;
    }

    void unlock() {
        if (holder_.load(std::memory_order_relaxed) != std::this_thread::get_id())
            throw UsageError{fmt::format("{}: Lock::unlock: this thread does not hold the lock; unlock only after lock or a "
                                         "successful try_lock, in the same thread",
                                         team_.who())};
        team_.release();
        if (own_word(next) == 0) {
            if (window_.compare_swap(home_, tail, own(), std::int64_t{0}) == own()) return passed_on();
            // Somebody is in the queue and about to say so.
            team_.state().wait_until([&] { return own_word(next) != 0; }, "Lock::unlock");
        }
        const Rank successor{static_cast<int>(own_word(next) - 1)};
        window_.atomic_write(successor, waiting, std::int64_t{0});
        passed_on();
    }

    [[nodiscard]] bool held() const noexcept { return holder_.load(std::memory_order_relaxed) != std::thread::id{}; }

    void close() {
        if (held())
            throw UsageError{fmt::format("{}: Lock::close: this rank holds the lock; unlock it first", team_.who())};
        window_.close();
    }

private:
    struct Entry {
        std::int64_t tail;    ///< at the home rank: the last in the queue
        std::int64_t next;    ///< who waits for this rank
        std::int64_t waiting; ///< this rank waits for the one before it
    };
    static constexpr Offset tail{offsetof(Entry, tail)};
    static constexpr Offset next{offsetof(Entry, next)};
    static constexpr Offset waiting{offsetof(Entry, waiting)};

    [[nodiscard]] std::int64_t own() const noexcept { return team_.rank().value + 1; }
    /// A word of this rank's entry, which others write atomically. Reading it in memory sees their writes: directly, by
    /// the service thread, or because MPI's memory model is unified.
    [[nodiscard]] std::int64_t own_word(Offset word) const {
        auto& cell = window_.local_as<std::int64_t>()[word.bytes / sizeof(std::int64_t)];
        return std::atomic_ref<std::int64_t>{cell}.load(std::memory_order_acquire);
    }
    void passed_on() {
        holder_.store(std::thread::id{}, std::memory_order_relaxed);
        turn_.unlock();
    }

    Team& team_;
    Rank home_;
    Window window_;
    std::mutex turn_; ///< of this rank's threads: a rank has one entry in the queue
    std::atomic<std::thread::id> holder_{};
};

namespace {
Rank checked_home(const Team& team, Rank home) {
    if (home.value < 0 || home.value >= team.size())
        throw RangeError{fmt::format("{}: Lock: home rank {} is outside [0, {}); pass a rank of the team", team.who(), home.value,
                                     team.size())};
    return home;
}

LockState& open_state(const std::unique_ptr<LockState>& state) {
    if (state == nullptr) throw UsageError{"Lock: used after close; make a new one"};
    return *state;
}
} // namespace
} // namespace window

Lock::Lock(Team& team, Rank home) : state_{std::make_unique<window::LockState>(team, window::checked_home(team, home))} {}
Lock::Lock(Lock&&) noexcept = default;
Lock& Lock::operator=(Lock&&) noexcept = default;
Lock::~Lock() = default;

void Lock::close() {
    if (state_ == nullptr) return;
    state_->close();
    state_.reset();
}

void Lock::lock() { window::open_state(state_).lock(); }
bool Lock::try_lock() { return window::open_state(state_).try_lock(); }
void Lock::unlock() { window::open_state(state_).unlock(); }
bool Lock::held() const noexcept { return state_ != nullptr && state_->held(); }

} // namespace lapwing
