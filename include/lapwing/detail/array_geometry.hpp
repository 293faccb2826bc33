// Room: slices
#pragma once

#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/detail/user_map.hpp>
#include <lapwing/extents.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lapwing {
class Team;

namespace detail::window {
class WindowState;
} // namespace detail::window

namespace detail::slices {

/// What code that does not know the type and the dimensions of an array needs of it. It lives as long as the array is
/// open, goes where that is moved, and is what tells slices and plans whether it is.
struct ArrayGeometry {
    Team* team = nullptr;
    window::WindowState* window = nullptr;
    std::weak_ptr<const void> window_outlives_it = {}; ///< expires with the window; empty: that is the array's own
    std::string name;                                  ///< as messages have it
    std::uint64_t element_bytes = 0;
    std::size_t dimensions = 0;
    std::array<std::int64_t, max_dimensions> extents{};
    std::array<distribution::DimensionMap, max_dimensions> maps{}; ///< unless the distribution is the program's own
    std::uint64_t origin = 0;                                      ///< of the map
    std::shared_ptr<const distribution::UserPlaces> user_map;      ///< in place of the maps
    bool replicated = false;

    [[nodiscard]] std::span<const std::int64_t> used_extents() const noexcept { return {extents.data(), dimensions}; }
};

} // namespace detail::slices
} // namespace lapwing
