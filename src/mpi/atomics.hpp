#pragma once

#include <lapwing/detail/atomic.hpp>

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::detail::mpi {

/// Room for a value of any type, of which the first size_of(type) bytes are in use.
using AtomicValueBytes = std::array<std::byte, 8>;

/// Carries out an atomic on memory of this node with the processor's atomics; `operand` points to a value of `type`.
/// Writes the previous value to `result`. Sequentially consistent, so that every memory order asked for is met.
void processor_fetch(AtomicOperation operation, AtomicType type, std::byte* address, const void* operand, void* result);
void processor_compare_swap(AtomicType type, std::byte* address, const void* expected, const void* desired,
                            void* result);

/// What the operation makes of the value `before`, as the processor's atomics do it.
[[nodiscard]] AtomicValueBytes value_after(AtomicOperation operation, AtomicType type, const void* before,
                                           const void* operand);

/// Of min and max of numbers with their location, each a number of 8 bytes and its index: whether `operand` takes the
/// place of `before`. Of equal numbers that with the lower index does; a NaN does not, and keeps its place.
[[nodiscard]] bool replaces_located(AtomicOperation operation, AtomicType type, const void* before,
                                    const void* operand);

[[nodiscard]] MPI_Datatype mpi_type(AtomicType type);
[[nodiscard]] MPI_Op mpi_operation(AtomicOperation operation);

/// Whether the bytes of MPI's result may differ from the processor's: of NaN, and of zeros of both signs, either may
/// count as the smaller.
[[nodiscard]] constexpr bool is_floating_extreme(AtomicOperation operation, AtomicType type) {
    return (type == AtomicType::float32 || type == AtomicType::float64) &&
           (operation == AtomicOperation::min || operation == AtomicOperation::max);
}

/// The member functions of Window that ask for an operation: with a result, and without.
[[nodiscard]] const char* fetch_name(AtomicOperation operation);
[[nodiscard]] const char* update_name(AtomicOperation operation);

[[nodiscard]] constexpr std::uint64_t size_of(AtomicType type) {
    switch (type) {
    case AtomicType::int32:
    case AtomicType::uint32:
    case AtomicType::float32: return 4;
    case AtomicType::int64:
    case AtomicType::uint64:
    case AtomicType::float64: return 8;
    }
    return 8;
}

} // namespace lapwing::detail::mpi
