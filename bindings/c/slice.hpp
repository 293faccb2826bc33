#pragma once

#include "bindings/c/any_array.hpp"
#include "bindings/c/handle.hpp"

#include <lapwing/c/slice.h>
#include <lapwing/c/type.h>

#include <utility>

struct lapwing_slice : lapwing::detail::bindings::Object<lapwing_slice> {
    static constexpr const char* object_name = "slice";

    lapwing_slice(lapwing::detail::bindings::AnySlice made, lapwing_type of) : slice{std::move(made)}, type{of} {}

    lapwing::detail::bindings::AnySlice slice;
    lapwing_type type;
};
