// Room: array
#pragma once

#include <lapwing/rank.hpp>
#include <lapwing/window.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace lapwing {

namespace array {

/// Writes `bytes` bytes to [offset, …) of every rank's part: the write of a replicated element.
void put_to_all(Window& window, Offset offset, const void* value, std::uint64_t bytes);
[[noreturn]] void throw_replicated_atomic(const Window& window, const char* call);

} // namespace array

/// Stands for an element of a GlobalArray, wherever it lives: converts to its value, takes assignments, does atomics.
///
/// It holds where the element is, not what it is, so `auto x = a(i, j)` is a reference and `double x = a(i, j)` a value.
/// It must not outlive the array, nor a move of it. A read is a load, or a blocking get; a write is a store, or a put
/// that is complete locally (see the consistency table). Compound assignments are a read and a write, not atomic.
template <class T>
class ElementReference {
public:
    using value_type = T;

    /// `address` is null when the element cannot be loaded and stored. Made by GlobalArray.
    ElementReference(Window& window, T* address, Rank owner, std::uint64_t offset, bool replicated) noexcept
        : window_{&window}, address_{address}, offset_{offset}, owner_{owner}, replicated_{replicated} {}
    ElementReference(const ElementReference&) noexcept = default;

    [[nodiscard]] T get() const {
        if (address_ != nullptr) [[likely]]
            return *address_;
        return window_->get<T>(owner_, Offset::of<T>(offset_));
    }
    operator T() const { return get(); }

    void set(const T& value) const {
        if (address_ != nullptr && !replicated_) [[likely]]
            *address_ = value;
        else
            set_far(value);
    }
    const ElementReference& operator=(const T& value) const {
        set(value);
        return *this;
    }
    /// Assigns the value, as `a(i) = b(j)` reads.
    ElementReference& operator=(const ElementReference& other) {
        set(other.get());
        return *this;
    }
    template <class U>
        requires(!std::is_same_v<U, T>)
    const ElementReference& operator=(const ElementReference<U>& other) const {
        set(static_cast<T>(other.get()));
        return *this;
    }

    template <class U>
    const ElementReference& operator+=(const U& operand) const {
        set(static_cast<T>(get() + operand));
        return *this;
    }
    template <class U>
    const ElementReference& operator-=(const U& operand) const {
        set(static_cast<T>(get() - operand));
        return *this;
    }
    template <class U>
    const ElementReference& operator*=(const U& operand) const {
        set(static_cast<T>(get() * operand));
        return *this;
    }
    template <class U>
    const ElementReference& operator/=(const U& operand) const {
        set(static_cast<T>(get() / operand));
        return *this;
    }

    /// Atomics, as those of Window: the value from before is returned. Throw UsageError for replicated arrays.
    /// Cost: a processor atomic (same node) or one round trip.
    T fetch_add(T operand, std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T>
    {
        return home("fetch_add").template fetch_add<T>(owner_, offset(), operand, order);
    }
    T fetch_and(T operand, std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T> && std::is_integral_v<T>
    {
        return home("fetch_and").template fetch_and<T>(owner_, offset(), operand, order);
    }
    T fetch_or(T operand, std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T> && std::is_integral_v<T>
    {
        return home("fetch_or").template fetch_or<T>(owner_, offset(), operand, order);
    }
    T fetch_xor(T operand, std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T> && std::is_integral_v<T>
    {
        return home("fetch_xor").template fetch_xor<T>(owner_, offset(), operand, order);
    }
    T fetch_min(T operand, std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T>
    {
        return home("fetch_min").template fetch_min<T>(owner_, offset(), operand, order);
    }
    T fetch_max(T operand, std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T>
    {
        return home("fetch_max").template fetch_max<T>(owner_, offset(), operand, order);
    }
    T swap(T value, std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T>
    {
        return home("swap").template swap<T>(owner_, offset(), value, order);
    }
    /// Writes `desired` if the element equals `expected` bit by bit; returns the value from before either way.
    T compare_swap(T expected, T desired, std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T>
    {
        return home("compare_swap").template compare_swap<T>(owner_, offset(), expected, desired, order);
    }
    [[nodiscard]] T atomic_read(std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T>
    {
        return home("atomic_read").template atomic_read<T>(owner_, offset(), order);
    }
    void atomic_write(T value, std::memory_order order = std::memory_order_relaxed) const
        requires AtomicValue<T>
    {
        home("atomic_write").template atomic_write<T>(owner_, offset(), value, order);
    }

    /// The rank that holds the element.
    [[nodiscard]] Rank owner() const noexcept { return owner_; }

private:
    [[nodiscard]] Offset offset() const noexcept { return Offset::of<T>(offset_); }
    [[nodiscard]] Window& home(const char* call) const {
        if (replicated_) [[unlikely]]
            array::throw_replicated_atomic(*window_, call);
        return *window_;
    }
    void set_far(const T& value) const {
        if (replicated_)
            array::put_to_all(*window_, offset(), &value, sizeof(T));
        else
            window_->put(owner_, offset(), value);
    }

    Window* window_;
    T* address_;
    std::uint64_t offset_;
    Rank owner_;
    bool replicated_;
};

} // namespace lapwing
