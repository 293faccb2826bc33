// Room: distribution
#pragma once

#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/location.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

/// How a rectangular domain of an array becomes transfers: it is cut into sections, each at one owner and regular in
/// memory at both ends, and the sections into runs that are contiguous at the owner. Nothing here is of the size of the
/// team.
namespace lapwing::detail::distribution {

/// One loop over a section: `count` elements, or groups of them, this many elements apart at the owner and in the
/// caller's buffer.
struct SectionLevel {
    std::uint64_t count = 1;
    std::uint64_t owner_stride = 1;
    std::uint64_t buffer_stride = 1;
};

/// Blocks in a dimension, and elements in a block.
inline constexpr std::size_t max_section_levels = 2 * max_dimensions;

/// Elements of a domain that one rank owns, regular at both ends. Levels are nested, the last one fastest; a single
/// element may have none. Offsets are in elements.
struct Section {
    int owner = 0;
    std::uint64_t owner_offset = 0;
    std::uint64_t buffer_offset = 0;
    std::span<const SectionLevel> levels;
};

/// What is done with the sections of a domain, one by one.
class SectionVisitor {
public:
    virtual void visit(const Section& section) = 0;

protected:
    ~SectionVisitor() = default;
};

/// Where the elements of a domain are in the caller's buffer: element k of the domain (one position per dimension) at
/// offset + sum of k[d] * strides[d], in elements.
template <std::size_t N>
struct BufferShape {
    std::uint64_t offset = 0;
    std::array<std::uint64_t, N> strides{};

    /// A dense row-major buffer.
    [[nodiscard]] static BufferShape row_major(const Domain<N>& domain) noexcept {
        BufferShape shape;
        std::uint64_t stride = 1;
        for (std::size_t d = N; d-- > 0;) {
            shape.strides[d] = stride;
            stride *= domain.range(d).size();
        }
        return shape;
    }
};

/// Cuts a domain, which must be within the extents, over a block-cyclic map. Every element is in exactly one section.
/// Allocates nothing; cost is proportional to the sections. In each dimension these are the processes that the domain
/// touches (with a stride s that does not divide what one round deals, up to s times as many, and never more than the
/// blocks) and the two blocks at the domain's ends where they are cut. `origin`: of the map.
void cut(std::span<const DimensionMap> dimensions, std::uint64_t origin, std::span<const Range> domain,
         std::uint64_t buffer_offset, std::span<const std::uint64_t> buffer_strides, SectionVisitor& visitor);

/// The same over any other map, row by row, with as many calls of locate() as contiguous runs. What the map does not
/// store is passed over.
template <std::size_t N, class Map>
void cut_rows(const Map& map, const Domain<N>& domain, const BufferShape<N>& buffer, SectionVisitor& visitor) {
    if (domain.empty()) return;
    std::array<Range, N> row_starts = domain.ranges();
    const Range row = row_starts[N - 1];
    row_starts[N - 1] = Range::strided(row.first(), 1, 1);
    const auto step = static_cast<std::uint64_t>(row.stride());
    std::array<std::uint64_t, N> position{}; // of the row in the domain
    for (Index<N> index : Domain<N>{row_starts}) {
        std::uint64_t row_offset = buffer.offset;
        for (std::size_t d = 0; d + 1 < N; ++d) row_offset += position[d] * buffer.strides[d];
        for (std::uint64_t k = 0; k < row.size();) {
            index[N - 1] = row[k];
            const Location location = map.locate(index);
            SectionLevel level;
            level.count = std::min((location.contiguous - 1) / step + 1, row.size() - k);
            level.owner_stride = step;
            level.buffer_stride = buffer.strides[N - 1];
            if (location.owner.value >= 0)
                visitor.visit(
                    {location.owner.value, location.offset, row_offset + k * buffer.strides[N - 1], {&level, 1}});
            k += level.count;
        }
        for (std::size_t d = N - 1; d-- > 0;) {
            if (++position[d] < domain.range(d).size()) break;
            position[d] = 0;
        }
    }
}

} // namespace lapwing::detail::distribution
