#pragma once

namespace lapwing::detail::support {

/// Whether fence_all_threads() works: the kernel has membarrier(), and the thread sanitizer, which does not know it, is
/// not in use.
[[nodiscard]] bool can_fence_all_threads() noexcept;

/// Makes every processor that runs a thread of this process pass a fence. So two threads can be ordered of which one,
/// the busy one, stores and then loads without a fence of its own (only the compiler must keep the order): either the
/// caller sees its store afterwards, or its load sees what the caller has stored before. Cost: an interrupt of the
/// other processors, some microseconds.
void fence_all_threads() noexcept;

} // namespace lapwing::detail::support
