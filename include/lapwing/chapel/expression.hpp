// Room: arrays
#pragma once

#include <lapwing/array_slice.hpp>
#include <lapwing/chapel/forall.hpp>
#include <lapwing/chapel/loop.hpp>
#include <lapwing/values.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

/// Expressions of whole arrays, `whole(a) = whole(b) + alpha * whole(c)`: one loop and no temporaries.
/// ArraySlice::assign() carries them out, unless all elements are in place.
namespace lapwing::chapel {

namespace detail {

/// An expression of an array, a slice, an expression, or a value that is the same for all elements.
template <class E>
[[nodiscard]] auto as_expression(E& operand);

/// What expressions derive from. `sources()` are the slices in it, from left to right; `value<At>(values)` is its value
/// where these have `values`, its own first being number At.
struct ExpressionTag {};
template <class E>
concept Expression = std::derived_from<std::remove_cvref_t<E>, ExpressionTag>;

template <class T>
struct Constant : ExpressionTag {
    static constexpr std::size_t count = 0;
    T constant;

    explicit Constant(const T& value) : constant{value} {}
    [[nodiscard]] std::tuple<> sources() const noexcept { return {}; }
    template <std::size_t At, class V>
    [[nodiscard]] const T& value(const V& /*values*/) const noexcept {
        return constant;
    }
    template <std::size_t At, class V>
    static constexpr bool quiet = true;
};

/// Sources in the operands before the k-th.
template <class... E>
[[nodiscard]] consteval std::size_t before(std::size_t k) {
    const std::size_t counts[] = {E::count..., 0};
    std::size_t sum = 0;
    for (std::size_t n = 0; n < k; ++n) sum += counts[n];
    return sum;
}

template <class F, class... E>
struct Apply : ExpressionTag {
    static constexpr std::size_t count = (std::size_t{0} + ... + E::count);
    F function;
    std::tuple<E...> operands;

    explicit Apply(F f, const E&... operand) : function{std::move(f)}, operands{operand...} {}
    [[nodiscard]] auto sources() const {
        return std::apply([](const E&... operand) { return std::tuple_cat(operand.sources()...); }, operands);
    }
    template <std::size_t At, class V>
    [[nodiscard]] auto value(const V& values) const {
        return apply<At>(values, std::index_sequence_for<E...>{});
    }
    /// Whether it throws nothing.
    template <std::size_t At, class V>
    static constexpr bool quiet = []<std::size_t... K>(std::index_sequence<K...>) {
        return (E::template quiet<At + before<E...>(K), V> && ...) &&
               std::is_nothrow_invocable_v<const F&,
                                           decltype(std::declval<const E&>().template value<At + before<E...>(K)>(
                                               std::declval<V>()))...>;
    }(std::index_sequence_for<E...>{});

private:
    template <std::size_t At, class V, std::size_t... K>
    [[nodiscard]] auto apply(const V& values, std::index_sequence<K...> /*operands*/) const {
        return function(std::get<K>(operands).template value<At + before<E...>(K)>(values)...);
    }
};

} // namespace detail

/// All elements of an array, or of a slice, in an expression or as what one is assigned to. Made by whole(). `Of` is
/// the GlobalArray, const or not, or the ArraySlice.
template <class Of>
class Whole : public detail::ExpressionTag {
public:
    static constexpr std::size_t count = 1;

    explicit Whole(Of& of) : of_{of} {}
    Whole(const Whole&) = default;
    ~Whole() = default;

    /// Collective, over the ranks of all arrays in the expression: each element becomes the expression's value of the
    /// elements at the same position. Extents must be equal, distributions need not be. Begins and ends with a barrier,
    /// as every assignment: it reads what any rank wrote before, and on return all ranks see the result. An array in
    /// the expression may be assigned to; if it is another part of that array, the old values are read. Errors and
    /// memory: ArraySlice::assign(). Cost: two barriers, and one loop over own elements, without temporaries. Unless
    /// all are whole arrays of one distribution that is not user-defined, and nothing can throw, also planning, some
    /// microseconds; what other ranks have of an operand comes in one transfer for each of them and 1 MiB.
    const Whole& operator=(const Whole& other) const {
        assign(other);
        return *this;
    }
    template <class E>
    const Whole& operator=(const E& expression) const {
        assign(detail::as_expression(expression));
        return *this;
    }
    template <class E>
    const Whole& operator+=(const E& expression) const {
        return *this = *this + expression;
    }
    template <class E>
    const Whole& operator-=(const E& expression) const {
        return *this = *this - expression;
    }
    template <class E>
    const Whole& operator*=(const E& expression) const {
        return *this = *this * expression;
    }

    // For expressions.
    static constexpr bool is_array = detail::Array<Of>;
    using value_type = typename Of::value_type;
    [[nodiscard]] Of& of() const noexcept { return of_; }
    [[nodiscard]] auto slice() const {
        if constexpr (is_array) return of().slice();
        else return of();
    }
    [[nodiscard]] std::tuple<Whole> sources() const { return {*this}; }
    template <std::size_t At, class V>
    [[nodiscard]] auto value(const V& values) const noexcept {
        return std::get<At>(values);
    }
    template <std::size_t At, class V>
    static constexpr bool quiet = true;

private:
    template <class E>
    void assign(const E& terms) const {
        if constexpr (E::count == 0) slice().fill(static_cast<value_type>(terms.template value<0>(std::tuple<>{})));
        else std::apply([&](const auto&... sources) { assign_from(terms, sources...); }, terms.sources());
    }
    template <class E, class... S>
    void assign_from(const E& terms, const S&... sources) const {
        using Values = std::tuple<const typename S::value_type&...>;
        constexpr bool quiet = E::template quiet<0, Values>;
        const auto function = [terms](const auto&... values) noexcept(quiet) {
            return static_cast<value_type>(terms.template value<0>(Values{values...}));
        };
        if constexpr (quiet && is_array && (S::is_array && ...))
            if (assign_in_place(function, sources.of()...)) return;
        slice().assign(function, sources.slice()...);
    }
    /// Returns whether it could, the same on all ranks.
    template <class F, class... A>
    [[nodiscard]] bool assign_in_place(const F& function, A&... arrays) const {
        using detail::OwnPart;
        if (of().closed() || !(OwnPart::same_places(of(), arrays) && ...)) return false;
        OwnPart::begin_collective(of(), "assign");
        auto body = [function](value_type& target, const auto&... values) noexcept { target = function(values...); };
        detail::iterate(detail::loop_over(of(), of(), std::as_const(arrays)...), body, 0, UINT64_MAX);
        of().barrier();
        return true;
    }

    // A pointer keeps expressions of arrays trivial, so that constants in them stay in registers.
    struct Pointer {
        Of* array;

        Pointer(Of& of) noexcept : array{&of} {}
        operator Of&() const noexcept { return *array; }
    };
    std::conditional_t<is_array, Pointer, Of> of_;
};

template <detail::Array A>
[[nodiscard]] auto whole(A& array) {
    return Whole<detail::CoreOf<A>>{detail::core_of(array)};
}
template <class T, std::size_t N>
[[nodiscard]] auto whole(const ArraySlice<T, N>& slice) {
    return Whole<const ArraySlice<T, N>>{slice};
}

namespace detail {

template <class E>
auto as_expression(E& operand) {
    if constexpr (Expression<E>) return operand;
    else if constexpr (Array<E> || requires { whole(operand); }) return whole(operand);
    else return Constant<std::remove_cv_t<E>>{operand};
}
template <class F, class... E>
[[nodiscard]] auto apply(F function, E&... operands) {
    return Apply<F, decltype(as_expression(operands))...>{std::move(function), as_expression(operands)...};
}
template <class A, class B>
concept Operands = Expression<A> || Expression<B>;

} // namespace detail

/// Promotion: the values of a function of elements, in an expression. The operands are arrays, slices, expressions, and
/// values that are the same for all elements: `whole(a) = map(std::hypot<double, double>, b, 2 * whole(c))`. If
/// the function is noexcept, the ranks need not keep the old values of what is assigned to: see ArraySlice::assign().
template <class F, class... E>
    requires(sizeof...(E) > 0)
[[nodiscard]] auto map(F function, E&&... operands) {
    return detail::apply(std::move(function), operands...);
}

// Arithmetic, where one of the operands is an expression.
template <class A, class B>
    requires detail::Operands<A, B>
[[nodiscard]] auto operator+(const A& a, const B& b) {
    return detail::apply(std::plus<>{}, a, b);
}
template <class A, class B>
    requires detail::Operands<A, B>
[[nodiscard]] auto operator-(const A& a, const B& b) {
    return detail::apply(std::minus<>{}, a, b);
}
template <class A, class B>
    requires detail::Operands<A, B>
[[nodiscard]] auto operator*(const A& a, const B& b) {
    return detail::apply(std::multiplies<>{}, a, b);
}
template <class A, class B>
    requires detail::Operands<A, B>
[[nodiscard]] auto operator/(const A& a, const B& b) {
    return detail::apply(std::divides<>{}, a, b);
}
template <detail::Expression A>
[[nodiscard]] auto operator-(const A& a) {
    return detail::apply(std::negate<>{}, a);
}

} // namespace lapwing::chapel
