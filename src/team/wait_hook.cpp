#include "src/team/wait_hook.hpp"

#include <lapwing/wait_hook.hpp>

#include <utility>

namespace lapwing {
namespace {

/// Not guarded: set_wait_hook() is not called while other threads are in calls. Never destroyed: a runtime may be a
/// static object of the program's.
std::function<bool()>& wait_hook() noexcept {
    static auto& hook = *new std::function<bool()>;
    return hook;
}

constinit thread_local bool own_thread = false;

} // namespace

void set_wait_hook(std::function<bool()> hook) { wait_hook() = std::move(hook); }

void detail::team::wait_as_own_thread() noexcept { own_thread = true; }
bool detail::team::is_own_thread() noexcept { return own_thread; }
bool detail::team::wait_hook_ends_wait() { return wait_hook() && wait_hook()(); }

} // namespace lapwing
