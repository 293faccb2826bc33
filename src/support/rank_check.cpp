#include "src/support/rank_check.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

namespace lapwing::detail::support {

void throw_no_rank(std::string_view start, Rank rank, int ranks, std::string_view name) {
    throw RangeError{
        fmt::format("{}: {} {} is outside [0, {}); pass a rank of the team", start, name, rank.value, ranks)};
}

} // namespace lapwing::detail::support
