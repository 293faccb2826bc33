// Room: slices
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace lapwing {
class Team;

/// The kind of elements in a checkpoint, as far as it is recorded in the file.
enum class ElementKind : std::uint32_t {
    floating_point = 1,
    signed_integer = 2,
    unsigned_integer = 3,
    other = 4, ///< bytes: structures, for example, whose type only the program knows
};

/// For save() and load(): called on rank 0 of the team after each round, with the bytes of elements that are done and
/// the total. If it throws, the call ends on all ranks.
struct CheckpointOptions {
    std::function<void(std::uint64_t done, std::uint64_t all)> progress = {}; ///< if empty, nothing is called
};

namespace detail::slices {

class SliceBase;

template <class T>
[[nodiscard]] constexpr ElementKind element_kind() noexcept {
    if constexpr (std::floating_point<T>) return ElementKind::floating_point;
    else if constexpr (std::signed_integral<T>) return ElementKind::signed_integer;
    else if constexpr (std::integral<T>) return ElementKind::unsigned_integer;
    else return ElementKind::other;
}

/// Collective. Writes the elements of a slice, in row-major order, to a file that replaces `path` when it is complete.
void save(const SliceBase& slice, ElementKind kind, const std::string& path, const CheckpointOptions& options);
/// Collective. Reads the elements from a file with the slice's extents and kind.
void load(const SliceBase& slice, ElementKind kind, const std::string& path, const CheckpointOptions& options);
/// Collective. Reads the extents of the `dimensions` dimensions of a file with such elements.
void read_extents(Team& team, const std::string& path, ElementKind kind, std::uint64_t element_bytes,
                  std::size_t dimensions, std::int64_t* extents);

} // namespace detail::slices
} // namespace lapwing
