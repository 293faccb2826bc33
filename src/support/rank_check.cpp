#include "src/support/rank_check.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

namespace lapwing::detail::support {

void throw_no_rank(std::string_view start, Rank rank, int ranks, std::string_view name) {
    throw RangeError{
        fmt::format("{}: {} {} is outside [0, {}); pass a rank of the team", start, name, rank.value, ranks)};
}

std::string text_of(Offset offset) {
    const auto with_sign = static_cast<std::int64_t>(offset.bytes);
    if (with_sign >= 0) return fmt::format("{}", offset.bytes);
    return fmt::format("{} (with a sign it is {})", offset.bytes, with_sign);
}

} // namespace lapwing::detail::support
