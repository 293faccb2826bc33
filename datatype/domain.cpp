#include <lapwing/domain.hpp>

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <span>

namespace lapwing::detail::datatype {

std::uint64_t checked_size(const Range* ranges, std::size_t dimensions) {
    std::uint64_t size = 1;
    bool overflow = false;
    for (const Range& range : std::span{ranges, dimensions}) {
        // An empty dimension makes the whole empty, however large the others are.
        if (range.empty()) return 0;
        overflow |= __builtin_mul_overflow(size, range.size(), &size);
    }
    if (overflow)
        throw RangeError{
            fmt::format("Domain {}: the number of indices is above 2^64 - 1", domain_text(ranges, dimensions))};
    return size;
}

std::string domain_text(const Range* ranges, std::size_t dimensions) {
    std::string text;
    for (const Range& range : std::span{ranges, dimensions}) {
        if (!text.empty()) text += " x ";
        text += to_string(range);
    }
    return text;
}

} // namespace lapwing::detail::datatype
