// Room: functions
#pragma once

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
template <class T>
struct AddToElement {
    void operator()(T& element, const T& value) const { element = static_cast<T>(element + value); }
};

} // namespace lapwing::detail::functions
