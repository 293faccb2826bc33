// Room: support
#pragma once

/// What lets the elements of arrays, and UPC's shared objects, stand in expressions where their values may.

#include <cmath>
#include <compare>
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace lapwing {

namespace detail::support {

/// An object that stands for a value of type E::stands_for, which get() returns: see ElementExpressions.
template <class E>
inline constexpr bool is_element = requires { typename E::stands_for; };

/// The value of an operand, which may be an element.
template <class V>
struct ValueOf {
    using type = V;
};
template <class E>
    requires is_element<E>
struct ValueOf<E> {
    using type = typename E::stands_for;
};
template <class V>
using value_of_t = typename ValueOf<std::remove_cvref_t<V>>::type;

template <class V>
[[nodiscard, gnu::always_inline]] constexpr decltype(auto) value_of(const V& operand) {
    if constexpr (is_element<V>) return operand.get();
    else return (operand);
}

/// Of numbers, pointers and the like a conversion to the value is all that an operator needs. Those of class types may
/// be templates, which deduce nothing from something that converts.
template <class V>
concept ClassLike = std::is_class_v<V> || std::is_union_v<V> || std::is_enum_v<V>;

template <class A, class B>
concept NeedsOperators = ClassLike<value_of_t<A>> || ClassLike<value_of_t<B>>;

/// What may be compared: numbers and pointers, and classes of which one can be made from the other. Test frameworks
/// have classes that hold an element, and are compared with anything: they keep the element.
template <class A, class B>
concept Comparable = NeedsOperators<A, B> && (is_element<std::remove_cvref_t<B>> || !std::is_class_v<value_of_t<B>> ||
                                              std::constructible_from<value_of_t<B>, const value_of_t<A>&> ||
                                              std::constructible_from<value_of_t<A>, const value_of_t<B>&>);

/// What a comparison of values gives: nothing of a test framework's.
template <class V>
concept Compared = std::same_as<V, bool> || std::same_as<V, std::partial_ordering> ||
                   std::same_as<V, std::weak_ordering> || std::same_as<V, std::strong_ordering>;

/// The result of an operator on an A and a B. A class that is neither, but becomes one, may be an expression that
/// refers to operands which end with the operator (expression templates): it is evaluated.
template <class A, class B, class V>
[[nodiscard, gnu::always_inline]] constexpr auto evaluated(V&& result) {
    using Result = std::remove_cvref_t<V>;
    constexpr bool own = std::is_same_v<Result, A> || std::is_same_v<Result, B> || !std::is_class_v<Result>;
    if constexpr (!own && std::convertible_to<V, A> && !std::convertible_to<const A&, Result>)
        return A(std::forward<V>(result));
    else if constexpr (!own && std::convertible_to<V, B> && !std::convertible_to<const B&, Result>)
        return B(std::forward<V>(result));
    else return Result(std::forward<V>(result));
}

/// What is on the left of an element: no element, whose own operator it is then.
template <class L, class T>
concept LeftOf = !is_element<std::remove_cvref_t<L>> && NeedsOperators<L, T>;

template <class L, class T>
concept ReturnsReference = requires(L& a, const T& b) { requires std::is_lvalue_reference_v<decltype(a << b)>; };

// Functions of the standard library that elements of numbers are given to without std::, as arguments of class types
// find theirs.
namespace standard_functions {
using std::abs, std::fabs, std::exp, std::exp2, std::expm1, std::log, std::log10, std::log2, std::log1p, std::sqrt,
    std::cbrt, std::sin, std::cos, std::tan, std::asin, std::acos, std::atan, std::sinh, std::cosh, std::tanh,
    std::asinh, std::acosh, std::atanh, std::floor, std::ceil, std::trunc, std::round, std::erf, std::erfc, std::tgamma,
    std::lgamma, std::isnan, std::isinf, std::isfinite, std::signbit, std::pow, std::atan2, std::hypot, std::fmod;
// Of class types only: found by their arguments.
void real() = delete;
void imag() = delete;
void arg() = delete;
void norm() = delete;
void conj() = delete;
void proj() = delete;

// One line an operator, or a function, since neither can be a parameter of a template.
#define LAPWING_FUNCTION(name)                                                                 \
    struct name##_of {                                                                         \
        template <class... V>                                                                  \
        auto operator()(const V&... values) const -> std::decay_t<decltype(name(values...))> { \
            return name(values...);                                                            \
        }                                                                                      \
    };
#define LAPWING_UNARY_FUNCTIONS(one)                                                                                 \
    one(abs) one(fabs) one(real) one(imag) one(arg) one(norm) one(conj) one(proj) one(exp) one(exp2) one(expm1)      \
        one(log) one(log10) one(log2) one(log1p) one(sqrt) one(cbrt) one(sin) one(cos) one(tan) one(asin) one(acos)  \
            one(atan) one(sinh) one(cosh) one(tanh) one(asinh) one(acosh) one(atanh) one(floor) one(ceil) one(trunc) \
                one(round) one(erf) one(erfc) one(tgamma) one(lgamma) one(isnan) one(isinf) one(isfinite) one(signbit)
#define LAPWING_BINARY_FUNCTIONS(one) one(pow) one(atan2) one(hypot) one(fmod)
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wabsolute-value" // whether unsigned numbers have an abs() is asked, too
#endif
LAPWING_UNARY_FUNCTIONS(LAPWING_FUNCTION)
LAPWING_BINARY_FUNCTIONS(LAPWING_FUNCTION)
#ifdef __clang__
#pragma clang diagnostic pop
#endif
#undef LAPWING_FUNCTION
} // namespace standard_functions

/// The operators and functions of `Object`, which stands for a value of type T: what its value may be given to,
/// the element may. They are found by their arguments alone, and return values.
template <class Object, class T>
class ElementExpressions {
#define LAPWING_BINARY(sign)                                                                        \
    template <class R>                                                                              \
        requires NeedsOperators<T, R> && requires(const T& a, const value_of_t<R>& b) { a sign b; } \
    friend auto operator sign(const Object& left, const R& right) {                                 \
        return evaluated<T, value_of_t<R>>(value_of(left) sign value_of(right));                    \
    }                                                                                               \
    template <class L>                                                                              \
        requires LeftOf<L, T> && requires(const L& a, const T& b) { a sign b; }                     \
    friend auto operator sign(const L& left, const Object& right) {                                 \
        return evaluated<L, T>(left sign value_of(right));                                          \
    }
    LAPWING_BINARY(+)
    LAPWING_BINARY(-)
    LAPWING_BINARY(*)
    LAPWING_BINARY(/)
    LAPWING_BINARY(%)
    LAPWING_BINARY(&)
    LAPWING_BINARY(|)
    LAPWING_BINARY(^)
#undef LAPWING_BINARY

#define LAPWING_COMPARISON(sign)                                                        \
    template <class R>                                                                  \
        requires Comparable<T, R> && requires(const T& a, const value_of_t<R>& b) {     \
            { a sign b } -> Compared;                                                   \
        }                                                                               \
    friend auto operator sign(const Object& left, const R& right) {                     \
        return value_of(left) sign value_of(right);                                     \
    }                                                                                   \
    template <class L>                                                                  \
        requires LeftOf<L, T> && Comparable<T, L> && requires(const L& a, const T& b) { \
            { a sign b } -> Compared;                                                   \
        }                                                                               \
    friend auto operator sign(const L& left, const Object& right) {                     \
        return left sign value_of(right);                                               \
    }
    LAPWING_COMPARISON(==)
    LAPWING_COMPARISON(!=)
    LAPWING_COMPARISON(<)
    LAPWING_COMPARISON(>)
    LAPWING_COMPARISON(<=)
    LAPWING_COMPARISON(>=)
    LAPWING_COMPARISON(<=>)
#undef LAPWING_COMPARISON

    /// Streams and the like return themselves, all else a value.
    template <class L>
        requires LeftOf<L, T> && std::is_class_v<L> && (!ReturnsReference<L, T>) &&
                 requires(L& a, const T& b) { a << b; }
    friend auto operator<<(L& left, const Object& right) {
        return evaluated<L, T>(left << value_of(right));
    }
    template <class L>
        requires LeftOf<L, T> && std::is_class_v<L> && ReturnsReference<L, T>
    friend auto& operator<<(L& left, const Object& right) {
        return left << value_of(right);
    }
    template <class R>
        requires NeedsOperators<T, R> && requires(const T& a, const value_of_t<R>& b) { a << b; }
    friend auto operator<<(const Object& left, const R& right) {
        return evaluated<T, value_of_t<R>>(value_of(left) << value_of(right));
    }
    template <class R>
        requires NeedsOperators<T, R> && requires(const T& a, const value_of_t<R>& b) { a >> b; }
    friend auto operator>>(const Object& left, const R& right) {
        return evaluated<T, value_of_t<R>>(value_of(left) >> value_of(right));
    }

#define LAPWING_COMPOUND(sign)                                                                     \
    template <class L>                                                                             \
        requires LeftOf<L, T> && (!std::is_const_v<L>) && requires(L& a, const T& b) { a sign b; } \
    friend L& operator sign(L & left, const Object & right) {                                      \
        left sign right.get();                                                                     \
        return left;                                                                               \
    }
    LAPWING_COMPOUND(+=)
    LAPWING_COMPOUND(-=)
    LAPWING_COMPOUND(*=)
    LAPWING_COMPOUND(/=)
    LAPWING_COMPOUND(%=)
    LAPWING_COMPOUND(&=)
    LAPWING_COMPOUND(|=)
    LAPWING_COMPOUND(^=)
    LAPWING_COMPOUND(<<=)
    LAPWING_COMPOUND(>>=)
#undef LAPWING_COMPOUND

#define LAPWING_FUNCTION(name)                                                      \
    friend auto name(const Object& element)                                         \
        requires std::invocable<standard_functions::name##_of, const T&>            \
    {                                                                               \
        return evaluated<T, T>(standard_functions::name##_of{}(value_of(element))); \
    }
    LAPWING_UNARY_FUNCTIONS(LAPWING_FUNCTION)
#undef LAPWING_FUNCTION
#undef LAPWING_UNARY_FUNCTIONS

#define LAPWING_FUNCTION(name)                                                                                  \
    template <class R>                                                                                          \
        requires std::invocable<standard_functions::name##_of, const T&, const value_of_t<R>&>                  \
    friend auto name(const Object& first, const R& second) {                                                    \
        return evaluated<T, value_of_t<R>>(standard_functions::name##_of{}(value_of(first), value_of(second))); \
    }                                                                                                           \
    template <class L>                                                                                          \
        requires(!is_element<L>) && std::invocable<standard_functions::name##_of, const L&, const T&>           \
    friend auto name(const L& first, const Object& second) {                                                    \
        return evaluated<L, T>(standard_functions::name##_of{}(first, value_of(second)));                       \
    }
    LAPWING_BINARY_FUNCTIONS(LAPWING_FUNCTION)
#undef LAPWING_FUNCTION
#undef LAPWING_BINARY_FUNCTIONS

public:
    using stands_for = T;

    // Members, which those of the object hide.
#define LAPWING_UNARY(sign)                                       \
    auto operator sign() const                                    \
        requires ClassLike<T> && requires(const T& a) { sign a; } \
    {                                                             \
        return evaluated<T, T>(sign self().get());                \
    }
    LAPWING_UNARY(+)
    LAPWING_UNARY(-)
    LAPWING_UNARY(!)
    LAPWING_UNARY(~)
    LAPWING_UNARY(*)
#undef LAPWING_UNARY
    /// Of values that have one: a value, and no address in this one, which ends here.
    template <class I>
        requires ClassLike<T> && requires(const T& value, const I& index) {
            requires !std::is_pointer_v<std::decay_t<decltype(value[index])>>;
        }
    [[nodiscard]] auto operator[](const I& index) const {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion" // of a number that the program wrote itself
        return self().get()[index];
#pragma GCC diagnostic pop
    }
    template <class... A>
        requires ClassLike<T> && std::invocable<const T&, A...>
    auto operator()(A&&... arguments) const {
        return std::invoke(std::as_const(static_cast<const T&>(self().get())), std::forward<A>(arguments)...);
    }
    /// In conditions, of class types that may stand there.
    explicit operator bool() const
        requires(std::is_class_v<T> && std::constructible_from<bool, const T&>)
    {
        return static_cast<bool>(self().get());
    }

private:
    [[nodiscard]] const Object& self() const noexcept { return static_cast<const Object&>(*this); }
};

/// The compound assignments, ++ and -- of `Object`, which stands for a value of type T: a read, get(), and a write by
/// operator=(), between which others may write. Each computes as the language does.
template <class Object, class T>
class ElementAssignments {
public:
#define LAPWING_COMPOUND(sign, converted)                                                       \
    template <class U = T>                                                                      \
    [[gnu::always_inline]] const Object& operator sign##=(const U & operand) const {            \
        T value = self().get();                                                                 \
        const value_of_t<U>& right = value_of(operand);                                         \
        if constexpr (ClassLike<T> && requires { value sign## = right; }) value sign## = right; \
        else value = static_cast<T>(converted(value, right) sign converted(right, value));      \
        return self() = value;                                                                  \
    }
    LAPWING_COMPOUND(+, in_common)
    LAPWING_COMPOUND(-, in_common)
    LAPWING_COMPOUND(*, in_common)
    LAPWING_COMPOUND(/, in_common)
    LAPWING_COMPOUND(%, in_common)
    LAPWING_COMPOUND(&, in_common)
    LAPWING_COMPOUND(|, in_common)
    LAPWING_COMPOUND(^, in_common)
    LAPWING_COMPOUND(<<, as_it_is)
    LAPWING_COMPOUND(>>, as_it_is)
#undef LAPWING_COMPOUND

    /// These return values: what was written, or read.
    [[gnu::always_inline]] T operator++() const { return step<1>().after; }
    [[gnu::always_inline]] T operator--() const { return step<-1>().after; }
    [[gnu::always_inline]] T operator++(int) const { return step<1>().before; }
    [[gnu::always_inline]] T operator--(int) const { return step<-1>().before; }

private:
    [[nodiscard, gnu::always_inline]] const Object& self() const noexcept { return static_cast<const Object&>(*this); }
    struct Step {
        T before;
        T after;
    };
    template <int By>
    [[nodiscard, gnu::always_inline]] Step step() const {
        const T before = self().get();
        T after = before;
        if constexpr (std::is_same_v<T, bool> || !requires { ++after; })
            after = static_cast<T>(before + By); // bool, unscoped enumerations
        else if constexpr (By > 0) ++after;
        else --after;
        self() = after;
        return {before, after};
    }
    /// The operand of two; numbers in their common type, as the language converts them, but without a compiler warning
    /// about signs or precision.
    template <class A, class B>
    [[nodiscard, gnu::always_inline]] static constexpr decltype(auto) in_common(const A& operand, const B&) noexcept {
        if constexpr (std::is_same_v<A, bool> && std::is_same_v<B, bool>) return static_cast<int>(operand);
        else if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
            return static_cast<std::common_type_t<A, B>>(operand);
        else return (operand);
    }
    template <class A, class B>
    [[nodiscard, gnu::always_inline]] static constexpr const A& as_it_is(const A& operand, const B&) noexcept {
        return operand;
    }
};

} // namespace detail::support
} // namespace lapwing
