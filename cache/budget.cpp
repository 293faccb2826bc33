#include "cache/budget.hpp"

#include "src/support/assert.hpp"
#include "src/support/ended_threads.hpp"

#include <algorithm>

namespace lapwing::detail::cache {

void Budget::enter(Caches& caches) {
    const std::lock_guard guard{caches_mutex_};
    caches_.push_back(&caches);
}

void Budget::remove(Caches& caches) {
    const std::lock_guard guard{caches_mutex_};
    std::erase(caches_, &caches);
}

void Budget::drop_ended() {
    const std::lock_guard guard{caches_mutex_};
    const std::uint64_t ended = support::ended_threads();
    if (ended == ended_before_) return;
    bool all = true;
    for (Caches* const caches : caches_) all = caches->drop_ended() && all;
    if (all) ended_before_ = ended;
}

Budget::Share::~Share() { give_up(); }

void Budget::Share::give_up() {
    if (wanted_ == 0) return;
    const std::lock_guard guard{budget_.mutex_};
    budget_.used_ -= held_;
    held_ = 0;
    budget_.leave(wanted_);
    wanted_ = 0;
}

std::uint64_t Budget::Share::claim(std::uint64_t wanted, std::uint64_t least) {
    const std::lock_guard guard{budget_.mutex_};
    if (wanted_ != wanted) {
        budget_.join(wanted);
        if (wanted_ != 0) budget_.leave(wanted_);
        wanted_ = wanted;
    }
    LAPWING_ASSERT(budget_.used_ >= held_);
    const std::uint64_t others = budget_.used_ - held_;
    const std::uint64_t room = budget_.limit_ - std::min(others, budget_.limit_);
    std::uint64_t granted = std::min({wanted, budget_.level_, room});
    // When demand exceeds the limit, nobody takes all that is free: the next to come would have nothing until a
    // release.
    if (budget_.level_ != budget_.limit_) granted = std::min(granted, held_ + (std::max(room, held_) - held_) / 2);
    if (granted < least) granted = 0;
    // A small gain is not worth rebuilding the cache.
    if (granted > held_ && granted != wanted && granted < held_ + held_ / 4) granted = held_;
    if (granted < held_) budget_.generation_.fetch_add(1, std::memory_order_relaxed); // others may take the difference
    budget_.used_ = others + granted;
    held_ = granted;
    seen_ = budget_.generation_.load(std::memory_order_relaxed);
    LAPWING_ASSERT(granted <= wanted && budget_.used_ <= budget_.limit_ && budget_.level_ <= budget_.limit_);
    return granted;
}

void Budget::Share::keep(std::uint64_t bytes) {
    if (bytes >= held_) return;
    const std::lock_guard guard{budget_.mutex_};
    budget_.used_ -= held_ - bytes;
    held_ = bytes;
    seen_ = ~std::uint64_t{0}; // lets it try again at once
}

std::uint64_t Budget::used() const {
    const std::lock_guard guard{mutex_};
    return used_;
}

void Budget::join(std::uint64_t wanted) {
    wanted_.insert(wanted);
    find_level();
}

void Budget::leave(std::uint64_t wanted) {
    wanted_.erase(wanted_.find(wanted));
    find_level();
}

void Budget::find_level() noexcept {
    std::uint64_t level = limit_; // everybody may have all
    std::uint64_t room = limit_;
    std::uint64_t left = wanted_.size();
    for (const std::uint64_t wanted : wanted_) { // smallest demands first: they leave more for the others
        if (wanted > room / left) {
            level = room / left;
            break;
        }
        room -= wanted;
        --left;
    }
    // While every demand is met, no share changes.
    if (level != level_ || level != limit_) generation_.fetch_add(1, std::memory_order_relaxed);
    level_ = level;
}

} // namespace lapwing::detail::cache
