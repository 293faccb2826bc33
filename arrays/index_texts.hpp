#pragma once

#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/range.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace lapwing::detail::arrays {

/// For messages.
[[nodiscard]] inline std::string text(std::span<const std::int64_t> index) {
    return datatype::index_text(index.data(), index.size());
}
[[nodiscard]] inline std::string text(std::span<const Range> domain) {
    return datatype::domain_text(domain.data(), domain.size());
}

} // namespace lapwing::detail::arrays
