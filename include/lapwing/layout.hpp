// Room: datatype
#pragma once

#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/mpi_datatype.hpp>

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lapwing {

/// A block of contiguous bytes. The offset is relative to the base of the transfer, and may be negative.
struct ByteBlock {
    std::int64_t offset = 0; ///< from the base
    std::uint64_t bytes = 0; ///< length

    friend constexpr bool operator==(const ByteBlock&, const ByteBlock&) = default;
};

/// One side of a transfer: an ordered sequence of bytes in memory, given as blocks relative to a base that the transfer
/// supplies.
///
/// ```cpp
/// Layout column = Layout::strided(rows, sizeof(double), row_bytes, j * sizeof(double));
/// Layout patch  = Layout::of(Domain<2>{{1, 9}, {3, 7}}, Extents{n, m}, sizeof(double));
/// Layout nodes  = Layout::indexed(offsets, 4);
/// Layout any    = Layout::from_mpi(type, count);
/// ```
///
/// The order of the sequence is part of its value and never changes: byte k of the source goes to byte k of the target.
/// A layout is a nest of levels, each a count with a stride or a shared list of offsets, around one block or a shared
/// list of blocks of different lengths. Regular patterns take the same memory however many blocks they have, and
/// copying a layout never copies a list. Construction brings it into a canonical form: adjacent blocks are joined,
/// levels that continue each other are joined, levels of one iteration are removed, lists with a constant stride become
/// strides.
///
/// A layout is immutable, and several threads may read it. LayoutCursor (layout_cursor.hpp) iterates over it. Queries
/// cost O(levels) and allocate nothing unless stated otherwise. Construction throws RangeError if a size or an offset
/// exceeds 63 bits.
class Layout {
public:
    /// The deepest nest. A deeper one is flattened by writing out two of its levels as a list.
    static constexpr std::size_t max_levels = 10;
    /// The longest list that a construction writes out (16 bytes a block, or up to 32 if its blocks are split into
    /// equal units for faster copies); a longer one throws RangeError.
    static constexpr std::uint64_t max_listed_blocks = std::uint64_t{1} << 28;

    /// One level of a nest: `count` iterations, `stride` bytes apart. A stride may be negative or zero.
    struct Dimension {
        std::uint64_t count = 0; ///< iterations
        std::int64_t stride = 0; ///< in bytes
    };
    /// In bytes, relative to the base.
    using Offsets = std::vector<std::int64_t>;

    /// No bytes.
    Layout() noexcept = default;

    /// One block.
    [[nodiscard]] static Layout contiguous(std::uint64_t bytes, std::int64_t offset = 0);
    /// `count` blocks; `stride` is the distance in bytes between their starts.
    [[nodiscard]] static Layout strided(std::uint64_t count, std::uint64_t block_bytes, std::int64_t stride,
                                        std::int64_t offset = 0);
    /// Nested dimensions, the outermost first.
    [[nodiscard]] static Layout strided(std::span<const Dimension> dimensions, std::uint64_t block_bytes,
                                        std::int64_t offset = 0);
    /// Blocks of equal size at these offsets, in this order.
    [[nodiscard]] static Layout indexed(Offsets offsets, std::uint64_t block_bytes);
    /// The same; the list is shared, and must not be changed from now on.
    [[nodiscard]] static Layout indexed_shared(const std::shared_ptr<const Offsets>& offsets,
                                               std::uint64_t block_bytes);
    /// Any blocks, in this order. Blocks without bytes are ignored.
    [[nodiscard]] static Layout list(std::span<const ByteBlock> blocks);
    /// The sequences one after another. Stays compact if all have the same shape; otherwise their blocks are written
    /// out as a list.
    [[nodiscard]] static Layout concatenate(std::span<const Layout> parts);
    /// The elements of a domain in a row-major array of these extents that starts at the base, in the iteration order
    /// of the domain. Throws RangeError if the domain leaves the extents.
    template <std::size_t N>
    [[nodiscard]] static Layout of(const Domain<N>& domain, const Extents<N>& extents, std::uint64_t element_bytes) {
        return of_ranges(domain.ranges(), extents.values(), element_bytes);
    }
    /// `count` elements of an MPI datatype, in the order of its type signature: the bytes that MPI_Pack would pack. The
    /// datatype may be freed afterwards. Only the type constructors are examined, and regular ones stay compact. Throws
    /// UsageError for MPI_DATATYPE_NULL and for a type that is not committed, RangeError for a negative count. Passing
    /// a handle that has been freed is undefined behaviour, as in every MPI call. Local call, by as many threads at
    /// once as MPI allows. A datatype is examined once, which costs more than a small transfer: what was found is kept
    /// until MPI reports, by deleting an attribute, that the program has freed the datatype. Later calls ask MPI
    /// nothing.
    [[nodiscard]] static Layout from_mpi(MPI_Datatype type, std::int64_t count = 1);
    /// A committed MPI datatype with these bytes in this order; its extent is the span from lower() to upper().
    [[nodiscard]] MpiDatatype to_mpi() const;

    /// Bytes in the sequence.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return end_ - begin_; }
    /// Whether there are no bytes.
    [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
    /// Number of maximal blocks: neighbours in the sequence that are adjacent in memory are one block.
    [[nodiscard]] std::uint64_t block_count() const noexcept;
    /// Lowest offset touched, and the highest plus one; both 0 if empty. For a slice of an unsorted list this scans its
    /// entries.
    [[nodiscard]] std::int64_t lower() const noexcept;
    [[nodiscard]] std::int64_t upper() const noexcept;
    /// upper() - lower().
    [[nodiscard]] std::uint64_t span() const noexcept;
    /// bytes() / span(): 1 for contiguous bytes, 0 when empty; above 1 when some bytes occur more than once.
    [[nodiscard]] double density() const noexcept;
    /// Bytes of the lists that this layout keeps, which its copies share; 0 if it is regular.
    [[nodiscard]] std::uint64_t list_memory() const noexcept;
    /// Whether the whole is at most one block.
    [[nodiscard]] bool is_contiguous() const noexcept { return level_count() == 0; }
    /// The block size, for choosing a copy kernel, if all blocks have the same (before neighbours are joined across
    /// levels); 0 if they differ. The first and the last block of a slice may be shorter.
    [[nodiscard]] std::uint64_t uniform_block() const noexcept { return pattern_.block; }
    /// Number of levels around the block; the outermost is level 0.
    [[nodiscard]] std::size_t level_count() const noexcept { return pattern_.levels.size(); }
    /// Whether each block starts at or above the end of the previous one, so that no byte occurs twice. A slice may
    /// return false although only bytes outside of the slice prevent it.
    [[nodiscard]] bool is_ascending() const noexcept;
    /// Whether any byte of memory occurs more than once: a put to such a target is an error. O(levels) for most strided
    /// patterns and for all ascending ones; otherwise it allocates, and costs O(n log n) for n blocks.
    [[nodiscard]] bool overlaps() const;

    /// Bytes [begin, end) of the sequence. Allocates nothing. RangeError unless begin <= end <= bytes().
    [[nodiscard]] Layout slice(std::uint64_t begin, std::uint64_t end) const;
    /// Every offset moved by `distance`.
    [[nodiscard]] Layout shift(std::int64_t distance) const;
    /// The sequence `count` times, `stride` bytes apart: like the elements of a type with this extent. A slice that
    /// begins or ends within an iteration is written out as a list first.
    [[nodiscard]] Layout repeat(std::uint64_t count, std::int64_t stride) const;
    /// The sequence at each of these offsets, in this order. As repeat() with a slice.
    [[nodiscard]] Layout repeat_at(Offsets offsets) const;
    [[nodiscard]] Layout repeat_at_shared(const std::shared_ptr<const Offsets>& offsets) const;
    /// The bytes with offsets in [lower, upper), in the same order. A slice if is_ascending(); otherwise a list,
    /// for which each block is looked at: throws RangeError if more than max_listed_blocks are inside, or 16 times as
    /// many in all.
    [[nodiscard]] Layout intersect(std::int64_t lower, std::int64_t upper) const;

    /// Whether the sequences of bytes are the same. O(blocks) if the forms differ but the sizes and bounds do not.
    friend bool operator==(const Layout& a, const Layout& b) noexcept;

private:
    friend class LayoutCursor;
    friend class CommonNest;
    struct Export;

    // Without initialisers, so that unused levels cost nothing.

    /// What an outer level needs to know about everything inside it. Offsets are relative to the start of the
    /// iteration.
    struct Summary {
        std::uint64_t bytes;
        std::uint64_t blocks; ///< maximal ones
        std::int64_t lower;
        std::int64_t upper;
    };

    struct Level {
        std::uint64_t count;
        std::int64_t stride;
        const std::int64_t* offsets; ///< of the iterations, instead of a stride; owned by the pattern's `lists`
        Summary inner;               ///< of one iteration; meaningless in a list of different lengths
        bool ascending;              ///< each iteration starts at or above the end of the previous one
        bool joined; ///< an iteration begins where the previous one ends; with a stride all do, with offsets some

        // Unsigned, because partial sums of offsets may overflow although the result does not.
        [[nodiscard]] std::int64_t at(std::uint64_t iteration) const noexcept {
            return offsets != nullptr ? offsets[iteration]
                                      : static_cast<std::int64_t>(iteration * static_cast<std::uint64_t>(stride));
        }
    };
    [[nodiscard]] static std::int64_t add(std::int64_t a, std::int64_t b) noexcept {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }

    /// The levels are stored in place, so that regular layouts allocate nothing. Copying copies only those in use.
    class Levels {
    public:
        Levels() noexcept { clear(); }
        Levels(const Levels& other) noexcept { *this = other; }
        Levels& operator=(const Levels& other) noexcept;
        ~Levels() = default;

        [[nodiscard]] std::size_t size() const noexcept { return size_; }
        [[nodiscard]] Level& operator[](std::size_t k) noexcept { return levels_[k]; }
        [[nodiscard]] const Level& operator[](std::size_t k) const noexcept { return levels_[k]; }
        void push_front(const Level& level) noexcept;
        void pop_front() noexcept;
        void erase(std::size_t k) noexcept;
        /// With no level, level 0 still describes one iteration.
        void clear() noexcept;

    private:
        std::size_t size_ = 0;
        std::array<Level, max_levels> levels_;
    };

    [[nodiscard]] static Layout of_ranges(std::span<const Range> ranges, std::span<const std::int64_t> extents,
                                          std::uint64_t element_bytes);

    struct Bounds {
        std::int64_t lower;
        std::int64_t upper;
    };

    /// The levels around the block or the list of blocks, of which a layout is the whole or a part. `k`: a level;
    /// level_count() means the block itself.
    struct Pattern {
        [[nodiscard]] bool is_list(std::size_t k) const noexcept { return starts != nullptr && k + 1 == levels.size(); }
        [[nodiscard]] std::uint64_t iteration_of(std::size_t k, std::uint64_t position) const noexcept;
        [[nodiscard]] std::uint64_t position_of(std::size_t k, std::uint64_t iteration) const noexcept;
        /// Offset of the first byte, and the end of the last, of one iteration of the levels before k.
        [[nodiscard]] std::int64_t first_byte(std::size_t k) const noexcept;
        [[nodiscard]] std::int64_t last_end(std::size_t k) const noexcept;
        /// The number of iterations in (first, last) of level k that start at the end of the previous one.
        [[nodiscard]] std::uint64_t joins(std::size_t k, std::uint64_t first, std::uint64_t last) const noexcept;
        /// Summary of the iterations [first, last) of level k; O(entries) for unsorted or joined offsets.
        [[nodiscard]] Summary summarise(std::size_t k, std::uint64_t first, std::uint64_t last) const noexcept;
        [[nodiscard]] Summary whole() const noexcept;
        /// Bounds of bytes [begin, end), begin < end, of one iteration of the levels before k.
        [[nodiscard]] Bounds bounds(std::size_t k, std::uint64_t begin, std::uint64_t end) const noexcept;
        /// Number of maximal blocks that start before a position, in one iteration of the levels before k.
        [[nodiscard]] std::uint64_t starts_before(std::size_t k, std::uint64_t position) const noexcept;
        /// Number of bytes of an ascending pattern with offsets below `offset`.
        [[nodiscard]] std::uint64_t bytes_below(std::int64_t offset) const noexcept;
        [[nodiscard]] bool is_ascending() const noexcept;
        /// Whether the offsets are equal except for the origin.
        [[nodiscard]] bool same_shape(const Pattern& other) const noexcept;
        [[nodiscard]] bool surely_disjoint() const noexcept;
        void check_bounds() const;
        /// Adds a level outside all others.
        void wrap(std::uint64_t count, std::int64_t stride, const std::shared_ptr<const Offsets>& offsets);
        void keep(std::shared_ptr<const void> list);
        /// Merges two neighbouring levels into one, and writes out their offsets.
        void merge_levels();

        std::int64_t origin = 0;               ///< added to the offsets of all levels
        std::uint64_t total = 0;               ///< bytes
        std::uint64_t block = 0;               ///< bytes of each block; 0 with a list of different lengths
        const std::uint64_t* starts = nullptr; ///< of that list: positions of its blocks, and of its end
        const std::int64_t* units = nullptr; ///< offsets of equal units that make up the blocks of that list, if any do
        std::uint64_t unit_bytes = 0;        ///< the unit at position p has number p / unit_bytes
        bool joined = false;                 ///< some level is joined
        bool summarised = true;              ///< summary describes the whole pattern; only a slice may lack it
        Summary summary{};
        Levels levels;
        std::shared_ptr<const void> lists; ///< keeps all offsets and starts
    };

    [[nodiscard]] bool is_whole() const noexcept { return begin_ == 0 && end_ == pattern_.total; }
    [[nodiscard]] Bounds bounds() const noexcept;
    [[nodiscard]] bool same_shape(const Layout& other) const noexcept;
    [[nodiscard]] std::vector<ByteBlock> listed() const;
    /// The layout as a whole pattern around which levels can be put.
    [[nodiscard]] Layout unsliced() const;
    void become_block(std::int64_t offset, std::uint64_t bytes) noexcept;
    /// Removes the levels and iterations outside of the slice.
    void trim() noexcept;

    std::uint64_t begin_ = 0; ///< the part of the pattern that this layout is, [begin_, end_): it begins in the first
    std::uint64_t end_ = 0;   ///< iteration of level 0, and ends in the last
    Pattern pattern_;
};

/// "4096 blocks of 12 bytes, stride 24", for messages and plans.
[[nodiscard]] std::string to_string(const Layout& layout);

} // namespace lapwing
