#pragma once

#include "window/upper_rooms.hpp"

namespace lapwing::detail::pipeline {

/// Plans that are used once.
[[nodiscard]] const window::LayoutTransfers& layout_transfers() noexcept;

} // namespace lapwing::detail::pipeline
