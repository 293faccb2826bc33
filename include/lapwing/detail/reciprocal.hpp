// Room: distribution
#pragma once

#include <bit>
#include <cstdint>

namespace lapwing::detail::distribution {

__extension__ typedef unsigned __int128 uint128;

/// Division by a number that stays the same, as a multiplication and a shift (Granlund and Montgomery, "Division by
/// invariant integers using multiplication", 1994). A 64-bit division costs 20 to 40 cycles on many processors, this
/// about 5.
///
/// Exact for all dividends n below 2^63, which indices are. With 2^(l - 1) < d <= 2^l and m = ceil(2^(63 + l) / d) =
/// (2^(63 + l) + e) / d, 0 <= e < d, the estimate n * m / 2^(63 + l) is above n / d by n * e / (d * 2^(63 + l)), which
/// is less than 1 / d as n * e < 2^63 * 2^l: its whole part is the quotient. And m <= 2^64 - 1 as 2^l < 2 d.
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
        : shift_{static_cast<unsigned>(std::bit_width(divisor - 1))},
          multiplier_{static_cast<std::uint64_t>(((uint128{1} << (63 + shift_)) + divisor - 1) / divisor)},
          divisor_{divisor} {}

    [[nodiscard]] constexpr std::uint64_t divisor() const noexcept { return divisor_; }
    /// For code that divides by itself, as quotient() does.
    [[nodiscard]] constexpr std::uint64_t multiplier() const noexcept { return multiplier_; }
    [[nodiscard]] constexpr unsigned shift() const noexcept { return shift_; }

    /// `dividend` is below 2^63.
    [[nodiscard]] constexpr std::uint64_t quotient(std::uint64_t dividend) const noexcept {
        return static_cast<std::uint64_t>((uint128{2 * dividend} * multiplier_) >> 64) >> shift_;
    }
    [[nodiscard]] constexpr Result divide(std::uint64_t dividend) const noexcept {
        const std::uint64_t whole = quotient(dividend);
        return {whole, dividend - whole * divisor_};
    }

    friend constexpr bool operator==(const Reciprocal&, const Reciprocal&) = default;

private:
    unsigned shift_ = 0;
    std::uint64_t multiplier_ = std::uint64_t{1} << 63;
    std::uint64_t divisor_ = 1;
};

} // namespace lapwing::detail::distribution
