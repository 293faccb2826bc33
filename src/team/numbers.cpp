// Team's calls for single numbers, as far as they are not inline.
#include "src/team/team_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/team.hpp>

#include <fmt/format.h>

namespace lapwing {

void Team::throw_sum_too_large(std::int64_t sum, std::size_t bits, bool is_signed) const {
    throw RangeError{
        fmt::format("{}: Team::sum: the sum {} of {} ranks does not fit into a{} integer of {} bits; pass a "
                    "std::int64_t or a double",
                    who(), sum, size_, is_signed ? " signed" : "n unsigned", bits)};
}

} // namespace lapwing
