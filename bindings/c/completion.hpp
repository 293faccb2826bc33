#pragma once

#include "bindings/c/handle.hpp"

#include <lapwing/c/completion.h>
#include <lapwing/completion.hpp>

#include <utility>

struct lapwing_completion : lapwing::detail::bindings::Object<lapwing_completion> {
    static constexpr const char* object_name = "completion";

    explicit lapwing_completion(lapwing::Completion under_way) noexcept : transfer{std::move(under_way)} {}

    lapwing::Completion transfer;
};

namespace lapwing::detail::bindings {

/// Hands a transfer to the program: null where nothing is under way.
inline void give(Completion transfer, lapwing_completion** completion) {
    *completion = transfer.known_complete() ? nullptr : Handles<lapwing_completion>::make(std::move(transfer));
}

} // namespace lapwing::detail::bindings
