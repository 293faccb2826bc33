#pragma once

#include <lapwing/assignment.hpp>
#include <lapwing/c/type.h>

namespace lapwing::detail::bindings {

/// What an assignment with `operation` does with elements of type `source` that come to elements of type `target`;
/// empty: it copies them. Throws RangeError for what is no operation, and UsageError for types that have none.
[[nodiscard]] slices::ApplyValues conversion(lapwing_type target, lapwing_type source, int operation);

} // namespace lapwing::detail::bindings
