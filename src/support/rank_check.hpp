#pragma once

#include <lapwing/rank.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace lapwing::detail::support {

/// Throws RangeError: "{start}: rank 7 is outside [0, 4); pass a rank of the team", with `name` in place of "rank".
[[noreturn]] void throw_no_rank(std::string_view start, Rank rank, int ranks, std::string_view name);

/// The same unless it is one of a team of so many ranks. `start()` makes the beginning of the message.
template <std::invocable Start>
void require_rank(Rank rank, int ranks, Start&& start, std::string_view name = "rank") {
    if (rank.value < 0 || rank.value >= ranks) [[unlikely]]
        throw_no_rank(start(), rank, ranks, name);
}

/// "18446744073709551612 (with a sign it is -4)": parts are smaller than 2^63 bytes, so that a larger offset may have
/// been a negative number.
[[nodiscard]] std::string text_of(Offset offset);

} // namespace lapwing::detail::support
