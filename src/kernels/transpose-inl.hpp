// Transpositions of small elements in registers. Compiled once for each instruction set, hence the guard.
#if defined(LAPWING_DATATYPE_KERNELS_TRANSPOSE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef LAPWING_DATATYPE_KERNELS_TRANSPOSE_INL_HPP
#undef LAPWING_DATATYPE_KERNELS_TRANSPOSE_INL_HPP
#else
#define LAPWING_DATATYPE_KERNELS_TRANSPOSE_INL_HPP
#endif

#include "src/kernels/kernel_set.hpp"
#include "src/kernels/moves-inl.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace lapwing::detail::kernels {
namespace HWY_NAMESPACE {

/// Bytes of a line of memory, and of the registers' parts that shuffles work in.
inline constexpr std::uint64_t line_bytes = 64;
inline constexpr std::uint64_t part_bytes = 16;

/// Element by element.
template <std::size_t Element>
void transpose_plainly(std::byte* to, std::int64_t to_row, const std::byte* from, std::int64_t from_row,
                       std::uint64_t rows, std::uint64_t columns) {
    for (std::uint64_t r = 0; r < rows; ++r, to += Element, from += from_row) {
        std::byte* target = to;
        const std::byte* source = from;
        for (std::uint64_t c = 0; c < columns; ++c, target += to_row, source += Element)
            std::memcpy(target, source, Element);
    }
}

#if HWY_TARGET != HWY_SCALAR
/// 16 bytes of each of as many rows as a vector has parts, `distance` bytes apart.
template <class D>
HWY_INLINE hn::Vec<D> parts_of_rows(D d, const std::byte* from, std::int64_t distance) {
    constexpr std::size_t bytes = hn::MaxLanes(D{}) * sizeof(hn::TFromD<D>);
    if constexpr (bytes == part_bytes) {
        return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(from));
    } else {
        constexpr hn::Half<D> half;
        constexpr auto parts = static_cast<std::int64_t>(bytes / part_bytes);
        return hn::Combine(d, parts_of_rows(half, from + distance * (parts / 2), distance),
                           parts_of_rows(half, from, distance));
    }
}

/// As many rows as a line of memory has elements, by as many columns as 16 bytes have. There are log2(columns) stages,
/// each a perfect shuffle. Each part of a register transposes a square; the squares of one register are above each
/// other in the matrix, so that its result is contiguous.
template <class Word, std::size_t Element, bool Streamed>
HWY_INLINE void transpose_line(std::byte* to, std::int64_t to_row, const std::byte* from, std::int64_t from_row) {
    constexpr hn::ScalableTag<Word> tag;
    constexpr std::size_t side = part_bytes / Element;
    constexpr std::size_t rows_of_vector = HWY_MAX_BYTES / Element;
    for (std::size_t line = 0; line < line_bytes; line += HWY_MAX_BYTES) {
        hn::Vec<decltype(tag)> squares[side];
        for (std::size_t i = 0; i < side; ++i)
            squares[i] = parts_of_rows(tag, from + static_cast<std::int64_t>(i) * from_row,
                                       static_cast<std::int64_t>(side) * from_row);
        for (std::size_t stage = 1; stage < side; stage *= 2) {
            hn::Vec<decltype(tag)> shuffled[side];
            for (std::size_t i = 0; i < side / 2; ++i) {
                shuffled[2 * i] = hn::InterleaveLower(tag, squares[i], squares[i + side / 2]);
                shuffled[2 * i + 1] = hn::InterleaveUpper(tag, squares[i], squares[i + side / 2]);
            }
            for (std::size_t i = 0; i < side; ++i) squares[i] = shuffled[i];
        }
        for (std::size_t i = 0; i < side; ++i) {
            auto* const place = reinterpret_cast<Word*>(to + static_cast<std::int64_t>(i) * to_row + line);
            if constexpr (Streamed) hn::Stream(squares[i], tag, place);
            else hn::StoreU(squares[i], tag, place);
        }
        from += static_cast<std::int64_t>(rows_of_vector) * from_row;
    }
}

template <class Word, std::size_t Element, bool Streamed>
void transpose(std::byte* to, std::int64_t to_row, const std::byte* from, std::int64_t from_row, std::uint64_t rows,
               std::uint64_t columns) {
    constexpr std::uint64_t rows_of_line = line_bytes / Element;
    constexpr std::uint64_t side = part_bytes / Element;
    // A panel of so many rows and columns stays in the second-level cache, and its pages in the TLB.
    constexpr std::uint64_t panel_rows = std::max<std::uint64_t>(128, rows_of_line);
    constexpr std::uint64_t panel_columns = 32;
    // Up to the beginning of the target's lines, if it is the same in all rows: each line is then written at once.
    const std::uint64_t misaligned = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
    const bool aligns = misaligned % Element == 0 && to_row % static_cast<std::int64_t>(line_bytes) == 0;
    if (aligns && misaligned != 0) {
        const std::uint64_t head = std::min(rows, (line_bytes - misaligned) / Element);
        transpose_plainly<Element>(to, to_row, from, from_row, head, columns);
        to += head * Element;
        from += static_cast<std::int64_t>(head) * from_row;
        rows -= head;
    }
    const std::uint64_t whole_rows = rows / rows_of_line * rows_of_line;
    const std::uint64_t whole_columns = columns / side * side;
    const auto panel = [&]<bool Streams>(std::uint64_t top, std::uint64_t left) {
        const std::uint64_t bottom = std::min(whole_rows, top + panel_rows);
        const std::uint64_t right = std::min(whole_columns, left + panel_columns);
        for (std::uint64_t r = top; r < bottom; r += rows_of_line) {
            const std::byte* const source = from + static_cast<std::int64_t>(r) * from_row;
            std::byte* const target = to + r * Element;
            for (std::uint64_t c = left; c < right; c += side)
                transpose_line<Word, Element, Streams>(target + static_cast<std::int64_t>(c) * to_row, to_row,
                                                       source + c * Element, from_row);
        }
    };
    for (std::uint64_t top = 0; top < whole_rows; top += panel_rows)
        for (std::uint64_t left = 0; left < whole_columns; left += panel_columns) {
            if (Streamed && aligns) panel.template operator()<Streamed>(top, left);
            else panel.template operator()<false>(top, left);
        }
    if (Streamed && aligns) hwy::FlushStream(); // see gather_streamed()
    // What is left: less than a line, or less than 16 bytes.
    if (whole_columns < columns)
        transpose_plainly<Element>(to + static_cast<std::int64_t>(whole_columns) * to_row, to_row,
                                   from + whole_columns * Element, from_row, whole_rows, columns - whole_columns);
    transpose_plainly<Element>(to + whole_rows * Element, to_row,
                               from + static_cast<std::int64_t>(whole_rows) * from_row, from_row, rows - whole_rows,
                               columns);
}
#else
template <class Word, std::size_t Element, bool Streamed>
void transpose(std::byte* to, std::int64_t to_row, const std::byte* from, std::int64_t from_row, std::uint64_t rows,
               std::uint64_t columns) {
    transpose_plainly<Element>(to, to_row, from, from_row, rows, columns);
}
#endif

/// [log2 of the bytes of an element, less 1][whether it streams]
constexpr KernelSet::Transposes transposes() {
    return {{{&transpose<std::uint16_t, 2, false>, &transpose<std::uint16_t, 2, true>},
             {&transpose<std::uint32_t, 4, false>, &transpose<std::uint32_t, 4, true>},
             {&transpose<std::uint64_t, 8, false>, &transpose<std::uint64_t, 8, true>},
             {&transpose<std::uint64_t, 16, false>, &transpose<std::uint64_t, 16, true>}}};
}

} // namespace HWY_NAMESPACE
} // namespace lapwing::detail::kernels
HWY_AFTER_NAMESPACE();
#endif
