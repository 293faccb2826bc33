#pragma once

#include "src/team/held_writes.hpp"

#include <atomic>

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

    [[nodiscard]] team::HeldWrites::Age look(team::HeldWrites::Clock::time_point now) noexcept override;
    void send_old() noexcept override;

private:
    void add_to_flusher();

    AccessOrder& order_;
    std::atomic<bool> started_{false};
    team::HeldWrites adds_;
};

} // namespace lapwing::detail::window
