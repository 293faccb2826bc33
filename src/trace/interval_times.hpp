#pragma once

#include <lapwing/detail/trace.hpp>

#include <atomic>

/// A recording of the intervals between sequence points and their times alone, for runs with LAPWING_PRIVATE: accesses
/// keep their inline ways to memory.
namespace lapwing::detail::trace {

inline constinit std::atomic<bool> timing_intervals{false};

/// Whether sequence points are recorded, with the accesses or without.
[[nodiscard]] inline bool has_intervals() noexcept { return on() || timing_intervals.load(std::memory_order_relaxed); }

/// As start(), for the times of intervals alone; stop() ends it.
[[nodiscard]] bool start_timing();

/// The calling thread waits for others from now on, until its next sequence point. Where times alone are recorded, the
/// wait is of no interval.
void begin_wait() noexcept;

} // namespace lapwing::detail::trace
