#pragma once

#include <chrono>

namespace lapwing::detail::team {

/// How often a waiting thread asks the program's wait hook: soon enough for a person who presses a key, and seldom
/// enough for an interpreter, which takes its lock for each answer.
inline constexpr std::chrono::milliseconds wait_hook_interval{100};

/// Whether there is a wait hook, and it wants the calling thread's wait to end.
[[nodiscard]] bool wait_hook_ends_wait();

/// The calling thread is Lapwing's own: its waits are neither ended by the program's hook nor reported. Programs cannot
/// know when it waits, and set_wait_hook() must not be called while a thread may ask.
void wait_as_own_thread() noexcept;
[[nodiscard]] bool is_own_thread() noexcept;

} // namespace lapwing::detail::team
