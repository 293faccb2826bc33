#pragma once

#include "bindings/c/array.hpp"
#include "bindings/c/handle.hpp"
#include "bindings/c/runtime.hpp"

#include <lapwing/c/aggregator.h>
#include <lapwing/detail/functions/batches.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

struct lapwing_aggregator : lapwing::detail::bindings::Object<lapwing_aggregator> {
    static constexpr const char* object_name = "aggregator";

    explicit lapwing_aggregator(lapwing_runtime* of);

    lapwing::detail::bindings::OnRuntime runtime;
    lapwing::detail::functions::Batches calls;
    lapwing::detail::functions::Batches gets;
    std::vector<const lapwing_array*> arrays{}; ///< that it has accessed since the last flush
    const lapwing::Window* last_window = nullptr;
};
