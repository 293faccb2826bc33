// Room: upc
#pragma once

#include <lapwing/upc/atomic.h>
#include <lapwing/upc/pointer.hpp>
#include <lapwing/upc/program.hpp>
#include <lapwing/upc/reference.hpp>
#include <lapwing/upc/types.h>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace lapwing::upc {

namespace detail {

template <class T>
inline constexpr bool is_pointer_of_fixed_blocks = false;
template <class T, std::size_t B>
inline constexpr bool is_pointer_of_fixed_blocks<Pointer<T, B>> = B != dynamic_block;

/// Frees this thread's data of a domain.
void forget(lapwing_upc_atomicdomain* domain) noexcept;

/// The type of an atomic's object, as named by a domain.
template <class T>
[[nodiscard]] consteval lapwing_upc_type atomic_type() {
    if constexpr (std::is_same_v<T, float>) return LAPWING_UPC_FLOAT;
    else if constexpr (std::is_same_v<T, double>) return LAPWING_UPC_DOUBLE;
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
        return std::is_signed_v<T> ? LAPWING_UPC_INT32 : LAPWING_UPC_UINT32;
    else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
        return std::is_signed_v<T> ? LAPWING_UPC_INT64 : LAPWING_UPC_UINT64;
    else if constexpr (std::is_same_v<T, lapwing_upc_pointer> || is_pointer_of_fixed_blocks<T>) return LAPWING_UPC_PTS;
    else
        static_assert(sizeof(T) == 0, "atomics work on integers and floating-point numbers of 4 or 8 bytes, and on "
                                      "pointers-to-shared whose block size is not dynamic");
}

} // namespace detail

/// upc_atomicdomain_t: atomics on objects of type T, a number of 4 or 8 bytes or a Pointer of 16. They are atomic with
/// respect to all others of a domain of that type. Targets are elements: `domain.fetch_add(a[i], 1)`. Relaxed, unless
/// the last argument is Consistency::strict, which has a fence on both sides.
template <class T>
class AtomicDomain {
public:
    static constexpr bool is_pointer =
        detail::atomic_type<T>() == LAPWING_UPC_PTS; ///< pointers have get, set and compare_swap only

    /// Collective: upc_all_atomicdomain_alloc, with all operations of the type.
    AtomicDomain() : domain_{lapwing_upc_all_atomicdomain_alloc(detail::atomic_type<T>(), all_operations(), 0)} {}
    AtomicDomain(const AtomicDomain&) = delete;
    AtomicDomain& operator=(const AtomicDomain&) = delete;
    /// Collective.
    ~AtomicDomain() {
        if (collective_.unwinds()) detail::forget(domain_);
        else lapwing_upc_all_atomicdomain_free(domain_);
    }

    /// UPC_GET, UPC_SET, UPC_CSWAP, which returns the previous value.
    template <class Object>
    [[nodiscard]] T get(const Object& target, Consistency consistency = Consistency::relaxed) const {
        return fetch(LAPWING_UPC_GET, target, nullptr, nullptr, consistency);
    }
    /// As above.
    template <class Object>
    void set(const Object& target, const T& value, Consistency consistency = Consistency::relaxed) const {
        perform(LAPWING_UPC_SET, target, &value, nullptr, nullptr, consistency);
    }
    /// As above.
    template <class Object>
    [[nodiscard]] T swap(const Object& target, const T& value, Consistency consistency = Consistency::relaxed) const {
        return fetch(LAPWING_UPC_SET, target, &value, nullptr, consistency);
    }
    /// As above.
    template <class Object>
    T compare_swap(const Object& target, const T& expected, const T& desired,
                   Consistency consistency = Consistency::relaxed) const {
        return fetch(LAPWING_UPC_CSWAP, target, &expected, &desired, consistency);
    }

    /// UPC_ADD, UPC_SUB, UPC_MULT, UPC_MIN, UPC_MAX, and UPC_AND, UPC_OR, UPC_XOR for integers: without a result,
    /// complete at the next fence.
    template <class Object>
    void apply(lapwing_upc_op operation, const Object& target, const T& operand,
               Consistency consistency = Consistency::relaxed) const {
        perform(operation, target, &operand, nullptr, nullptr, consistency);
    }
    /// The same; returns the previous value.
    template <class Object>
    T fetch_apply(lapwing_upc_op operation, const Object& target, const T& operand,
                  Consistency consistency = Consistency::relaxed) const {
        return fetch(operation, target, &operand, nullptr, consistency);
    }
    /// Short forms of the most frequent ones.
    template <class Object>
    void add(const Object& target, const T& operand, Consistency consistency = Consistency::relaxed) const {
        apply(LAPWING_UPC_ADD, target, operand, consistency);
    }
    /// As above.
    template <class Object>
    T fetch_add(const Object& target, const T& operand, Consistency consistency = Consistency::relaxed) const {
        return fetch_apply(LAPWING_UPC_ADD, target, operand, consistency);
    }
    /// UPC_INC and UPC_DEC.
    template <class Object>
    void increment(const Object& target, Consistency consistency = Consistency::relaxed) const {
        perform(LAPWING_UPC_INC, target, nullptr, nullptr, nullptr, consistency);
    }
    /// As above.
    template <class Object>
    void decrement(const Object& target, Consistency consistency = Consistency::relaxed) const {
        perform(LAPWING_UPC_DEC, target, nullptr, nullptr, nullptr, consistency);
    }

private:
    [[nodiscard]] static constexpr int all_operations() noexcept {
        int operations = LAPWING_UPC_GET | LAPWING_UPC_SET | LAPWING_UPC_CSWAP;
        if constexpr (!is_pointer)
            operations |= LAPWING_UPC_ADD | LAPWING_UPC_SUB | LAPWING_UPC_MULT | LAPWING_UPC_INC | LAPWING_UPC_DEC |
                          LAPWING_UPC_MIN | LAPWING_UPC_MAX;
        if constexpr (std::is_integral_v<T>) operations |= LAPWING_UPC_AND | LAPWING_UPC_OR | LAPWING_UPC_XOR;
        return operations;
    }
    template <class Object>
    void perform(lapwing_upc_op operation, const Object& target, const T* first, const T* second, T* before,
                 Consistency consistency) const {
        static_assert(std::is_same_v<typename Object::value_type, T>, "the element has another type than the domain");
        const auto call = consistency == Consistency::strict ? lapwing_upc_atomic_strict : lapwing_upc_atomic_relaxed;
        call(domain_, before, operation, target.place(), first, second);
    }
    template <class Object>
    [[nodiscard]] T fetch(lapwing_upc_op operation, const Object& target, const T* first, const T* second,
                          Consistency consistency) const {
        T before;
        perform(operation, target, first, second, &before, consistency);
        return before;
    }

    detail::CollectiveLifetime collective_;
    lapwing_upc_atomicdomain* domain_;
};

} // namespace lapwing::upc
