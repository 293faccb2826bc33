#pragma once

#include "src/distribution/matching.hpp"

#include <lapwing/detail/array_geometry.hpp>
#include <lapwing/detail/slice_shape.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/location.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// What the ranks have in common of two slices, and where it lies in their memory.
namespace lapwing::detail::slices {

/// Where a distribution of the program's own puts an element, within the extents; Location{} if it does not store it.
/// Throws RangeError for a place outside of the owner's part.
[[nodiscard]] Location user_location(const ArrayGeometry& array, const std::int64_t* index);

/// What a buffer has of a dimension whose blocks are dealt to processes in rounds: those of one process, without gaps.
struct DealtPositions {
    std::uint64_t block = 1; ///< in positions
    std::uint64_t processes = 1;
    std::uint64_t process = 0;
    std::uint64_t first = 0; ///< position 0 is this one of the dimension that is dealt

    /// How many of the positions before this one the process has.
    [[nodiscard]] std::uint64_t before(std::uint64_t position) const noexcept;
};

/// Such a dimension.
struct DealtDimension {
    distribution::DimensionMap map;
    int process = 0;
    std::uint64_t first_place = 0; ///< where the buffer begins
};

/// One of two slices: of an array, which must stay open, or a buffer of this rank's that has the slice's positions.
class Side {
public:
    /// An array that has no window yet can be paired, but has no memory.
    [[nodiscard]] static Side of(const ArrayGeometry& array, const SliceShape& shape);
    /// `strides`: elements from a position to the next, by dimension of the slice.
    [[nodiscard]] static Side buffer(const SliceShape& shape, std::span<const std::int64_t> strides,
                                     std::uint64_t element_bytes, std::byte* memory);

    /// Of a buffer: of dimension d it has only these positions.
    void deal(std::size_t d, const DealtPositions& positions);
    void move_to(std::byte* memory) noexcept { memory_ = memory; }

    [[nodiscard]] const ArrayGeometry* array() const noexcept { return array_; }
    [[nodiscard]] std::uint64_t element_bytes() const noexcept { return element_bytes_; }
    [[nodiscard]] std::span<const SliceShape::Dimension> dimensions() const noexcept { return shape_.used(); }
    [[nodiscard]] bool is_user_defined() const noexcept { return array_ != nullptr && array_->user_map != nullptr; }
    [[nodiscard]] bool is_replicated() const noexcept { return array_ != nullptr && array_->replicated; }
    /// This rank's part: where the layouts of the side `here` begin.
    [[nodiscard]] std::byte* memory() const noexcept { return memory_; }
    /// This rank's number where the array is, and 0 of a buffer.
    [[nodiscard]] int own_rank() const noexcept { return own_rank_; }

    /// The map of the array's dimension that is dimension d of the slice, and its indices.
    [[nodiscard]] const distribution::DimensionMap& map(std::size_t d) const noexcept;
    [[nodiscard]] distribution::IndexSequence indices(std::size_t d, bool reversed) const noexcept;
    /// How many ranks lie between those of neighbour processes of that dimension.
    [[nodiscard]] int rank_stride(std::size_t d) const noexcept;
    [[nodiscard]] int process_of(std::size_t d, int rank) const noexcept;
    /// Of the dimensions that the slice leaves out: whether this rank is among those that have them, and what they add
    /// to a rank.
    [[nodiscard]] bool has_fixed(int rank) const noexcept;
    [[nodiscard]] int rank_of_fixed() const noexcept;

    /// Where the slice lies in the segment of a rank: bytes between neighbour places of its dimensions, and the place
    /// that all others are counted from.
    struct Placement {
        std::int64_t offset = 0;
        std::array<std::int64_t, max_dimensions> strides{};
    };
    [[nodiscard]] Placement placement(int rank) const noexcept;

    /// The element at a position of the slice, wherever it is; Location{} if the distribution does not store it.
    [[nodiscard]] Location locate(std::span<const std::int64_t> position) const;
    [[noreturn]] void throw_not_stored(std::span<const std::int64_t> position) const;
    /// Calls `visit(positions)` for each box of positions that this rank has: a triplet a dimension.
    template <class Visit>
    void for_own_positions(Visit visit) const;
    /// These boxes, each in ascending order.
    [[nodiscard]] std::vector<std::array<Triplet, max_dimensions>> own_boxes() const;
    /// Whether neighbours in the last dimension of the slice are neighbours in memory, if in one block.
    [[nodiscard]] bool has_rows() const noexcept;

private:
    Side() = default;

    const ArrayGeometry* array_ = nullptr; ///< null: a buffer
    SliceShape shape_;
    std::array<std::int64_t, max_dimensions> strides_{}; ///< of a buffer, in elements
    std::vector<std::optional<DealtDimension>> dealt_;   ///< by dimension of a buffer; empty if none is
    std::uint64_t element_bytes_ = 0;
    std::byte* memory_ = nullptr;
    int own_rank_ = 0;
};

/// Of a pair of ranks: element k of one layout belongs to element k of the other.
struct LayoutPair {
    Layout here;
    Layout there;
};

/// What this rank has of `here`, by the ranks that have it of `there`. Memory: a few bytes for each of these, and what
/// the matches of the dimensions take; for distributions of the program's own 24 bytes for each run that is contiguous
/// on both sides.
class Pairing {
public:
    /// Throws RangeError when a user-defined distribution is wrong, or `there` does not store what is asked
    /// for, unless that is to be passed over.
    Pairing(const Side& here, const Side& there, bool pass_over = false);

    struct Partner {
        int rank = 0;                                      ///< in the team of `there`
        std::array<std::uint32_t, max_dimensions> match{}; ///< by dimension
    };
    /// In ascending order of the ranks.
    [[nodiscard]] std::span<const Partner> partners() const noexcept { return partners_; }
    [[nodiscard]] std::uint64_t elements(const Partner& partner) const;
    /// `by_here`: in the order of the memory of this rank, and not of the partner's.
    [[nodiscard]] LayoutPair layouts(const Partner& partner, bool by_here) const;

private:
    struct Run {
        int rank = 0;
        std::uint64_t here = 0; ///< in elements
        std::uint64_t there = 0;
        std::uint64_t count = 0;
    };

    void match_dimensions();
    void list_runs();
    void list_row(std::span<std::int64_t> position, const Triplet& last);
    [[nodiscard]] LayoutPair layouts_of_runs(const Partner& partner) const;

    Side here_;
    Side there_;
    bool pass_over_;
    std::array<std::vector<distribution::Match>, max_dimensions> matches_;
    std::array<bool, max_dimensions> reversed_{}; ///< goes from the last position to the first
    std::vector<Partner> partners_;
    std::vector<Run> runs_; ///< of distributions of the program's own: of partner p from match[0] to match[1]
};

} // namespace lapwing::detail::slices
