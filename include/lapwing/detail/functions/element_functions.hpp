// Room: functions
#pragma once

#include <atomic>
#include <type_traits>

namespace lapwing::detail::functions {

// What an aggregator has run at an element's owner.
template <class T>
struct ReadElement {
    T operator()(const T& element) const { return element; }
};
template <class T>
struct WriteElement {
    void operator()(T& element, const T& value) const { element = value; }
};
/// Atomic, since ranks of the owner's node add to the element, too.
template <class T>
struct AddToElement {
    void operator()(T& element, T value) const {
        if constexpr (std::is_arithmetic_v<T>) std::atomic_ref<T>{element}.fetch_add(value, std::memory_order_relaxed);
        else element = static_cast<T>(element + value);
    }
};

} // namespace lapwing::detail::functions
