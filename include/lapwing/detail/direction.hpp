// Room: transport
#pragma once

#include <cstdint>
#include <string_view>

namespace lapwing::detail::transport {

/// Which way the bytes of a transfer go: a put writes the memory of its target, a get reads it.
enum class Direction : std::uint8_t { put, get };

[[nodiscard]] constexpr std::string_view name(Direction direction) {
    return direction == Direction::put ? "put" : "get";
}

} // namespace lapwing::detail::transport
