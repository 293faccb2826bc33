#include <lapwing/range.hpp>

#include <lapwing/error.hpp>
#include <lapwing/triplet.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace lapwing {

namespace detail::datatype {

void throw_stride(std::int64_t stride) {
    throw RangeError{fmt::format("Range::by({}): the stride must be at least 1, and the distance of neighbours at most "
                                 "2^63 - 1",
                                 stride)};
}

void throw_zero_stride() {
    throw RangeError{"Triplet::by(0): the stride must not be 0; a negative one goes backwards"};
}

} // namespace detail::datatype

namespace {

__extension__ typedef __int128 int128;

/// x with a * x = 1 modulo m, for coprime a and m; 0 for m = 1.
int128 inverse(int128 a, int128 m) {
    int128 remainder = m;
    int128 next_remainder = a % m;
    int128 coefficient = 0;
    int128 next_coefficient = 1;
    while (next_remainder != 0) {
        const int128 quotient = remainder / next_remainder;
        remainder -= quotient * next_remainder;
        std::swap(remainder, next_remainder);
        coefficient -= quotient * next_coefficient;
        std::swap(coefficient, next_coefficient);
    }
    if (m == 1) return 0;
    return coefficient < 0 ? coefficient + m : coefficient;
}

/// `call` is of `range` with `argument`: for the message.
Range between(const Range& range, const char* call, std::int64_t argument, int128 first, int128 last,
              std::uint64_t size) {
    constexpr int128 lowest = std::numeric_limits<std::int64_t>::min();
    constexpr int128 highest = std::numeric_limits<std::int64_t>::max();
    if (first < lowest || last > highest)
        throw RangeError{fmt::format("Range {}.{}({}): {}, which an index cannot be; pass a {} number",
                                     to_string(range), call, argument,
                                     first < lowest ? "the first index of the result is below -2^63"
                                                    : "the last index of the result is above 2^63 - 1",
                                     argument < 0 ? "larger" : "smaller")};
    return Range::strided(static_cast<std::int64_t>(first), size, range.stride());
}

} // namespace

Range Range::intersect(const Range& other) const noexcept {
    if (empty() || other.empty()) return {};
    const int128 low = std::max(first_, other.first_);
    const int128 high = std::min(last(), other.last());
    if (low > high) return {};
    if (stride_ == 1 && other.stride_ == 1)
        return strided(static_cast<std::int64_t>(low), static_cast<std::uint64_t>(high - low) + 1, 1);

    // Chinese remainder theorem: x = first_ + stride_ * k and x = other.first_ modulo other.stride_.
    const int128 divisor = std::gcd(stride_, other.stride_);
    const int128 distance = static_cast<int128>(other.first_) - first_;
    if (distance % divisor != 0) return {};
    const int128 modulus = other.stride_ / divisor;
    int128 k = distance / divisor % modulus * inverse(stride_ / divisor, modulus) % modulus;
    if (k < 0) k += modulus;
    // Below 2^126, as both strides are below 2^63.
    const int128 step = stride_ * modulus;
    int128 start = first_ + stride_ * k;
    if (start < low) start += (low - start + step - 1) / step * step;
    if (start > high) return {};
    const auto size = static_cast<std::uint64_t>((high - start) / step) + 1;
    return strided(static_cast<std::int64_t>(start), size, size == 1 ? 1 : static_cast<std::int64_t>(step));
}

Range Range::shift(std::int64_t distance) const {
    if (empty()) return {};
    return between(*this, "shift", distance, static_cast<int128>(first_) + distance,
                   static_cast<int128>(last()) + distance, size_);
}

Range Range::expand(std::int64_t count) const {
    if (empty()) return {};
    const int128 size = static_cast<int128>(size_) + 2 * static_cast<int128>(count);
    if (size <= 0) return {};
    // More indices than 2^64 do not fit either, and are found out by the bounds.
    return between(*this, "expand", count, first_ - static_cast<int128>(stride_) * count,
                   last() + static_cast<int128>(stride_) * count, static_cast<std::uint64_t>(size));
}

std::string to_string(const Range& range) {
    if (range.empty()) return "[)";
    const int128 end = static_cast<int128>(range.last()) + 1;
    // The end of a range up to the largest index is 2^63, which only fits without a sign.
    const std::string text = end > 0 ? fmt::format("[{}, {})", range.first(), static_cast<std::uint64_t>(end))
                                     : fmt::format("[{}, {})", range.first(), static_cast<std::int64_t>(end));
    return range.stride() == 1 ? text : fmt::format("{} by {}", text, range.stride());
}

std::string to_string(const Triplet& triplet) {
    if (triplet.stride() > 0) return to_string(triplet.range());
    return triplet.size() == 2 ? fmt::format("{}, {}", triplet.first(), triplet.last())
                               : fmt::format("{}, {}, …, {}", triplet.first(), triplet[1], triplet.last());
}

} // namespace lapwing
