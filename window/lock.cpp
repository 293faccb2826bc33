#include <lapwing/lock.hpp>

#include "window/lock_state.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

namespace lapwing {
Lock::Lock() noexcept = default;
Lock::Lock(Team& team, Rank home)
    : state_{std::make_unique<detail::window::LockState>(team, home)}, rank_{team.rank()} {}
Lock::Lock(Lock&&) noexcept = default;
Lock& Lock::operator=(Lock&&) noexcept = default;
Lock::~Lock() = default;

detail::window::LockState& Lock::open_state(const char* call) const {
    if (state_ == nullptr)
        throw UsageError{rank_ < 0 ? fmt::format("{}: the lock was never opened; make it with a team", call)
                                   : fmt::format("rank {}: {}: used after close; make a new one", rank_.value, call)};
    return *state_;
}

void Lock::close() {
    if (state_ == nullptr) return;
    state_->close();
    state_.reset();
}

void Lock::lock() { open_state("Lock::lock").lock(); }
bool Lock::try_lock() { return open_state("Lock::try_lock").try_lock(); }
void Lock::unlock() { open_state("Lock::unlock").unlock(); }
bool Lock::held() const noexcept { return state_ != nullptr && state_->held(); }

} // namespace lapwing
