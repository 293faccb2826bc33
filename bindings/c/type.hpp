#pragma once

#include <lapwing/c/type.h>

#include <lapwing/checkpoint.hpp>
#include <lapwing/detail/atomic.hpp>

#include <mpi.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace lapwing::detail::bindings {

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

[[nodiscard]] std::string text_of(lapwing_type type);
/// Throws RangeError for a number that is not a type.
void require_type(lapwing_type type);
[[nodiscard]] inline std::uint64_t size_of(lapwing_type type) noexcept { return type & 0xffffffffffffU; }
[[nodiscard]] inline int kind_of(lapwing_type type) noexcept { return static_cast<int>(type >> 48); }
/// Whether its values are real or complex numbers, and nothing beside them.
[[nodiscard]] inline bool is_number(lapwing_type type) noexcept { return kind_of(type) <= LAPWING_KIND_COMPLEX; }
/// Whether they are numbers with their locations.
[[nodiscard]] inline bool is_located(lapwing_type type) noexcept {
    return kind_of(type) >= LAPWING_KIND_LOCATED_SIGNED;
}
/// The largest power of two, up to 16, that divides the size: how elements are aligned.
[[nodiscard]] unsigned alignment_of(lapwing_type type) noexcept;
[[nodiscard]] ElementKind element_kind_of(lapwing_type type) noexcept;
/// MPI's own datatype; MPI_DATATYPE_NULL where is_number() is false.
[[nodiscard]] MPI_Datatype mpi_type_of(lapwing_type type) noexcept;
/// As detail::values::type_name() has it: the same as of C++ for numbers, empty for others.
[[nodiscard]] const char* name_of(lapwing_type type) noexcept;
/// What lists of atomics work on. Throws UsageError for types of other sizes than 4 and 8 bytes, or that are not real
/// numbers.
[[nodiscard]] mpi::AtomicType atomic_type_of(lapwing_type type);
/// Nothing for the types that it refuses.
[[nodiscard]] std::optional<mpi::AtomicType> find_atomic_type(lapwing_type type) noexcept;
[[noreturn]] void throw_no_number(lapwing_type type, const char* needed);

/// Calls `function(T{})` with a value of the real number type `type`. Throws UsageError for others.
template <class Function>
decltype(auto) with_number(lapwing_type type, Function&& function) {
    switch (type) {
    case LAPWING_INT8: return function(std::int8_t{});
    case LAPWING_INT16: return function(std::int16_t{});
    case LAPWING_INT32: return function(std::int32_t{});
    case LAPWING_INT64: return function(std::int64_t{});
    case LAPWING_UINT8: return function(std::uint8_t{});
    case LAPWING_UINT16: return function(std::uint16_t{});
    case LAPWING_UINT32: return function(std::uint32_t{});
    case LAPWING_UINT64: return function(std::uint64_t{});
    case LAPWING_FLOAT: return function(float{});
    case LAPWING_DOUBLE: return function(double{});
    default: throw_no_number(type, "integers or floating point");
    }
}
/// The same with complex numbers.
template <class Function>
decltype(auto) with_any_number(lapwing_type type, Function&& function) {
    if (type == LAPWING_FLOAT_COMPLEX) return function(std::complex<float>{});
    if (type == LAPWING_DOUBLE_COMPLEX) return function(std::complex<double>{});
    return with_number(type, function);
}
/// A value of LAPWING_BYTES(16) for atomics, which compare and swap it.
struct SixteenBytes {
    std::array<std::byte, 16> bytes;
};

} // namespace lapwing::detail::bindings
