// Room: window
#pragma once

#include <lapwing/detail/atomic.hpp>
#include <lapwing/detail/atomic_values.hpp>
#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

/// How the atomics of AtomicReference reach a window.
namespace lapwing {

class Window;

namespace detail::window {

/// What is done with a value of 16 bytes: it is read, replaced, replaced if its first `compared` bytes are those
/// expected, or, for min and max, replaced if the operand is to take its place; both are then a number of `type` with
/// its location.
struct WideAtomic {
    mpi::AtomicOperation operation = mpi::AtomicOperation::read;
    bool is_compare_swap = false;
    mpi::AtomicType type{};
    std::uint32_t compared = sizeof(WideValue);
    const char* call = ""; ///< for messages
    bool looks = true;     ///< a loop that polls may be making it, which must learn of ranks that leave
};

/// Where a value is, for atomics whose type is known at run time. They are those of AtomicReference.
class AtomicPlace {
public:
    AtomicPlace(Window& window, Rank target, Offset offset) noexcept
        : window_{&window}, target_{target}, offset_{offset} {}

    /// Throws RangeError unless the window has an aligned value of `type` there.
    void check(mpi::AtomicType type, const char* call) const;
    /// `looks`: a loop that polls may be making it, which must learn of ranks that leave.
    void fetch(mpi::AtomicOperation operation, mpi::AtomicType type, const void* operand, void* before,
               std::memory_order order, bool looks = true) const;
    void compare_swap(mpi::AtomicType type, const void* expected, const void* desired, void* before,
                      std::memory_order order, bool looks = true) const;
    /// Without a result.
    void update(mpi::AtomicOperation operation, mpi::AtomicType type, const void* operand) const;

    /// By compare-and-swap of the 4 bytes that the integer lies in, which must be in the part: the others of them keep
    /// their values. `order` holds for each of the accesses that it takes.
    void fetch(mpi::AtomicOperation operation, SmallInteger type, const void* operand, void* before,
               std::memory_order order) const;
    void compare_swap(SmallInteger type, const void* expected, const void* desired, void* before,
                      std::memory_order order) const;

    /// One on 16 bytes, carried out by the target itself, at any offset; returns the value from before.
    [[nodiscard]] WideValue wide(const WideAtomic& atomic, const WideValue& operand, const WideValue& expected,
                                 std::memory_order order) const;

private:
    Window* window_;
    Rank target_;
    Offset offset_;
};

/// Atomics on values that travel as bits.
template <BitsAtomicValue T>
class BitsAtomics {
public:
    BitsAtomics(const AtomicPlace& place, std::memory_order order) noexcept : place_{place}, order_{order} {}

    /// Returns the value from before.
    template <AtomicUse Use>
    T fetch(mpi::AtomicOperation operation, const T& operand) {
        using enum mpi::AtomicOperation;
        if constexpr (Use == AtomicUse::bits) {
            return operation == read ? value_of(bits_read("load", true)) : exchange(operand);
        } else if constexpr (Use == AtomicUse::sum) {
            return change("fetch_add", [&](const T& before) { return before + operand; });
        } else if constexpr (LocatedNumber<T>::value) {
            return extreme(operation, operand, operation == min ? "fetch_min" : "fetch_max");
        } else if constexpr (Use == AtomicUse::extremes) {
            if (operation == min)
                return change("fetch_min", [&](const T& before) { return operand < before ? operand : before; });
            return change("fetch_max", [&](const T& before) { return before < operand ? operand : before; });
        } else {
            if (operation == bit_and) return change("fetch_and", [&](const T& before) { return before & operand; });
            if (operation == bit_or) return change("fetch_or", [&](const T& before) { return before | operand; });
            return change("fetch_xor", [&](const T& before) { return before ^ operand; });
        }
    }
    T compare_swap(const T& expected, const T& desired) {
        return value_of(bits_compare_swap(bits_of(expected), bits_of(desired), "compare_swap", true));
    }

private:
    static constexpr bool wide = sizeof(T) == sizeof(WideValue);
    /// The x87's long double has 10 bytes and 6 of padding.
    static constexpr std::uint32_t compared =
        std::is_floating_point_v<T> && std::numeric_limits<T>::digits == 64 ? 10 : sizeof(T);
    using Bits = std::conditional_t<wide, WideValue, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

    T exchange(const T& value) {
        if constexpr (wide) {
            return value_of(place_.wide({.operation = mpi::AtomicOperation::replace, .call = "exchange"},
                                        bits_of(value), {}, order_));
        } else {
            const Bits bits = bits_of(value);
            Bits before{};
            place_.fetch(mpi::AtomicOperation::replace, mpi::atomic_type_of<Bits>(), &bits, &before, order_);
            return value_of(before);
        }
    }
    /// Replaces the value by `operand` if that is smaller or larger: min and max of numbers with their location.
    T extreme(mpi::AtomicOperation operation, const T& operand, const char* call) {
        return value_of(place_.wide({.operation = operation, .type = LocatedNumber<T>::type, .call = call},
                                    bits_of(operand), {}, order_));
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
        if constexpr (wide) bits = place_.wide({.call = call, .looks = looks}, {}, {}, order_);
        else place_.fetch(mpi::AtomicOperation::read, mpi::atomic_type_of<Bits>(), &bits, &bits, order_, looks);
        return bits;
    }
    [[nodiscard]] Bits bits_compare_swap(const Bits& expected, const Bits& desired, const char* call, bool looks) {
        Bits found{};
        if constexpr (wide)
            found = place_.wide({.operation = mpi::AtomicOperation::replace,
                                 .is_compare_swap = true,
                                 .compared = compared,
                                 .call = call,
                                 .looks = looks},
                                desired, expected, order_);
        else place_.compare_swap(mpi::atomic_type_of<Bits>(), &expected, &desired, &found, order_, looks);
        return found;
    }

    AtomicPlace place_;
    std::memory_order order_;
};

} // namespace detail::window
} // namespace lapwing
