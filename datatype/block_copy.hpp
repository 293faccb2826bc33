#pragma once

#include <lapwing/detail/layout_cursor.hpp>

#include <cstddef>
#include <cstdint>

namespace lapwing::detail::datatype {

/// Packs the next `bytes` bytes of a layout of memory at `base`, and moves the cursor past them.
void pack(std::byte* packed, const std::byte* base, LayoutCursor& cursor, std::uint64_t bytes) noexcept;
/// The reverse.
void unpack(std::byte* base, LayoutCursor& cursor, const std::byte* packed, std::uint64_t bytes) noexcept;
/// All bytes of one layout to another.
void copy(std::byte* to, const Layout& target, const std::byte* from, const Layout& source);

} // namespace lapwing::detail::datatype
