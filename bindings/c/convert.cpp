#include "bindings/c/convert.hpp"

#include "bindings/c/type.hpp"

#include <lapwing/c/slice.h>
#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <complex>
#include <type_traits>

namespace lapwing::detail::bindings {
namespace {

[[noreturn]] void throw_no_conversion(lapwing_type target, lapwing_type source, const char* remedy) {
    throw UsageError{fmt::format("the target has elements of type {}, and the source of type {}; {}", text_of(target),
                                 text_of(source), remedy)};
}

/// Converts numbers of one type to another, as C does.
template <class T, class U>
slices::ApplyValues converted(lapwing_type target, lapwing_type source) {
    if constexpr (is_complex<U> && !is_complex<T>) {
        throw_no_conversion(target, source,
                            "a complex number has no value that is real; pass a function to lapwing_slice_apply()");
    } else if constexpr (is_complex<T>) {
        using Part = typename T::value_type;
        if constexpr (is_complex<U>)
            return slices::apply_values<T, U>(
                [](T& to, const U& value) { to = {static_cast<Part>(value.real()), static_cast<Part>(value.imag())}; });
        else return slices::apply_values<T, U>([](T& to, const U& value) { to = static_cast<Part>(value); });
    } else {
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): a number, no character
        return slices::apply_values<T, U>([](T& to, const U& value) { to = static_cast<T>(value); });
    }
}

template <class T>
slices::ApplyValues operated(lapwing_type type, int operation) {
    switch (operation) {
    case LAPWING_ADD: return slices::apply_values<T, T>([](T& to, const T& value) { to = static_cast<T>(to + value); });
    case LAPWING_SUBTRACT:
        return slices::apply_values<T, T>([](T& to, const T& value) { to = static_cast<T>(to - value); });
    case LAPWING_MULTIPLY:
        return slices::apply_values<T, T>([](T& to, const T& value) { to = static_cast<T>(to * value); });
    default: break;
    }
    if constexpr (is_complex<T>) {
        throw_no_number(type, "integers or floating point");
    } else {
        if (operation == LAPWING_MIN)
            return slices::apply_values<T, T>([](T& to, const T& value) {
                if (value < to) to = value;
            });
        return slices::apply_values<T, T>([](T& to, const T& value) {
            if (to < value) to = value;
        });
    }
}

} // namespace

slices::ApplyValues conversion(lapwing_type target, lapwing_type source, int operation) {
    switch (operation) {
    case LAPWING_REPLACE:
        if (target == source) return {};
        if (!is_number(target) || !is_number(source))
            throw_no_conversion(target, source, "bytes are assigned to as many bytes, and numbers to numbers");
        return with_any_number(target, [&]<class T>(T) {
            return with_any_number(source, [&]<class U>(U) { return converted<T, U>(target, source); });
        });
    case LAPWING_ADD:
    case LAPWING_SUBTRACT:
    case LAPWING_MULTIPLY:
    case LAPWING_MIN:
    case LAPWING_MAX:
        if (target != source)
            throw_no_conversion(target, source,
                                "this operation is for one type; pass a function to lapwing_slice_apply()");
        return with_any_number(target, [&]<class T>(T) { return operated<T>(target, operation); });
    default:
        throw RangeError{fmt::format("the argument 'operation' is {}; pass LAPWING_REPLACE, LAPWING_ADD, "
                                     "LAPWING_SUBTRACT, LAPWING_MULTIPLY, LAPWING_MIN or "
                                     "LAPWING_MAX",
                                     operation)};
    }
}

} // namespace lapwing::detail::bindings
