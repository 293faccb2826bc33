// Room: arrays
#pragma once

#include <lapwing/located_value.hpp>
#include <lapwing/reduction.hpp>
#include <lapwing/team.hpp>
#include <lapwing/values.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

/// Reduce intents: variables of which each thread of a forall has its own, and which are combined at its end.
namespace lapwing::chapel {

/// `+` and `*` of anything that has them.
struct Plus {
    template <class T>
    [[nodiscard]] constexpr T operator()(const T& a, const std::type_identity_t<T>& b) const {
        return static_cast<T>(a + b);
    }
};
struct Times {
    template <class T>
    [[nodiscard]] constexpr T operator()(const T& a, const std::type_identity_t<T>& b) const {
        return static_cast<T>(a * b);
    }
};
/// The smaller and the larger one. NaNs are ignored.
struct Min {
    template <class T>
    [[nodiscard]] constexpr T operator()(const T& a, const std::type_identity_t<T>& b) const {
        return b < a ? b : a;
    }
};
struct Max {
    template <class T>
    [[nodiscard]] constexpr T operator()(const T& a, const std::type_identity_t<T>& b) const {
        return a < b ? b : a;
    }
};
/// The smallest and the largest value with its index; of equal ones that with the lowest index. NaNs are ignored.
struct MinLoc {
    template <class T, std::size_t N>
    [[nodiscard]] constexpr LocatedValue<T, N> operator()(const LocatedValue<T, N>& a,
                                                          const std::type_identity_t<LocatedValue<T, N>>& b) const {
        return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a;
    }
};
struct MaxLoc {
    template <class T, std::size_t N>
    [[nodiscard]] constexpr LocatedValue<T, N> operator()(const LocatedValue<T, N>& a,
                                                          const std::type_identity_t<LocatedValue<T, N>>& b) const {
        return a.value < b.value || (b.value == a.value && b.index < a.index) ? b : a;
    }
};
inline constexpr Plus plus{};
inline constexpr Times times{};
inline constexpr Min min{};
inline constexpr Max max{};
inline constexpr MinLoc minloc{};
inline constexpr MaxLoc maxloc{};

namespace detail {

template <class T>
struct Located : std::false_type {};
template <class T, std::size_t N>
struct Located<LocatedValue<T, N>> : std::true_type {
    /// After every element.
    [[nodiscard]] static constexpr LocatedValue<T, N> worst(T value) {
        LocatedValue<T, N> none{value, {}};
        none.index.fill(std::numeric_limits<std::int64_t>::max());
        return none;
    }
    using Value = T;
};

template <class Operation>
concept Named = std::same_as<Operation, Plus> || std::same_as<Operation, Times> || std::same_as<Operation, Min> ||
                std::same_as<Operation, Max> || std::same_as<Operation, MinLoc> || std::same_as<Operation, MaxLoc>;

/// The value that a named operation leaves alone.
template <class T, Named Operation>
[[nodiscard]] constexpr T identity_of() {
    namespace arrays = lapwing::detail::arrays;
    if constexpr (std::same_as<Operation, Plus>) return T{};
    else if constexpr (std::same_as<Operation, Times>) return T{1};
    else if constexpr (std::same_as<Operation, Min>) return arrays::largest_value<T>();
    else if constexpr (std::same_as<Operation, Max>) return arrays::smallest_value<T>();
    else {
        static_assert(Located<T>::value, "lapwing: minloc and maxloc reduce LocatedValue<T, N>");
        using Value = typename Located<T>::Value;
        if constexpr (std::same_as<Operation, MinLoc>) return Located<T>::worst(arrays::largest_value<Value>());
        else return Located<T>::worst(arrays::smallest_value<Value>());
    }
}

} // namespace detail

/// A variable that a forall reduces. Made by reduce().
template <lapwing::detail::arrays::Reducible T, class Operation>
class Reduction {
public:
    using value_type = T;

    Reduction(const T& initial, const T& identity, Operation operation)
        : value_{initial}, identity_{identity}, operation_{std::move(operation)} {}

    /// The value: as it was made, combined with the results of all loops so far.
    [[nodiscard]] const T& value() const noexcept { return value_; }
    operator const T&() const noexcept { return value_; }

    /// Internal, for forall: the value that each thread begins with, and what is done with theirs.
    [[nodiscard]] const T& identity() const noexcept { return identity_; }
    [[nodiscard]] T combined(const T& a, const T& b) { return static_cast<T>(operation_(a, b)); }
    void add(const T& result) { value_ = combined(value_, result); }
    /// Collective.
    [[nodiscard]] T over_ranks(Team& team, const T& own) {
        if constexpr (Number<T> && sizeof(T) == 8 && std::same_as<Operation, Plus>) return team.sum(own);
        else if constexpr (Number<T> && std::same_as<Operation, Min>) return team.min(own);
        else if constexpr (Number<T> && std::same_as<Operation, Max>) return team.max(own);
        else return team.reduce(own, operation_);
    }

private:
    T value_;
    T identity_;
    Operation operation_;
};

/// A variable of type T for `with()`, reduced by `plus`, `times`, `min`, `max`, `minloc` or `maxloc`. The result of the
/// loop is combined with `initial`, as Chapel's `var total = initial; … with (+ reduce total)`.
template <class T, detail::Named Operation>
[[nodiscard]] Reduction<T, Operation> reduce(Operation operation,
                                             const T& initial = detail::identity_of<T, Operation>()) {
    return {initial, detail::identity_of<T, Operation>(), operation};
}
/// The same by a function of the program's, which must be associative: `reduce<Box>(around, Box{})`. `identity` must be
/// neutral to it, since every thread begins with it. Ranks are combined in their order.
template <class T, class Operation>
    requires(!detail::Named<Operation> && std::is_invocable_r_v<T, Operation&, const T&, const T&>)
[[nodiscard]] Reduction<T, Operation> reduce(Operation operation, const T& identity) {
    return {identity, identity, std::move(operation)};
}

} // namespace lapwing::chapel
