#pragma once

#include "src/mpi/atomics.hpp"

#include <lapwing/detail/atomic.hpp>

#include <cstdint>
#include <cstring>

namespace lapwing::detail::mpi {

/// Which of MPI's atomics gave the right answer when they were tried (src/mpi/window_trial.hpp).
class TrustedAtomics {
public:
    /// None of them.
    constexpr TrustedAtomics() noexcept = default;
    [[nodiscard]] static constexpr TrustedAtomics all() noexcept {
        return from_bits((std::uint64_t{1} << bit_count) - 1);
    }
    [[nodiscard]] static constexpr TrustedAtomics from_bits(std::uint64_t bits) noexcept {
        TrustedAtomics atomics;
        atomics.bits_ = bits;
        return atomics;
    }
    [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }

    [[nodiscard]] constexpr bool fetches(AtomicOperation operation, AtomicType type) const noexcept {
        return (bits_ >> fetch_bit(operation, type) & 1) != 0;
    }
    [[nodiscard]] constexpr bool swaps(AtomicType type) const noexcept { return (bits_ >> swap_bit(type) & 1) != 0; }

    constexpr void distrust_fetch(AtomicOperation operation, AtomicType type) noexcept {
        bits_ &= ~(std::uint64_t{1} << fetch_bit(operation, type));
    }
    /// Of all values of this size: floating point is compared as an integer.
    constexpr void distrust_swaps(AtomicType type) noexcept { bits_ &= ~(std::uint64_t{1} << swap_bit(type)); }

    /// Whether every atomic is available from those that are trusted: compare-and-swap, and all that a loop of it
    /// replaces.
    [[nodiscard]] constexpr bool suffice() const noexcept {
        return swaps(AtomicType::int32) && swaps(AtomicType::int64);
    }

    static constexpr unsigned operation_count = 8;
    static constexpr unsigned type_count = 6;

private:
    static constexpr unsigned bit_count = operation_count * type_count + 2;
    [[nodiscard]] static constexpr unsigned fetch_bit(AtomicOperation operation, AtomicType type) noexcept {
        return static_cast<unsigned>(operation) * type_count + static_cast<unsigned>(type);
    }
    [[nodiscard]] static constexpr unsigned swap_bit(AtomicType type) noexcept {
        return operation_count * type_count + (size_of(type) == 8 ? 1 : 0);
    }

    std::uint64_t bits_ = 0;
};

/// Carries out an operation by compare-and-swap, in place of one that MPI gets wrong. `swap(expected, desired, before)`
/// compares and swaps, writes the previous value, and returns true if it failed; then this does, too. Takes one or two
/// swaps, and one more each time that another rank wins.
template <class Swap>
auto fetch_by_swaps(AtomicOperation operation, AtomicType type, const void* operand, void* before, Swap&& swap)
    -> decltype(swap(before, operand, before)) {
    const std::uint64_t bytes = size_of(type);
    AtomicValueBytes expected{}; // of a value that is known only then
    bool known = false;
    while (true) {
        const AtomicValueBytes desired = value_after(operation, type, expected.data(), operand);
        // What the operation would leave as it is needs no write.
        if (known && std::memcmp(desired.data(), expected.data(), bytes) == 0) return {};
        if (auto failed = swap(expected.data(), desired.data(), before)) return failed;
        if (std::memcmp(before, expected.data(), bytes) == 0) return {};
        std::memcpy(expected.data(), before, bytes);
        known = true;
    }
}

} // namespace lapwing::detail::mpi
