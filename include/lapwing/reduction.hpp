// Room: arrays
#pragma once

#include <lapwing/extents.hpp>
#include <lapwing/team.hpp>
#include <lapwing/window.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace lapwing::detail::arrays {

/// Types for which sum(), min() and max() have special implementations; others are combined as by reduce().
template <class T>
concept Summable = std::is_arithmetic_v<T> && sizeof(T) <= 8;

/// True, or a compiler message and false.
template <class T>
consteval bool check_addable() {
    constexpr bool adds = requires(const T& a) { static_cast<T>(a + a); };
    static_assert(
        adds,
        "lapwing: sum() needs elements with +; reduce(identity, combine) and transform_reduce() take any operation");
    return adds;
}
template <class T>
consteval bool check_ordered() {
    constexpr bool ordered = requires(const T& a) { static_cast<bool>(a < a); };
    static_assert(ordered, "lapwing: min(), max() and their locations need elements with <; reduce(identity, combine) "
                           "and transform_reduce() take any operation");
    return ordered;
}

/// A value, or none yet.
template <class T>
struct Candidate {
    T value{};        ///< of an element, if any
    bool any = false; ///< whether there is a value
};

/// Results of reductions: values that ranks can send each other as bytes.
template <class R>
concept Reducible = TriviallyCopyable<R> && std::default_initializable<R>;

/// What transform_reduce() applies to an element, or to its index and the element.
template <class Transform, class T, std::size_t N>
concept TransformOf = std::invocable<Transform&, const T&> || std::invocable<Transform&, const Index<N>&, const T&>;

/// The type in which values of T are added up, so that a sum of bytes does not overflow at 256. For bool it counts
/// true.
template <Summable T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double,
                                 std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

/// Where the search for the smallest or largest value starts; infinities are values like any other.
template <Summable T>
[[nodiscard]] constexpr T largest_value() noexcept {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
}
template <Summable T>
[[nodiscard]] constexpr T smallest_value() noexcept {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
}

/// Combines values in several chains, since in a single one each step would wait for the previous: four cycles or more
/// for floating-point numbers, whose additions the compiler may not reorder. `combine` must be commutative and, except
/// for rounding, associative; `identity` is neutral to it.
template <class Value, class Combine>
class Chains {
public:
    Chains(Value identity, Combine combine) : combine_{combine} { chains_.fill(identity); }

    template <class T>
    void add(const T* data, std::uint64_t count) {
        std::array<Value, length> chains = chains_; // local, so that they stay in registers
        std::uint64_t k = 0;
        for (; k + length <= count; k += length)
            for (std::size_t c = 0; c < length; ++c) chains[c] = combine_(chains[c], static_cast<Value>(data[k + c]));
        for (; k < count; ++k) chains[k % length] = combine_(chains[k % length], static_cast<Value>(data[k]));
        chains_ = chains;
    }
    [[nodiscard]] Value result() const {
        std::array<Value, length> chains = chains_;
        for (std::size_t half = length / 2; half > 0; half /= 2)
            for (std::size_t c = 0; c < half; ++c) chains[c] = combine_(chains[c], chains[c + half]);
        return chains[0];
    }

private:
    static constexpr std::size_t length = 8;

    std::array<Value, length> chains_;
    Combine combine_;
};

/// Sums of the ranks' values; integers wrap around modulo 2^64. Collective.
template <class S>
[[nodiscard]] S sum_over_ranks(Team& team, S value) {
    if constexpr (std::is_floating_point_v<S>) {
        team.sum(std::span<double>{&value, 1});
        return value;
    } else {
        auto bits = static_cast<std::int64_t>(value);
        team.sum(std::span<std::int64_t>{&bits, 1});
        return static_cast<S>(bits);
    }
}

/// Smallest and largest of the ranks' values. Collective.
template <class S>
[[nodiscard]] S min_over_ranks(Team& team, S value) {
    if constexpr (std::is_same_v<S, std::uint64_t>) team.all_reduce(&value, 1, MPI_UINT64_T, MPI_MIN);
    else team.min(std::span<S>{&value, 1});
    return value;
}
template <class S>
[[nodiscard]] S max_over_ranks(Team& team, S value) {
    if constexpr (std::is_same_v<S, std::uint64_t>) team.all_reduce(&value, 1, MPI_UINT64_T, MPI_MAX);
    else team.max(std::span<S>{&value, 1});
    return value;
}

} // namespace lapwing::detail::arrays
