#pragma once

#include <algorithm>
#include <cstdint>

namespace lapwing::bench::applications {

/// An element, a node, or any other thing that is counted.
using Number = std::int64_t;

/// Numbers in blocks of equal length over the ranks, the last ones shorter: those of `each` places for each of `count`
/// things, which are never divided.
struct Parts {
    Number count;
    int ranks;
    int rank;
    Number each = 1;

    [[nodiscard]] Number block() const { return (count + ranks - 1) / ranks * each; }
    /// The length of an array whose equal blocks these are; the end of it is not used.
    [[nodiscard]] Number extent() const { return block() * ranks; }
    [[nodiscard]] Number first() const { return std::min(block() * rank, count * each); }
    /// How many this rank owns.
    [[nodiscard]] Number own() const { return std::min(block(), count * each - first()); }
    [[nodiscard]] int owner(Number number) const { return static_cast<int>(number / block()); }
};

} // namespace lapwing::bench::applications
