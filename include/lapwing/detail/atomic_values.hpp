// Room: window
#pragma once

#include <lapwing/detail/atomic.hpp>
#include <lapwing/located_value.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// On which types atomics work, and as what the values travel.
namespace lapwing {

/// What MPI, processors and lists of atomics work on: 4- and 8-byte integers and floating point.
template <class T>
concept AtomicValue = (std::is_integral_v<T> || std::is_floating_point_v<T>) && !std::is_same_v<T, bool> &&
                      (sizeof(T) == 4 || sizeof(T) == 8);

namespace detail::window {

/// What travels as a number: also smaller integers, bool and enumerations.
template <class T>
concept NumberAtomicValue = AtomicValue<T> || ((std::is_integral_v<T> || std::is_enum_v<T>) &&
                                               (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));

/// What travels as bits, whose sums and the like the caller's own operators make: class types of 4 and 8 bytes, and
/// everything of 16.
template <class T>
concept BitsAtomicValue = !NumberAtomicValue<T> && std::is_trivially_copyable_v<T> &&
                          std::is_default_constructible_v<T> && !std::is_pointer_v<T> && !std::is_array_v<T> &&
                          ((std::is_class_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) || sizeof(T) == 16);

/// A number with its location: what its owner compares with another for min and max.
template <class T>
struct LocatedNumber : std::false_type {};
template <AtomicValue T>
    requires(sizeof(T) == 8)
struct LocatedNumber<LocatedValue<T, 1>> : std::true_type {
    static constexpr mpi::AtomicType type = mpi::atomic_type_of<T>();
};

/// What single atomics work on.
template <class T>
concept SingleAtomicValue = NumberAtomicValue<T> || BitsAtomicValue<T>;

/// What is asked of a value.
enum class AtomicUse : std::uint8_t {
    bits,     ///< load, store, exchange, compare_swap
    sum,      ///< add
    extremes, ///< min, max
    logic     ///< and, or, xor
};

/// Whether the values have the operators that it takes.
template <class T, AtomicUse Use>
consteval bool has_operators() {
    if constexpr (Use == AtomicUse::sum) return requires(const T& a) { static_cast<T>(a + a); };
    else if constexpr (Use == AtomicUse::extremes)
        return LocatedNumber<T>::value || requires(const T& a) { static_cast<bool>(a < a); };
    else if constexpr (Use == AtomicUse::logic)
        return requires(const T& a) {
            static_cast<T>(a & a);
            static_cast<T>(a | a);
            static_cast<T>(a ^ a);
        };
    else return true;
}

/// True, or a compiler message and false.
template <class T, AtomicUse Use>
consteval bool check_atomic() {
    constexpr bool value = SingleAtomicValue<T>;
    static_assert(value, "lapwing: atomics work on integers, bool, enumerations and floating-point numbers, and on "
                         "trivially copyable structures of 4, 8 or 16 bytes; for any other type hold a lapwing::Lock "
                         "around the get and the put");
    constexpr bool numbers = Use == AtomicUse::sum || Use == AtomicUse::extremes;
    constexpr bool number = !NumberAtomicValue<T> || !numbers || (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
    static_assert(
        number,
        "lapwing: add, min and max work on integers and floating-point numbers; for bool and enumerations there are "
        "compare_swap, exchange, load and store, and for bool also bit_or, bit_and and bit_xor");
    constexpr bool logic = !NumberAtomicValue<T> || Use != AtomicUse::logic || std::is_integral_v<T>;
    static_assert(
        logic,
        "lapwing: bit operations work on integers and bool; for floating-point numbers and enumerations there are "
        "compare_swap, exchange, load and store");
    constexpr bool operators = !BitsAtomicValue<T> || has_operators<T, Use>();
    static_assert(operators,
                  "lapwing: add needs the type's operator +, min and max its < (or a lapwing::LocatedValue of a number "
                  "of 8 bytes and one index), and bit operations its &, | and ^; without them there are compare_swap, "
                  "exchange, load and store");
    return value && number && logic && operators;
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

/// The type of a number, for AtomicPlace.
template <class T>
[[nodiscard]] constexpr auto number_type_of() noexcept {
    if constexpr (AtomicValue<T>) return mpi::atomic_type_of<T>();
    else return SmallInteger{sizeof(T), std::is_signed_v<T>};
}

/// A value of 16 bytes as it travels.
struct WideValue {
    alignas(16) std::array<std::byte, 16> bytes{};
};

} // namespace detail::window
} // namespace lapwing
