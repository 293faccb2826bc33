// Room: support
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>
#include <typeinfo>

/// What a program may pass to a transfer: one value, or any range whose values are contiguous in memory. Values travel
/// as bytes, and a pointer, span or view among them would arrive as an address that is meaningless there: such types
/// are rejected with a one-line message instead of being sent.
namespace lapwing {

template <class T>
concept TriviallyCopyable = std::is_trivially_copyable_v<T>;

/// Types for reductions and broadcasts of single numbers.
template <class T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;

namespace detail::values {

template <class T>
inline constexpr bool is_reference_wrapper = false;
template <class T>
inline constexpr bool is_reference_wrapper<std::reference_wrapper<T>> = true;

/// Whether a T refers to memory outside of itself. Members of structures cannot be examined.
template <class T>
consteval bool leads_elsewhere() {
    using Value = std::remove_cv_t<std::remove_all_extents_t<T>>;
    if constexpr (std::is_pointer_v<Value> || std::is_member_pointer_v<Value> || std::is_null_pointer_v<Value> ||
                  is_reference_wrapper<Value>)
        return true;
    else if constexpr (std::ranges::range<Value&>)
        return std::ranges::enable_view<Value> || std::ranges::enable_borrowed_range<Value> ||
               leads_elsewhere<std::ranges::range_value_t<Value&>>();
    else return false;
}

/// True, or a compiler message and false.
template <class T>
consteval bool check_value() {
    constexpr bool elsewhere = leads_elsewhere<T>();
    static_assert(
        !elsewhere,
        "lapwing: pointers, spans and views are not values, since they are meaningless on another rank; pass what "
        "they point to, as std::span{pointer, count} or *pointer");
    static_assert(elsewhere || TriviallyCopyable<T>,
                  "lapwing: values travel as bytes, so their type must be trivially copyable");
    return !elsewhere && TriviallyCopyable<T>;
}

/// A name of a type, by which ranks compare the types of what they pass: the same for numbers of one representation,
/// such as int and std::int32_t, and otherwise as the compiler encodes it.
template <class T>
[[nodiscard]] const char* type_name() noexcept {
    using Value = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<Value, std::byte>) return "";
    else if constexpr (std::is_same_v<Value, double>) return "double";
    else if constexpr (std::is_same_v<Value, float>) return "float";
    else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
        constexpr std::array signed_names{"int8", "int16", "int32", "int64", "int128"};
        constexpr std::array unsigned_names{"uint8", "uint16", "uint32", "uint64", "uint128"};
        constexpr auto width = static_cast<std::size_t>(std::countr_zero(sizeof(Value)));
        return std::is_signed_v<Value> ? signed_names[width] : unsigned_names[width];
    } else {
#if defined(__cpp_rtti)
        return typeid(Value).name();
#else
        return __PRETTY_FUNCTION__;
#endif
    }
}

template <class V>
concept Range = std::ranges::range<V>;

/// For an argument of a transfer, the V&& of a function: a reference or not.
template <class V>
consteval bool check_argument() {
    if constexpr (Range<V>) {
        constexpr bool contiguous = std::ranges::contiguous_range<V> && std::ranges::sized_range<V>;
        static_assert(contiguous, "lapwing: the values of this range are not contiguous in memory; copy them to a "
                                  "std::vector (not of bool) or std::array");
        if constexpr (contiguous) return check_value<std::ranges::range_value_t<V>>();
        else return false;
    } else {
        return check_value<std::remove_cvref_t<V>>();
    }
}

/// Checks that the memory of an argument outlives the call.
template <class V>
consteval bool check_lasting() {
    constexpr bool lasting = std::is_lvalue_reference_v<V> || (Range<V> && std::ranges::borrowed_range<V>);
    static_assert(
        lasting,
        "lapwing: this value or container is destroyed when the call returns, but the transfer still needs it; pass a "
        "variable, or a span of memory that stays valid");
    return lasting;
}

template <class V>
consteval bool check_destination() {
    if constexpr (!check_argument<V>() || !check_lasting<V>()) {
        return false;
    } else {
        constexpr bool constant = [] {
            if constexpr (Range<V>) return std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<V>>>;
            else return std::is_const_v<std::remove_reference_t<V>>;
        }();
        static_assert(!constant, "lapwing: the destination is constant; received values cannot be written to it");
        return !constant;
    }
}

/// The bytes of an argument that has been checked. If the number of bytes exceeds 64 bits, the span is longer than any
/// part of a window.
template <class V>
[[nodiscard]] auto bytes_of(V& argument) noexcept {
    const auto bytes = [](auto* data, std::size_t count) {
        using Value = std::remove_pointer_t<decltype(data)>;
        using Byte = std::conditional_t<std::is_const_v<Value>, const std::byte, std::byte>;
        const std::size_t size = count <= SIZE_MAX / sizeof(Value) ? count * sizeof(Value) : SIZE_MAX;
        return std::span<Byte>{reinterpret_cast<Byte*>(data), size};
    };
    if constexpr (Range<V&>)
        return bytes(std::ranges::data(argument), static_cast<std::size_t>(std::ranges::size(argument)));
    else return bytes(std::addressof(argument), 1);
}

} // namespace detail::values
} // namespace lapwing
