#pragma once

#include "bindings/c/handle.hpp"

#include <lapwing/c/settings.h>
#include <lapwing/settings.hpp>

struct lapwing_settings : lapwing::detail::bindings::Object<lapwing_settings> {
    static constexpr const char* object_name = "settings";

    lapwing::Settings values;
};
