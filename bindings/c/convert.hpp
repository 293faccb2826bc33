#pragma once

#include <lapwing/assignment.hpp>
#include <lapwing/c/type.h>

namespace lapwing::detail::bindings {

/// What an assignment with `operation` does to elements of type `target` with elements of type `source`; empty: it
/// copies them. Throws RangeError for what is not an operation, and UsageError for types that have none.
[[nodiscard]] slices::ApplyValues conversion(lapwing_type target, lapwing_type source, int operation);

} // namespace lapwing::detail::bindings
