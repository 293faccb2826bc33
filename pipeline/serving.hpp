#pragma once

#include <cstdint>

namespace lapwing::detail::pipeline {

/// Whether the owner of what is transferred serves messages until that is complete.
enum class Serving : std::uint8_t {
    by_thread, ///< if it has a progress thread
    in_call    ///< also without: all ranks are in a collective call that serves
};

} // namespace lapwing::detail::pipeline
