#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::support {

/// A number for bytes by which ranks tell whether they have the same: FNV-1a (Fowler, Noll and Vo), of which the last
/// bits are mixed again, since numbers differ in few. It tells accidents, and keeps nobody from making one.
[[nodiscard]] constexpr std::uint64_t hash_of(std::span<const std::byte> bytes) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

} // namespace lapwing::detail::support
