#pragma once

#include <cstdint>

namespace lapwing::detail::distribution {

/// Without the overflow that dividend + divisor - 1 could have.
[[nodiscard]] constexpr std::uint64_t ceil_divide(std::uint64_t dividend, std::uint64_t divisor) noexcept {
    return dividend / divisor + (dividend % divisor != 0);
}

} // namespace lapwing::detail::distribution
