// Copies between layouts of which one follows the rows of a matrix and the other its columns, and of similar
// layouts.
#include "datatype/block_copy.hpp"

#include <lapwing/layout.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace lapwing;

namespace {

struct Matrix {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::uint64_t element = 0;    ///< bytes
    std::uint64_t row_gap = 0;    ///< elements between rows
    std::int64_t column_step = 1; ///< elements from column to column, may be negative
};

/// Row by row.
[[nodiscard]] Layout by_rows(const Matrix& m) {
    const std::uint64_t step = static_cast<std::uint64_t>(m.column_step < 0 ? -m.column_step : m.column_step);
    const std::uint64_t row = m.columns * step + m.row_gap;
    const auto element = static_cast<std::int64_t>(m.element);
    const std::int64_t first = m.column_step < 0 ? static_cast<std::int64_t>((m.columns - 1) * step) * element : 0;
    const Layout::Dimension dimensions[] = {{m.rows, static_cast<std::int64_t>(row) * element},
                                            {m.columns, m.column_step * element}};
    return Layout::strided(dimensions, m.element, first);
}
/// Column by column, of the transposed matrix: the same number of elements.
[[nodiscard]] Layout by_columns(const Matrix& m) {
    const std::uint64_t row = m.rows + m.row_gap; // one row for each column of the other
    const auto element = static_cast<std::int64_t>(m.element);
    const Layout::Dimension dimensions[] = {{m.rows, element}, {m.columns, static_cast<std::int64_t>(row) * element}};
    return Layout::strided(dimensions, m.element);
}

/// Byte by byte.
void copy_plainly(std::vector<std::byte>& to, const Layout& target, const std::vector<std::byte>& from,
                  const Layout& source) {
    LayoutCursor there{target};
    LayoutCursor here{source};
    while (!there.done())
        to[static_cast<std::size_t>(there.next(1).offset)] = from[static_cast<std::size_t>(here.next(1).offset)];
}

} // namespace

TEST_CASE("rows become columns, at every size of elements and of the matrix") {
    for (const std::uint64_t element : {1U, 2U, 3U, 4U, 8U, 12U, 16U, 24U, 63U})
        for (const Matrix& m :
             {Matrix{1, 40, element}, Matrix{3, 100, element}, Matrix{4, 70, element}, Matrix{33, 32, element, 3},
              Matrix{100, 65, element, 1}, Matrix{65, 100, element, 7, -1}, Matrix{520, 37, element},
              Matrix{37, 520, element, 0, 2}}) {
            INFO(m.rows << " x " << m.columns << " of " << element << " bytes, step " << m.column_step);
            const Layout rows = by_rows(m);
            const Layout columns = by_columns(m);
            REQUIRE(rows.bytes() == columns.bytes());
            std::vector<std::byte> source(static_cast<std::size_t>(std::max(rows.upper(), columns.upper())));
            for (std::size_t k = 0; k < source.size(); ++k) source[k] = static_cast<std::byte>(k * 37 + (k >> 8));
            for (const bool to_columns : {false, true}) {
                const Layout& from = to_columns ? rows : columns;
                const Layout& to = to_columns ? columns : rows;
                std::vector<std::byte> expected(source.size(), std::byte{0xee});
                std::vector<std::byte> found = expected;
                copy_plainly(expected, to, source, from);
                detail::datatype::copy(found.data(), to, source.data(), from);
                CHECK((found == expected));
                // The same by way of packed bytes, in pieces that cut rows and elements.
                std::vector<std::byte> packed(from.bytes());
                LayoutCursor here{from};
                LayoutCursor there{to};
                std::vector<std::byte> unpacked(source.size(), std::byte{0xee});
                for (std::uint64_t done = 0; done < from.bytes();) {
                    const std::uint64_t piece = std::min<std::uint64_t>(from.bytes() - done, 4099);
                    detail::datatype::pack(packed.data() + done, source.data(), here, piece);
                    detail::datatype::unpack(unpacked.data(), there, packed.data() + done, piece);
                    done += piece;
                }
                CHECK((unpacked == expected));
            }
        }
}

namespace {

/// In both directions, beside copies byte by byte.
void check_copies(const Layout& dense, const Layout& other) {
    for (const bool to_dense : {false, true}) {
        const Layout& from = to_dense ? other : dense;
        const Layout& to = to_dense ? dense : other;
        std::vector<std::byte> source(static_cast<std::size_t>(std::max(dense.upper(), other.upper())));
        for (std::size_t k = 0; k < source.size(); ++k) source[k] = static_cast<std::byte>(k * 37 + (k >> 8));
        std::vector<std::byte> expected(source.size(), std::byte{0xee});
        std::vector<std::byte> found = expected;
        copy_plainly(expected, to, source, from);
        detail::datatype::copy(found.data(), to, source.data(), from);
        CHECK((found == expected));
    }
}

} // namespace

TEST_CASE("block-cyclic matrices are transposed, on either side, whatever else is around them") {
    using Dimension = Layout::Dimension;
    for (const std::uint64_t element : {2U, 4U, 8U, 16U, 24U})
        for (const std::uint64_t block : {1U, 3U, 8U, 16U})
            for (const std::int64_t sign : {1, -1})
                for (const std::uint64_t planes : {1U, 3U}) {
                    INFO("blocks of " << block << ", elements of " << element << " bytes, sign " << sign << ", "
                                      << planes << " planes");
                    // Rows of one side are columns of the other. There, blocks of both are distributed over two ranks,
                    // of which one has gaps where the other has its blocks.
                    const auto e = static_cast<std::int64_t>(element);
                    const auto b = static_cast<std::int64_t>(block);
                    constexpr std::int64_t rounds = 5;
                    const std::int64_t rows = 37;
                    const std::int64_t columns = rounds * b;
                    const std::int64_t dealt_plane = 2 * columns * rows * e;
                    const Dimension by_rows[] = {{planes, rows * columns * e},
                                                 {static_cast<std::uint64_t>(rows), columns * e},
                                                 {static_cast<std::uint64_t>(rounds), b * e},
                                                 {block, e}};
                    const Dimension transposed[] = {{planes, dealt_plane},
                                                    {static_cast<std::uint64_t>(rows), sign * e},
                                                    {static_cast<std::uint64_t>(rounds), 2 * b * rows * e},
                                                    {block, rows * e}};
                    const std::int64_t first = sign < 0 ? (rows - 1) * e : 0;
                    const Layout dense = Layout::strided(by_rows, element);
                    const Layout dealt = Layout::strided(transposed, element, first);
                    // The same with offsets instead of a stride.
                    std::vector<std::int64_t> plane_offsets;
                    for (std::uint64_t k = planes; k-- > 0;)
                        plane_offsets.push_back(static_cast<std::int64_t>(k) * dealt_plane);
                    const Layout listed =
                        Layout::strided(std::span{transposed}.subspan(1), element, first).repeat_at(plane_offsets);
                    for (const Layout* other : {&dealt, &listed}) check_copies(dense, *other);
                }
}
