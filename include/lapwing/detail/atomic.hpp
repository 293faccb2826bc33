// Room: mpi
#pragma once

#include <cstdint>
#include <type_traits>

namespace lapwing::detail::mpi {

/// Kind of value that an atomic works on.
enum class AtomicType : std::uint8_t { int32, uint32, int64, uint64, float32, float64 };

template <class T>
constexpr AtomicType atomic_type_of() {
    if constexpr (std::is_same_v<T, float>) return AtomicType::float32;
    else if constexpr (std::is_same_v<T, double>) return AtomicType::float64;
    else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? AtomicType::int32 : AtomicType::uint32;
    else return std::is_signed_v<T> ? AtomicType::int64 : AtomicType::uint64;
}

/// The operations of atomics that return the previous value.
enum class AtomicOperation : std::uint8_t { add, bit_and, bit_or, bit_xor, min, max, replace, read };

/// One atomic of a list at one rank.
struct ListedAtomic {
    std::uint64_t offset = 0;
    const void* operand = nullptr;  ///< of compare_swap: what is written
    const void* expected = nullptr; ///< of compare_swap; else null
    void* before = nullptr;         ///< gets the previous value
};

} // namespace lapwing::detail::mpi
