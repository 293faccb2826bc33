// Room: window
#pragma once

#include <lapwing/detail/atomic.hpp>
#include <lapwing/located_value.hpp>
#include <lapwing/rank.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
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
    bits,     ///< swap, compare_swap, read, write
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
        "compare_swap, swap, atomic_read and atomic_write, and for bool also bit_or, bit_and and bit_xor");
    constexpr bool logic = !NumberAtomicValue<T> || Use != AtomicUse::logic || std::is_integral_v<T>;
    static_assert(
        logic,
        "lapwing: bit operations work on integers and bool; for floating-point numbers and enumerations there are "
        "compare_swap, swap, atomic_read and atomic_write");
    constexpr bool operators = !BitsAtomicValue<T> || has_operators<T, Use>();
    static_assert(operators,
                  "lapwing: add needs the type's operator +, min and max its < (or a lapwing::LocatedValue of a number "
                  "of 8 bytes and one index), and bit operations its &, | and ^; without them there are compare_swap, "
                  "swap, atomic_read and atomic_write");
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

/// A value of 16 bytes as it travels.
struct WideValue {
    alignas(16) std::array<std::byte, 16> bytes{};
};

/// What is done with it: it is read, replaced, replaced if its first `compared` bytes are those expected, or, for min
/// and max, replaced if the operand is to take its place; both are then a number of `type` with its location.
struct WideAtomic {
    mpi::AtomicOperation operation = mpi::AtomicOperation::read;
    bool is_compare_swap = false;
    mpi::AtomicType type{};
    std::uint32_t compared = sizeof(WideValue);
    const char* call = ""; ///< for messages
    bool looks = true;     ///< a loop that polls may be making it, which must learn of ranks that leave
};

/// Atomics of a window on numbers whose type is known at run time.
struct NumberAtomics;

/// Atomics on values that travel as bits. `W` is Window, once it is complete.
template <BitsAtomicValue T, class W>
class BitsAtomics {
public:
    BitsAtomics(W& window, Rank target, Offset offset, std::memory_order order) noexcept
        : window_{window}, target_{target}, offset_{offset}, order_{order} {}

    [[nodiscard]] T read() { return value_of(bits_read("atomic_read", true)); }
    T swap(const T& value) {
        if constexpr (wide)
            return value_of(window_.wide_atomic({.operation = mpi::AtomicOperation::replace, .call = "swap"}, target_,
                                                offset_, bits_of(value), {}, order_));
        else return value_of(window_.swap(target_, offset_, bits_of(value), order_));
    }
    T compare_swap(const T& expected, const T& desired) {
        return value_of(bits_compare_swap(bits_of(expected), bits_of(desired), "compare_swap", true));
    }
    /// Replaces the value by `operand` if that is smaller or larger: min and max of numbers with their location.
    T extreme(mpi::AtomicOperation operation, const T& operand, const char* call) {
        return value_of(window_.wide_atomic({.operation = operation, .type = LocatedNumber<T>::type, .call = call},
                                            target_, offset_, bits_of(operand), {}, order_));
    }
    /// Replaces the value by `change(value)`, again where another atomic came between.
    template <class Change>
    T change(const char* call, Change&& change) {
        for (Bits seen = bits_read(call, false);;) {
            const T before = value_of(seen);
            const Bits after = bits_of(static_cast<T>(change(before)));
            const bool changes = std::memcmp(&after, &seen, compared) != 0;
            const Bits found = bits_compare_swap(seen, after, call, !changes);
            if (std::memcmp(&found, &seen, compared) == 0) return before;
            seen = found;
        }
    }

private:
    static constexpr bool wide = sizeof(T) == sizeof(WideValue);
    /// The x87's long double has 10 bytes and 6 of padding.
    static constexpr std::uint32_t compared =
        std::is_floating_point_v<T> && std::numeric_limits<T>::digits == 64 ? 10 : sizeof(T);
    using Bits = std::conditional_t<wide, WideValue, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

    [[nodiscard]] static Bits bits_of(const T& value) noexcept {
        Bits bits{};
        std::memcpy(static_cast<void*>(&bits), std::addressof(value), compared);
        return bits;
    }
    [[nodiscard]] static T value_of(const Bits& bits) noexcept {
        T value{};
        std::memcpy(static_cast<void*>(std::addressof(value)), &bits, sizeof value);
        return value;
    }
    [[nodiscard]] Bits bits_read(const char* call, bool looks) {
        Bits bits{};
        if constexpr (wide)
            bits = window_.wide_atomic({.call = call, .looks = looks}, target_, offset_, {}, {}, order_);
        else
            window_.atomic_fetch(mpi::AtomicOperation::read, mpi::atomic_type_of<Bits>(), target_, offset_, &bits,
                                 &bits, order_, looks);
        return bits;
    }
    [[nodiscard]] Bits bits_compare_swap(const Bits& expected, const Bits& desired, const char* call, bool looks) {
        Bits found{};
        if constexpr (wide)
            found = window_.wide_atomic({.operation = mpi::AtomicOperation::replace,
                                         .is_compare_swap = true,
                                         .compared = compared,
                                         .call = call,
                                         .looks = looks},
                                        target_, offset_, desired, expected, order_);
        else
            window_.atomic_compare_swap(mpi::atomic_type_of<Bits>(), target_, offset_, &expected, &desired, &found,
                                        order_, looks);
        return found;
    }

    W& window_;
    Rank target_;
    Offset offset_;
    std::memory_order order_;
};

/// Window's atomics that return the previous value, on values that travel as bits.
template <AtomicUse Use, class T, class W>
T fetch_bits(W& window, mpi::AtomicOperation operation, Rank target, Offset offset, const T& operand,
             std::memory_order order) {
    using enum mpi::AtomicOperation;
    BitsAtomics<T, W> value{window, target, offset, order};
    if constexpr (Use == AtomicUse::bits) {
        return operation == read ? value.read() : value.swap(operand);
    } else if constexpr (Use == AtomicUse::sum) {
        return value.change("fetch_add", [&](const T& before) { return before + operand; });
    } else if constexpr (LocatedNumber<T>::value) {
        return value.extreme(operation, operand, operation == min ? "fetch_min" : "fetch_max");
    } else if constexpr (Use == AtomicUse::extremes) {
        if (operation == min)
            return value.change("fetch_min", [&](const T& before) { return operand < before ? operand : before; });
        return value.change("fetch_max", [&](const T& before) { return before < operand ? operand : before; });
    } else {
        if (operation == bit_and) return value.change("fetch_and", [&](const T& before) { return before & operand; });
        if (operation == bit_or) return value.change("fetch_or", [&](const T& before) { return before | operand; });
        return value.change("fetch_xor", [&](const T& before) { return before ^ operand; });
    }
}

} // namespace detail::window
} // namespace lapwing
