#include <lapwing/extents.hpp>

#include <lapwing/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace lapwing::datatype {

void throw_value_too_large(std::uint64_t value) {
    throw RangeError{fmt::format("index or extent {} is above 2^63 - 1, the largest", value)};
}

void throw_extent_negative(std::int64_t value) {
    throw RangeError{fmt::format("extent {} is negative; pass the number of elements in each dimension", value)};
}

std::string index_text(const std::int64_t* index, std::size_t dimensions) {
    return fmt::format("({})", fmt::join(std::span{index, dimensions}, ", "));
}

} // namespace lapwing::datatype
