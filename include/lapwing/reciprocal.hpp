// Room: array
#pragma once

#include <cstdint>

namespace lapwing::array {

__extension__ typedef unsigned __int128 uint128;

/// Division by a number that stays the same, as multiplications (after Granlund and Montgomery, "Division by invariant
/// integers using multiplication", 1994). A 64-bit division costs 20 to 40 cycles on many processors, this about 5.
///
/// Exact for all dividends n below 2^63, which indices are. With m = ceil(2^64 / d) = (2^64 + e) / d, 0 <= e < d, the
/// estimate n * m / 2^64 is above n / d by n * e / (d * 2^64), less than one half: its whole part is the quotient or one
/// more, and in the second case the remainder comes out negative. That cannot happen while n * d < 2^64, so that the
/// correction is a branch which is hardly ever taken.
class Reciprocal {
public:
    struct Result {
        std::uint64_t quotient;
        std::uint64_t remainder;
    };

    /// Division by 1.
    constexpr Reciprocal() noexcept = default;

    /// `divisor` is in [1, 2^63].
    constexpr explicit Reciprocal(std::uint64_t divisor) noexcept
        : multiplier_{divisor == 1 ? 0 : static_cast<std::uint64_t>(((uint128{1} << 64) + divisor - 1) / divisor)},
          divisor_{divisor} {}

    [[nodiscard]] constexpr std::uint64_t divisor() const noexcept { return divisor_; }

    /// `dividend` is below 2^63.
    [[nodiscard]] constexpr Result divide(std::uint64_t dividend) const noexcept {
        if (multiplier_ == 0) return {dividend, 0};
        std::uint64_t quotient = static_cast<std::uint64_t>((uint128{dividend} * multiplier_) >> 64);
        std::uint64_t remainder = dividend - quotient * divisor_;
        if (static_cast<std::int64_t>(remainder) < 0) [[unlikely]] {
            --quotient;
            remainder += divisor_;
        }
        return {quotient, remainder};
    }

    friend constexpr bool operator==(const Reciprocal&, const Reciprocal&) = default;

private:
    std::uint64_t multiplier_ = 0; ///< 0 stands for 2^64, for division by 1
    std::uint64_t divisor_ = 1;
};

} // namespace lapwing::array
