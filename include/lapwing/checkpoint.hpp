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

/// What a checkpoint holds elements of, as far as files tell it.
enum class ElementKind : std::uint32_t {
    floating_point = 1,
    signed_integer = 2,
    unsigned_integer = 3,
    other = 4, ///< bytes: structs, for example, which only the program knows
};

/// For save() and load(): called on rank 0 of the team after each round, with the bytes of elements that are done and
/// those of all. What it throws ends the call on all ranks.
struct CheckpointOptions {
    std::function<void(std::uint64_t done, std::uint64_t all)> progress = {}; ///< none: nothing is called
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
/// Collective. The elements of a file of the slice's extents and kind.
void load(const SliceBase& slice, ElementKind kind, const std::string& path, const CheckpointOptions& options);
/// Collective. The extents of the `dimensions` dimensions of a file with such elements.
void read_extents(Team& team, const std::string& path, ElementKind kind, std::uint64_t element_bytes,
                  std::size_t dimensions, std::int64_t* extents);

} // namespace detail::slices
} // namespace lapwing
