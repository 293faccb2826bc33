#pragma once

#include "bindings/c/array.hpp"

#include <lapwing/c/prefetch.h>

namespace lapwing::detail::bindings {

/// A pattern, and a copy of the objects that it points to. Throws RangeError and UsageError.
[[nodiscard]] AnyArray::KeptPattern pattern_of(const ArrayInside& inside, const lapwing_pattern* given);

} // namespace lapwing::detail::bindings
