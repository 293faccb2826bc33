#pragma once

#include "src/mpi/atomics.hpp"

#include <lapwing/detail/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lapwing::detail::mpi {

/// An atomic with a value before it and operands, whose answer is known.
struct AtomicCase {
    AtomicOperation operation = AtomicOperation::read;
    AtomicType type = AtomicType::int64;
    bool swaps = false;      ///< a compare-and-swap with `before` or, where that says so, something else
    bool is_expected = true; ///< of a compare-and-swap: `before` is what it expects
    AtomicValueBytes before{};
    AtomicValueBytes operand{};

    [[nodiscard]] AtomicValueBytes expected() const {
        AtomicValueBytes value = before;
        if (!is_expected) value[size_of(type) - 1] ^= std::byte{0x40};
        return value;
    }
    [[nodiscard]] AtomicValueBytes after() const {
        if (!swaps) return value_after(operation, type, before.data(), operand.data());
        return is_expected ? operand : before;
    }
    /// As a report says it: "MPI_SUM of int32".
    [[nodiscard]] std::string name() const;
    /// MPI_NO_OP is none of MPI_Accumulate's operations.
    [[nodiscard]] bool accumulates() const noexcept { return !swaps && operation != AtomicOperation::read; }
    /// The same for all values of an operation and a type.
    [[nodiscard]] std::size_t kind() const noexcept;
};

/// Values of each.
inline constexpr std::size_t case_pairs = 4;
inline constexpr std::size_t case_count = case_pairs * (4 * (8 + 2) + 2 * 5);
inline constexpr std::size_t case_kinds = 6 * (8 + 1);

/// Every operation on every type that has it, with all values.
[[nodiscard]] const std::vector<AtomicCase>& atomic_cases();

} // namespace lapwing::detail::mpi
