// Room: window
#pragma once

#include <lapwing/detail/atomic.hpp>
#include <lapwing/rank.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

/// On which types atomics work, and as what the values travel.
namespace lapwing {

class Window;

/// What MPI, processors and lists of atomics work on: 4- and 8-byte integers and floating point.
template <class T>
concept AtomicValue = (std::is_integral_v<T> || std::is_floating_point_v<T>) && !std::is_same_v<T, bool> &&
                      (sizeof(T) == 4 || sizeof(T) == 8);

namespace detail::window {

/// What single atomics work on: also smaller integers, bool and enumerations.
template <class T>
concept SingleAtomicValue = AtomicValue<T> || ((std::is_integral_v<T> || std::is_enum_v<T>) &&
                                               (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));

/// What is asked of a value.
enum class AtomicUse : std::uint8_t {
    bits,    ///< swap, compare_swap, read, write
    numbers, ///< add, min, max
    logic    ///< and, or, xor
};

/// True, or a compiler message and false.
template <class T, AtomicUse Use>
consteval bool check_atomic() {
    constexpr bool value = SingleAtomicValue<T>;
    static_assert(value, "lapwing: atomics work on integers, bool, enumerations and floating-point numbers of at most "
                         "8 bytes; for any other type hold a lapwing::Lock around the get and the put");
    constexpr bool number =
        !value || Use != AtomicUse::numbers || (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    static_assert(
        number,
        "lapwing: add, min and max work on integers and floating-point numbers; for bool and enumerations there are "
        "compare_swap, swap, atomic_read and atomic_write, and for bool also bit_or, bit_and and bit_xor");
    constexpr bool logic = !value || Use != AtomicUse::logic || std::is_integral_v<T>;
    static_assert(
        logic,
        "lapwing: bit operations work on integers and bool; for floating-point numbers and enumerations there are "
        "compare_swap, swap, atomic_read and atomic_write");
    return value && number && logic;
}

/// The number that a value travels as.
template <class T>
struct Carrier {
    using type = T;
};
template <class T>
    requires std::is_enum_v<T>
struct Carrier<T> {
    using type = std::underlying_type_t<T>;
};
template <>
struct Carrier<bool> {
    using type = std::uint8_t;
};

/// An integer of 1 or 2 bytes.
struct SmallInteger {
    std::uint64_t bytes = 0;
    bool is_signed = false;
};
template <std::integral T>
    requires(sizeof(T) < 4)
[[nodiscard]] constexpr SmallInteger small_integer_of() noexcept {
    return {sizeof(T), std::is_signed_v<T>};
}

/// Atomics on such an integer, by compare-and-swap of the 4 bytes that it lies in, which must be in the part: the
/// others of them keep their values. Else as Window::fetch_add and compare_swap. `order` holds for each of the accesses
/// that it takes.
void fetch_in_word(Window& window, mpi::AtomicOperation operation, SmallInteger type, Rank target, Offset offset,
                   const void* operand, void* before, std::memory_order order);
void compare_swap_in_word(Window& window, SmallInteger type, Rank target, Offset offset, const void* expected,
                          const void* desired, void* before, std::memory_order order);

} // namespace detail::window
} // namespace lapwing
