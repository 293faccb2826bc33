#pragma once

#include "src/support/mutex.hpp"
#include "src/team/flusher.hpp"
#include "src/team/held_writes.hpp"

#include <atomic>
#include <exception>
#include <memory>

namespace lapwing::detail::window {

class AccessOrder;

/// What a window holds back, for the flusher: gathered adds, and the cache's dirty bytes.
class HeldBack final : public team::HoldsWrites {
public:
    explicit HeldBack(AccessOrder& order) noexcept : order_{order} {}
    ~HeldBack() { stop(); }
    HeldBack(const HeldBack&) = delete;
    HeldBack& operator=(const HeldBack&) = delete;

    /// Something may be held back from now on.
    void start() {
        if (!started_.load(std::memory_order_relaxed)) [[unlikely]]
            add_to_flusher();
    }
    /// While no other thread makes calls. On return the flusher does not look any more.
    void stop() noexcept;
    /// The same for a window that stays, since other ranks may still reach it: does not wait for them.
    void abandon() noexcept;
    /// Whether something could not be sent.
    [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Throws what failed first, once.
    void rethrow();

    [[nodiscard]] const team::TeamState& team() const noexcept override;
    [[nodiscard]] bool look(team::HeldWrites::Clock::time_point now) noexcept override;
    void send_old() noexcept override;

private:
    void add_to_flusher();

    AccessOrder& order_;
    std::atomic<bool> started_{false};
    std::shared_ptr<team::Flusher> flusher_; ///< null: there is none, or it is not started
    team::HeldWrites adds_;
    support::Mutex mutex_{support::LockRank::leaf}; ///< guards the failure
    std::exception_ptr failure_;
    std::atomic<bool> failed_{false};
};

} // namespace lapwing::detail::window
