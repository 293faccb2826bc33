#pragma once

#include "bindings/c/handle.hpp"

#include <lapwing/c/layout.h>
#include <lapwing/layout.hpp>
#include <lapwing/range.hpp>

#include <cstdint>
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
[[noreturn]] void throw_bad_range(const lapwing_range& range, int dimension);
/// Throws RangeError unless the range has a stride of at least 1, or fewer than two indices, and all within 64 bits.
inline void require_range(const lapwing_range& range, int dimension) {
    std::int64_t last = 0;
    const bool fits =
        range.size < 2 || (range.stride >= 1 && range.size - 1 <= INT64_MAX &&
                           !__builtin_mul_overflow(static_cast<std::int64_t>(range.size - 1), range.stride, &last) &&
                           !__builtin_add_overflow(last, range.first, &last));
    if (!fits) [[unlikely]]
        throw_bad_range(range, dimension);
}
/// Throws RangeError as require_range().
[[nodiscard]] Range range_of(const lapwing_range& range, int dimension);

} // namespace lapwing::detail::bindings
