#include <lapwing/extents.hpp>

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace lapwing::detail::datatype {

void throw_value_too_large(std::uint64_t value) {
    throw RangeError{
        fmt::format("Range: {} is above 2^63 - 1, the largest index; pass smaller bounds (was a negative number "
                    "converted to an unsigned type?)",
                    value)};
}

std::string index_text(const std::int64_t* index, std::size_t dimensions) {
    return fmt::format("({})", fmt::join(std::span{index, dimensions}, ", "));
}

} // namespace lapwing::detail::datatype
