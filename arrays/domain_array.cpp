#include <lapwing/domain_array.hpp>

#include "arrays/index_texts.hpp"

#include <lapwing/detail/array_maps.hpp>

#include <fmt/format.h>

namespace lapwing::detail::arrays {

void throw_not_in_domain(const Team& team, std::string_view array, const char* call,
                         std::span<const std::int64_t> index, std::span<const Range> domain) {
    throw RangeError{fmt::format("{}{}: index {} is not in the domain {}", constructor_text(team, array), call,
                                 text(index), text(domain))};
}

void throw_not_in_domain(const Team& team, std::string_view array, const Triplet& indices, std::size_t dimension,
                         const Range& domain) {
    throw RangeError{fmt::format("{}(…): not all of {} in dimension {} are in the domain, which has {} there; a slice "
                                 "has indices of its array, and "
                                 "strides that are multiples of the domain's",
                                 constructor_text(team, array), to_string(indices), dimension, to_string(domain))};
}

void throw_named(const Team& team, std::string_view array, const RangeError& error) {
    const std::string name = constructor_text(team, array);
    const std::string_view text = error.what();
    throw RangeError{text.starts_with(name) ? std::string{text} : fmt::format("{}: {}", name, text)};
}

} // namespace lapwing::detail::arrays
