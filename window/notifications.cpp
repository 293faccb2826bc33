#include "window/notifications.hpp"

#include "src/support/backoff.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cstring>

namespace lapwing::detail::window {

void Notifications::check(unsigned counter, const char* call) const {
    if (counter >= count())
        throw RangeError{fmt::format("{}: notification counter {} is outside [0, {}); ask for more with "
                                     "WindowOptions::notification_counters",
                                     facts_.who(call), counter, count())};
}

void Notifications::raise_by_message(Rank target, unsigned counter) {
    transports_.messages.put_notify(
        order_.begin({.target = target, .kind = transport::Access::Kind::write, .call = "Window::put_notify"}), {},
        counter + 1);
}

void Notifications::put(Rank target, Offset offset, std::span<const std::byte> source, unsigned counter) {
    check(counter, "put_notify");
    if (std::byte* const base = facts_.map.base(target)) put_here(base + offset.bytes, target, source, counter);
    else put_there(target, offset, source, counter);
    order_.copies().written(target, offset, source);
}

void Notifications::put_here(std::byte* place, Rank target, std::span<const std::byte> source, unsigned counter) {
    if (!source.empty()) std::memcpy(place, source.data(), source.size());
    const bool own = target == facts_.map.own_rank;
    const int on_node = own || memory_ == nullptr ? -1 : facts_.state.topology().node_index(target.value);
    if (own || on_node >= 0) {
        auto* const counters = own ? own_ : memory_->counters(on_node);
        // Release: a rank that sees the counter sees the bytes.
        counters[counter].fetch_add(1, std::memory_order_release);
        return;
    }
    // The counters of an adopted window are in its rank's private memory, and with LAPWING_PRIVATE the target may be on
    // another node.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    raise_by_message(target, counter);
}

void Notifications::put_there(Rank target, Offset offset, std::span<const std::byte> source, unsigned counter) {
    const transport::BegunAccess access =
        order_.begin({target, offset, source.size(), transport::Access::Kind::write, "Window::put_notify"});
    if (facts_.network != Path::rma || source.size() <= transports_.messages.inline_limit())
        return transports_.messages.put_notify(access, source, counter + 1);
    transports_.route(access).put(access, source);
    order_.complete(target);
    raise_by_message(target, counter);
}

void Notifications::wait(unsigned counter, std::uint64_t count) {
    check(counter, "wait_notified");
    support::WaitTimer timer;
    // Several threads may wait: each takes its notifications in the same step in which it sees them.
    bool taken = false; // wait_until may ask once more
    facts_.state.check_usable("Window::wait_notified");
    facts_.state.epoch().functions().send_gathered();
    facts_.state.wait_until(
        [&] {
            auto& notifications = own_[counter];
            std::uint64_t seen = notifications.load(std::memory_order_relaxed);
            while (!taken && seen >= count)
                taken = notifications.compare_exchange_weak(seen, seen - count, std::memory_order_acquire,
                                                            std::memory_order_relaxed);
            const bool suspicious = !taken && timer.looks_up() && timer.elapsed() >= support::WaitTimer::suspicious;
            if (suspicious && notifications.load(std::memory_order_relaxed) < count) // it may have come since
                facts_.state.synchronisation().check_notifiers(facts_.number, "Window::wait_notified");
            return taken;
        },
        "Window::wait_notified");
    order_.acquire();
}

std::uint64_t Notifications::read(unsigned counter) {
    check(counter, "notified");
    facts_.state.progress();
    const auto load = [&] { return own_[counter].load(std::memory_order_acquire); };
    std::uint64_t now = load();
    // A rank that asks again and gets the same answer polls for more, which may not come: see wait().
    if (last_seen_[counter].exchange(now, std::memory_order_relaxed) == now && facts_.state.membership().troubled()) {
        if (now = load(); now == last_seen_[counter].exchange(now, std::memory_order_relaxed))
            facts_.state.check_reachable("Window::notified", team::Membership::any_rank);
    }
    return now;
}

} // namespace lapwing::detail::window
