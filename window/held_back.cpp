#include "window/held_back.hpp"

#include "src/support/first_problem.hpp"
#include "src/team/team_state.hpp"
#include "window/access_order.hpp"

#include <lapwing/error.hpp>

#include <mutex>
#include <utility>

namespace lapwing::detail::window {

void HeldBack::add_to_flusher() {
    if (started_.exchange(true, std::memory_order_relaxed)) return;
    flusher_ = order_.facts_.state.epoch().flusher();
    if (flusher_ != nullptr) flusher_->add(*this);
}

void HeldBack::stop() noexcept {
    if (flusher_ != nullptr) flusher_->remove(*this);
    flusher_ = nullptr;
    started_.store(false, std::memory_order_relaxed);
}

void HeldBack::abandon() noexcept {
    if (flusher_ != nullptr) flusher_->abandon(*this);
    flusher_ = nullptr;
}

void HeldBack::rethrow() {
    std::exception_ptr failure;
    {
        const std::lock_guard guard{mutex_};
        failure = std::exchange(failure_, nullptr);
        failed_.store(false, std::memory_order_relaxed);
    }
    if (failure != nullptr) std::rethrow_exception(failure);
}

const team::TeamState& HeldBack::team() const noexcept { return order_.facts_.state; }

bool HeldBack::look(team::HeldWrites::Clock::time_point now) noexcept {
    const bool adds = adds_.look(now, !order_.adds_.empty(), order_.adds_.added());
    if (order_.cache_ == nullptr) return adds;
    // On the path rma what has left the cache already may wait for a flush.
    const bool under_way = order_.facts_.network == Path::rma && !order_.ledger_.empty();
    const bool cached = order_.cache_->look_at_held(now, under_way);
    return adds || cached;
}

void HeldBack::send_old() noexcept {
    if (order_.facts_.state.membership().broken()) return; // the next release says what is lost
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
                if (order_.facts_.network == Path::rma) order_.complete_started();
            });
    } catch (const PeerLeftError&) { // what is lost has been noted
    } catch (...) {
        const std::lock_guard guard{mutex_};
        if (failure_ == nullptr) failure_ = std::current_exception();
        failed_.store(true, std::memory_order_release);
    }
}

} // namespace lapwing::detail::window
