#pragma once

#include "bindings/c/handle.hpp"

#include <lapwing/c/layout.h>
#include <lapwing/layout.hpp>
#include <lapwing/range.hpp>

#include <utility>

struct lapwing_layout : lapwing::detail::bindings::Object<lapwing_layout> {
    static constexpr const char* object_name = "layout";

    explicit lapwing_layout(lapwing::Layout made) noexcept : layout{std::move(made)} {}

    lapwing::Layout layout;
};

namespace lapwing::detail::bindings {

[[nodiscard]] inline const Layout& layout_of(const lapwing_layout* layout) { return use(layout).layout; }
/// Throws RangeError unless there are from 1 to 8.
void require_dimensions(int dimensions);
/// A range with a stride of at least 1 and indices within 64 bits. Throws RangeError.
[[nodiscard]] Range range_of(const lapwing_range& range, int dimension);

} // namespace lapwing::detail::bindings
