#pragma once

#include <cstdint>

namespace lapwing::detail::messages {

/// Whether a rank that holds `held` of the buffers that this rank lends to others may have one more of the `free` ones:
/// it may if it then has no more than it leaves to the others. So a rank that requests much and receives nothing gets
/// half of them, a second such rank a quarter. (Dynamic thresholds, Choudhury and Hahne 1998.) A rank that holds none
/// gets its first buffer in any case: if none is free it is allocated, or ranks that receive nothing could keep it
/// waiting.
[[nodiscard]] constexpr bool is_fair(std::uint64_t held, std::uint64_t free) noexcept { return held < free; }

} // namespace lapwing::detail::messages
