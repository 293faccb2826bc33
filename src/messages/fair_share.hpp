#pragma once

#include <cstdint>

namespace lapwing::detail::messages {

/// Whether a rank that holds `held` of the buffers that this one lends to ranks which ask it may have one more of the
/// `free` ones: it takes no more than it leaves to the others. So one that asks for much, and then takes nothing, gets
/// half of them, a second one a quarter. (Dynamic thresholds, Choudhury and Hahne 1998.) A rank that holds none gets
/// its first whatever the others hold: that one is allocated where none is free, or ranks that take nothing would keep
/// it waiting.
[[nodiscard]] constexpr bool is_fair(std::uint64_t held, std::uint64_t free) noexcept { return held < free; }

} // namespace lapwing::detail::messages
