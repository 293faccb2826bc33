#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace lapwing::detail::support {

/// FNV-1a (Fowler, Noll and Vo), of bytes or characters, piece by piece. It detects accidental changes, not deliberate
/// ones.
class Fnv1a {
public:
    template <class Byte>
        requires(sizeof(Byte) == 1)
    constexpr void add(std::span<const Byte> bytes) noexcept {
        for (const Byte byte : bytes) value_ = (value_ ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
    [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325;
};
template <class Byte>
    requires(sizeof(Byte) == 1)
[[nodiscard]] constexpr std::uint64_t fnv1a(std::span<const Byte> bytes) noexcept {
    Fnv1a hash;
    hash.add(bytes);
    return hash.value();
}
/// The same for files, to detect damaged text.
[[nodiscard]] constexpr std::uint64_t checksum_of(std::string_view text) noexcept {
    return fnv1a(std::span<const char>{text});
}

/// A hash of bytes by which ranks tell whether they have the same: FNV-1a, with the low bits mixed again, since numbers
/// differ in few of them.
[[nodiscard]] constexpr std::uint64_t hash_of(std::span<const std::byte> bytes) noexcept {
    std::uint64_t hash = fnv1a(bytes);
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

/// The same for a few numbers, at the cost of a multiplication each.
[[nodiscard]] constexpr std::uint64_t hash_of(std::initializer_list<std::uint64_t> numbers) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const std::uint64_t number : numbers) {
        hash = (hash ^ number) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    return hash;
}

} // namespace lapwing::detail::support
