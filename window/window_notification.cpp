// Notified puts: data, and a counter at the target that it can wait for.
#include "window/window_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstring>

namespace lapwing::window {

void WindowState::check_counter(unsigned counter, const char* call) const {
    if (counter >= counter_count_)
        throw RangeError{fmt::format("{}: notification counter {} is outside [0, {}); ask for more with "
                                     "WindowOptions::notification_counters",
                                     who(call), counter, counter_count_)};
}

void WindowState::put_notify(int target, std::uint64_t offset, std::span<const std::byte> source, unsigned counter) {
    check_counter(counter, "put_notify");
    if (std::byte* const base = map_.base(target)) {
        if (!source.empty()) std::memcpy(base + offset, source.data(), source.size());
        if (!adopted_ || target == map_.own_rank) {
            auto* const counters =
                target == map_.own_rank ? counters_ : memory_->counters(state_.topology().node_index(target));
            // Release: whoever sees the counter sees the bytes.
            counters[counter].fetch_add(1, std::memory_order_release);
            return;
        }
        // The counters of an adopted window are in its rank's private memory.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return service_put(target, 0, {}, counter + 1);
    }
    if (cache_ != nullptr && !source.empty()) cache_->before_write(target, offset, source.size());
    begin_access(target, offset, source.size(), true, "Window::put_notify");
    if (network_ == Path::rma && source.size() > state_.engine().inline_limit()) {
        put_uncached(target, offset, source);
        complete(target);
        return service_put(target, 0, {}, counter + 1);
    }
    service_put(target, offset, source, counter + 1);
}

void WindowState::wait_notified(unsigned counter, std::uint64_t count) {
    check_counter(counter, "wait_notified");
    support::Patience patience;
    // Several threads may wait: each takes its notifications in the same step in which it sees them.
    bool taken = false; // wait_until may ask once more
    state_.wait_until(
        [&] {
            auto& notifications = counters_[counter];
            std::uint64_t seen = notifications.load(std::memory_order_relaxed);
            while (!taken && seen >= count)
                taken = notifications.compare_exchange_weak(seen, seen - count, std::memory_order_acquire,
                                                            std::memory_order_relaxed);
            const bool suspicious = !taken && patience.looks_up() && patience.elapsed() >= support::Patience::suspicious;
            if (suspicious && notifications.load(std::memory_order_relaxed) < count) // it may have come since
                state_.check_notifiers(*this, "Window::wait_notified");
            return taken;
        },
        "Window::wait_notified");
    acquire();
}

std::uint64_t WindowState::notified(unsigned counter) {
    check_counter(counter, "notified");
    state_.progress();
    const auto load = [&] { return counters_[counter].load(std::memory_order_acquire); };
    std::uint64_t now = load();
    // Who asks again and is told the same polls for more, which may not come: as wait_notified() does.
    if (told_[counter].exchange(now, std::memory_order_relaxed) == now && state_.troubled()) {
        if (now = load(); now == told_[counter].exchange(now, std::memory_order_relaxed))
            state_.check_reachable("Window::notified", team::TeamState::any_rank);
    }
    return now;
}

} // namespace lapwing::window
