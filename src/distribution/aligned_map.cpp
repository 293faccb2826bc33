#include <lapwing/aligned.hpp>

#include "src/distribution/ceil_divide.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace lapwing::detail::distribution {

namespace {

/// The sum of floor((a * i + b) / m) for i below n, modulo 2^64, by Euclid's algorithm (Graham, Knuth and Patashnik,
/// "Concrete Mathematics", section 3.5, has the exchange of a and m that each round makes). a * n + b is below 2^126.
[[nodiscard]] std::uint64_t floor_sum(std::uint64_t n, std::uint64_t m, std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t sum = 0;
    while (n > 0) {
        const std::uint64_t pairs = n % 2 == 0 ? n / 2 * (n - 1) : (n - 1) / 2 * n;
        sum += pairs * (a / m) + n * (b / m);
        a %= m;
        b %= m;
        const uint128 highest = uint128{a} * n + b;
        n = static_cast<std::uint64_t>(highest / m);
        b = static_cast<std::uint64_t>(highest % m);
        std::swap(a, m);
    }
    return sum;
}

/// The x below m for which a * x mod m is 1; a and m have no common divisor. 0 if m is 1.
[[nodiscard]] std::uint64_t inverse(std::uint64_t a, std::uint64_t m) noexcept {
    // Euclid's algorithm for m and a; `high` and `low` are what a is multiplied by to give the two remainders.
    std::int64_t high = 0;
    std::int64_t low = 1;
    for (std::uint64_t larger = m, smaller = a % m; smaller != 0;) {
        high -= static_cast<std::int64_t>(larger / smaller) * low;
        larger %= smaller;
        std::swap(high, low);
        std::swap(larger, smaller);
    }
    return high < 0 ? static_cast<std::uint64_t>(high + static_cast<std::int64_t>(m))
                    : static_cast<std::uint64_t>(high) % m;
}

} // namespace

void require_in_space(const Range& domain, const Range& space, std::size_t dimension) {
    if (space.contains(domain)) return;
    throw RangeError{fmt::format("Aligned: the array's indices {} of dimension {} are not all in the space, which has "
                                 "{}; make the space larger, or "
                                 "take an array over part of it",
                                 to_string(domain), dimension, to_string(space))};
}

void require_extent(std::int64_t extent, std::uint64_t expected, std::size_t dimension) {
    if (std::cmp_equal(extent, expected)) return;
    throw RangeError{fmt::format("Aligned: an extent of {} in dimension {}, for a part of the space that has {}; an "
                                 "array over part of a space keeps "
                                 "its extents: make another one",
                                 extent, dimension, expected)};
}

Range AlignedDimension::positions_in(std::uint64_t begin, std::uint64_t end) const noexcept {
    const std::uint64_t low = begin <= first ? 0 : ceil_divide(begin - first, stride);
    const std::uint64_t high = std::min(extent, end <= first ? 0 : ceil_divide(end - first, stride));
    return low >= high ? Range{} : Range::strided(static_cast<std::int64_t>(low), high - low, 1);
}

std::uint64_t AlignedDimension::count_before(int process, std::uint64_t position) const noexcept {
    const auto p = static_cast<std::uint64_t>(process);
    const std::uint64_t block = map.block();
    if (map.one_round()) {
        const Range own = positions_in(p * block, (p + 1) * block);
        if (own.empty()) return 0;
        const auto begin = static_cast<std::uint64_t>(own.first());
        return std::min(own.size(), position <= begin ? 0 : position - begin);
    }
    // Index x is the process's where (x - p * block) mod period is below the block: floor of the number of periods that
    // x has entered, less those that it has left the process's block of.
    const std::uint64_t period = block * map.by_processes.divisor();
    const std::uint64_t entered = first + period - p * block;
    return floor_sum(position, period, stride, entered) - floor_sum(position, period, stride, entered - block);
}

std::uint64_t AlignedDimension::capacity() const noexcept {
    std::uint64_t most = 0;
    for (int process = 0; process < map.processes(); ++process) most = std::max(most, count(process));
    return most;
}

std::uint64_t AlignedDimension::left_in_block(std::uint64_t position) const noexcept {
    const std::uint64_t index = first + position * stride;
    const std::uint64_t end = (map.by_block.quotient(index) + 1) * map.block();
    return std::min(extent - position, ceil_divide(end - index, stride));
}

std::uint64_t AlignedDimension::first_block(int process) const noexcept {
    const std::uint64_t processes = map.by_processes.divisor();
    const std::uint64_t block = map.by_block.quotient(first);
    return block + (static_cast<std::uint64_t>(process) + processes - block % processes) % processes;
}

std::uint64_t AlignedDimension::range_count(int process) const noexcept {
    if (extent == 0) return 0;
    if (map.block() == 1) return count(process) > 0 ? 1 : 0;
    const std::uint64_t last = map.by_block.quotient(first + (extent - 1) * stride);
    const std::uint64_t from = first_block(process);
    return from > last ? 0 : (last - from) / map.by_processes.divisor() + 1;
}

Range AlignedDimension::range(int process, std::uint64_t k) const noexcept {
    const std::uint64_t processes = map.by_processes.divisor();
    if (map.block() != 1) {
        const std::uint64_t block = first_block(process) + k * processes;
        return positions_in(block * map.block(), (block + 1) * map.block());
    }
    // Single dealt indices: first + position * stride is `process`, modulo the number of processes.
    const std::uint64_t size = count(process);
    if (size == 0) return {};
    const std::uint64_t divisor = std::gcd(processes, stride);
    const std::uint64_t period = processes / divisor;
    const std::uint64_t distance =
        (static_cast<std::uint64_t>(process) + processes - first % processes) % processes / divisor;
    const std::uint64_t position = distance * inverse(stride / divisor, period) % period;
    return Range::strided(static_cast<std::int64_t>(position), size, static_cast<std::int64_t>(period));
}

} // namespace lapwing::detail::distribution
