#pragma once

#include <cstdint>

namespace lapwing::detail::messages {

/// Tags of the engine's messages: packets of requests, packets of replies, and the data of each bulk transfer.
inline constexpr int request_tag = 0;
inline constexpr int reply_tag = 1;
inline constexpr int first_bulk_tag = 2;

/// Data of bulk gets and bulk puts may flow between a pair of ranks in the same direction, the one numbered by the
/// receiver, the other by the sender: so they take tags of different parity.
[[nodiscard]] constexpr int bulk_get_tag(std::uint32_t number) { return first_bulk_tag + static_cast<int>(2 * number); }
[[nodiscard]] constexpr int bulk_put_tag(std::uint32_t number) {
    return first_bulk_tag + static_cast<int>(2 * number + 1);
}

/// The largest number whose tags do not exceed MPI's largest one.
[[nodiscard]] constexpr std::uint32_t largest_bulk_number(int largest_tag) {
    return static_cast<std::uint32_t>(largest_tag - first_bulk_tag - 1) / 2;
}

} // namespace lapwing::detail::messages
