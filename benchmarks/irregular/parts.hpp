#pragma once

#include "kernel.hpp"

#include <lapwing/distribution.hpp>
#include <lapwing/global_array.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::bench::irregular {

/// A vertex, row, column or counter: the inputs have fewer than 2^32.
using Number = std::uint32_t;

/// Numbers in blocks over the ranks. Blocks have a multiple of 64 numbers, so that a bit for each fits words.
class Parts {
public:
    Parts(Number count, Ranks ranks) : Parts{count, ranks.size(), ranks.rank()} {}
    Parts(Number count, Number ranks, Number rank)
        : count_{count}, ranks_{ranks}, rank_{rank}, block_{(count + 64 * ranks - 1) / (64 * ranks) * 64} {}

    [[nodiscard]] Number count() const { return count_; }
    [[nodiscard]] Number block() const { return block_; }
    [[nodiscard]] Number ranks() const { return ranks_; }
    [[nodiscard]] Number owner(Number number) const { return number / block_; }
    /// The owner, and where its block has the number.
    struct Place {
        Number owner;
        Number local;
    };
    [[nodiscard]] Place place(Number number) const {
        const Number owner = number / block_;
        return {owner, number - owner * block_};
    }
    [[nodiscard]] Number first() const { return rank_ * block_; }
    /// How many this rank owns.
    [[nodiscard]] Number own() const { return first() >= count_ ? 0 : std::min(block_, count_ - first()); }
    [[nodiscard]] bool owns(Number number) const { return number - first() < block_; }

    /// An array with an element for each number, and those of this rank's block where this rank is.
    template <class T>
    [[nodiscard]] GlobalArray<T, 1> array(Ranks ranks, const char* name) const {
        return {ranks.runtime, {std::int64_t{block_} * ranks_}, Block{}, {.name = name}};
    }

private:
    Number count_;
    Number ranks_;
    Number rank_;
    Number block_;
};

/// A number and what is for it, in one word; words are in the order of the numbers.
[[nodiscard]] constexpr std::uint64_t pair_of(Number number, Number value) {
    return std::uint64_t{number} << 32 | value;
}
[[nodiscard]] constexpr Number number_of(std::uint64_t pair) { return static_cast<Number>(pair >> 32); }
[[nodiscard]] constexpr Number value_of(std::uint64_t pair) { return static_cast<Number>(pair); }

/// Collective: all blocks on every rank, for checks.
template <class T>
[[nodiscard]] std::vector<T> collected(MPI_Comm world, std::span<const T> block) {
    int size = 0;
    MPI_Comm_size(world, &size);
    std::vector<T> all(block.size() * static_cast<std::size_t>(size));
    const auto bytes = static_cast<int>(block.size_bytes());
    MPI_Allgather(block.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, world);
    return all;
}

[[nodiscard]] inline std::int64_t sum(MPI_Comm world, std::int64_t value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, world);
    return value;
}

} // namespace lapwing::bench::irregular
