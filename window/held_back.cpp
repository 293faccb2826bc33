#include "window/held_back.hpp"

#include "src/support/first_problem.hpp"
#include "src/team/team_state.hpp"
#include "window/access_order.hpp"

#include <algorithm>
#include <exception>

namespace lapwing::detail::window {

void HeldBack::add_to_flusher() {
    if (!started_.exchange(true, std::memory_order_relaxed)) order_.facts_.state.epoch().send_held(*this);
}

void HeldBack::stop() noexcept {
    if (started_.exchange(false, std::memory_order_relaxed)) order_.facts_.state.epoch().forget_held(*this);
}

team::HeldWrites::Age HeldBack::look(team::HeldWrites::Clock::time_point now) noexcept {
    const team::HeldWrites::Age adds = adds_.look(now, !order_.adds_.empty(), order_.adds_.added());
    return order_.cache_ == nullptr ? adds : std::max(adds, order_.cache_->look_at_held(now));
}

void HeldBack::send_old() noexcept {
    try {
        support::attempt_all(
            [&] { // first, as in a release
                if (!adds_.old()) return;
                adds_.sent();
                order_.adds_.send();
            },
            [&] {
                if (order_.cache_ == nullptr) return;
                order_.cache_->send_old();
                // A put of MPI's may not start before a flush.
                if (order_.facts_.network == Path::rma) order_.complete_started();
            });
    } catch (const std::exception&) { // the next release throws it
    }
}

} // namespace lapwing::detail::window
