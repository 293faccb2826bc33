#pragma once

#include <lapwing/detail/layout_cursor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// The part of a layout that one message moves, as bytes of that message: the other end packs or unpacks with it. A run
/// of blocks with a stride takes 40 bytes, however many blocks it has; offsets take 2 bytes a block if they ascend in
/// small steps, else mostly 4.
namespace lapwing::detail::datatype {

/// What encode_runs() has written.
struct RunTable {
    std::uint64_t table_bytes = 0; ///< a multiple of 8
    std::uint64_t data_bytes = 0;  ///< of the layout that the table describes
};

/// A table with room for this can describe one run at least, so that encode_runs() gets on.
inline constexpr std::uint64_t least_table_bytes = 64;

/// Describes at most `limit` of the bytes from the cursor on in at most `room` bytes at `table`, and moves the cursor
/// past what it has described. At least one byte where room >= least_table_bytes. Ranks of one job read what others
/// wrote: fields travel as they are in memory. Allocates nothing.
[[nodiscard]] RunTable encode_runs(LayoutCursor& cursor, std::uint64_t limit, std::byte* table,
                                   std::uint64_t room) noexcept;

/// Unpacks `data` to the places that a table names, relative to `base`, where `extent` bytes may be written. Returns
/// false, with nothing or the first runs written, when the table is not valid: it names bytes outside of the extent, or
/// more or fewer than the data has. Allocates nothing.
[[nodiscard]] bool scatter_runs(std::span<const std::byte> table, std::byte* base, std::uint64_t extent,
                                std::span<const std::byte> data) noexcept;
/// Packs into `data`: the reverse.
[[nodiscard]] bool gather_runs(std::span<const std::byte> table, const std::byte* base, std::uint64_t extent,
                               std::span<std::byte> data) noexcept;

} // namespace lapwing::detail::datatype
