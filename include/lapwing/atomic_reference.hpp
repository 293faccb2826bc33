// Room: window
#pragma once

#include <lapwing/detail/atomic.hpp>
#include <lapwing/detail/atomic_place.hpp>
#include <lapwing/detail/atomic_values.hpp>
#include <lapwing/rank.hpp>

#include <atomic>

namespace lapwing {

/// Atomics on the value at an offset of a rank's part of a window, or on an element of an array: Window::atomic and
/// ElementReference::atomic return one. Like std::atomic_ref it refers to the value and does not hold it. It is invalid
/// once the window is moved or destroyed; after a close its functions throw UsageError. That of an element is of
/// another one, or of none, once the array is resized or redistributed.
///
/// The offset is a multiple of the value's size, unless that is 16. All functions are atomic with respect to all
/// atomics on the window, but not to puts and gets.
///
/// T is an integer, bool, an enumeration or a floating-point number of at most 8 bytes. Values of 1 and 2 bytes are
/// changed by compare-and-swap of the 4 bytes that contain them, all of which must be in the part: two round trips, or
/// more under contention. A simultaneous put to the other bytes of these 4 may be lost.
///
/// T may also be a trivially copyable structure of 4 or 8 bytes, such as std::complex<float>, or any such type of 16
/// bytes: a complex number, long double, a pointer with a tag. These are compared bit by bit, so a structure must have
/// no padding. They have the operations for which the type has operators (+ for add, < for min and max, &, | and ^ for
/// bits), carried out here: a read and a compare-and-swap, or more of them under contention. Those of 16 bytes are read
/// and written by their owner, which takes a message and its answer also within a node; they are atomic with respect to
/// each other, but not to atomics on parts of the value. The owner also carries out min and max of a
/// LocatedValue<T, 1>, T a number of 8 bytes, in one message and its answer.
///
/// All functions throw RangeError; PeerLeftError if the target has left.
template <class T>
class AtomicReference {
public:
    using value_type = T;

    /// Made by Window and ElementReference.
    AtomicReference(Window& window, Rank target, Offset offset) noexcept : place_{window, target, offset} {}

    /// With a result: the value before. `order` orders this rank's other operations on the window: release completes
    /// its puts first, acquire makes later reads see what was released. If any rank has left, atomics that change
    /// nothing, such as load, also throw PeerLeftError when they return the same value to a thread a second time at one
    /// place, since the thread may be polling for something that can no longer happen. (Use get to read the data of the
    /// remaining ranks.) Cost: in a team without the rma path a processor atomic (node-local) or one round trip; in a
    /// team with it an atomic of MPI and a flush, also on the rank's own part, since the two kinds are not atomic with
    /// respect to each other.
    T fetch_add(T operand, std::memory_order order = std::memory_order_relaxed) const {
        return fetch<Use::sum>(Operation::add, operand, order);
    }
    T fetch_and(T operand, std::memory_order order = std::memory_order_relaxed) const {
        return fetch<Use::logic>(Operation::bit_and, operand, order);
    }
    T fetch_or(T operand, std::memory_order order = std::memory_order_relaxed) const {
        return fetch<Use::logic>(Operation::bit_or, operand, order);
    }
    T fetch_xor(T operand, std::memory_order order = std::memory_order_relaxed) const {
        return fetch<Use::logic>(Operation::bit_xor, operand, order);
    }
    T fetch_min(T operand, std::memory_order order = std::memory_order_relaxed) const {
        return fetch<Use::extremes>(Operation::min, operand, order);
    }
    T fetch_max(T operand, std::memory_order order = std::memory_order_relaxed) const {
        return fetch<Use::extremes>(Operation::max, operand, order);
    }
    T exchange(T desired, std::memory_order order = std::memory_order_relaxed) const {
        return fetch<Use::bits>(Operation::replace, desired, order);
    }
    [[nodiscard]] T load(std::memory_order order = std::memory_order_relaxed) const {
        return fetch<Use::bits>(Operation::read, T{}, order);
    }
    /// As exchange, without the result.
    void store(T desired, std::memory_order order = std::memory_order_relaxed) const { (void)exchange(desired, order); }
    /// Writes `desired` if the value equals `expected`, compared bit by bit; returns the value before in either case.
    T compare_swap(T expected, T desired, std::memory_order order = std::memory_order_relaxed) const {
        T result{};
        if constexpr (!detail::window::check_atomic<T, Use::bits>()) {
            // The compiler has said why.
        } else if constexpr (detail::window::BitsAtomicValue<T>) {
            result = detail::window::BitsAtomics<T>{place_, order}.compare_swap(expected, desired);
        } else {
            const auto old = static_cast<Carrier>(expected);
            const auto fresh = static_cast<Carrier>(desired);
            Carrier before{};
            place_.compare_swap(detail::window::number_type_of<Carrier>(), &old, &fresh, &before, order);
            result = static_cast<T>(before);
        }
        return result;
    }

    /// Without a result: complete like a put, at the next release or flush. Those to other nodes are gathered for each
    /// rank and travel hundreds in a message, as long as consecutive ones to that rank have the same operation and
    /// type; memory for them is bounded. Those of 1, 2 and 16 bytes and of structures wait for their results, as
    /// fetch_add does. Cost: a few nanoseconds, and a share of a message; a processor atomic on the same node.
    void add(T operand) const { update<Use::sum>(Operation::add, operand); }
    void bit_and(T operand) const { update<Use::logic>(Operation::bit_and, operand); }
    void bit_or(T operand) const { update<Use::logic>(Operation::bit_or, operand); }
    void bit_xor(T operand) const { update<Use::logic>(Operation::bit_xor, operand); }
    void min(T operand) const { update<Use::extremes>(Operation::min, operand); }
    void max(T operand) const { update<Use::extremes>(Operation::max, operand); }

private:
    using Use = detail::window::AtomicUse;
    using Operation = detail::mpi::AtomicOperation;
    using Carrier = typename detail::window::Carrier<T>::type;

    template <Use use>
    T fetch(Operation operation, T operand, std::memory_order order) const {
        T result{};
        if constexpr (!detail::window::check_atomic<T, use>()) {
            // The compiler has said why.
        } else if constexpr (detail::window::BitsAtomicValue<T>) {
            result = detail::window::BitsAtomics<T>{place_, order}.template fetch<use>(operation, operand);
        } else {
            const auto value = static_cast<Carrier>(operand);
            Carrier before{};
            place_.fetch(operation, detail::window::number_type_of<Carrier>(), &value, &before, order);
            result = static_cast<T>(before);
        }
        return result;
    }
    template <Use use>
    void update(Operation operation, T operand) const {
        if constexpr (AtomicValue<T> && detail::window::check_atomic<T, use>())
            place_.update(operation, detail::mpi::atomic_type_of<T>(), &operand);
        else (void)fetch<use>(operation, operand, std::memory_order_relaxed);
    }

    detail::window::AtomicPlace place_;
};

} // namespace lapwing
