// Room: distribution
#pragma once

#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/location.hpp>
#include <lapwing/range.hpp>
#include <lapwing/rank.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace lapwing {

namespace detail::distribution {

/// Where the blocks of each dimension begin; a dimension without blocks is not divided.
class BlockTable {
public:
    /// The lengths of the blocks in each dimension. check() says whether they are valid.
    explicit BlockTable(std::span<const std::vector<std::int64_t>> lengths);

    /// Throws RangeError unless the lengths are those of extents over so many ranks.
    void check(std::span<const std::int64_t> extents, int ranks) const;
    /// One more than there are blocks, the last being the sum of all lengths, modulo 2^64; empty: not divided.
    [[nodiscard]] std::span<const std::uint64_t> begins(std::size_t dimension) const noexcept {
        return dimension < begins_.size() ? std::span{begins_[dimension]} : std::span<const std::uint64_t>{};
    }
    /// A hash of all lengths.
    [[nodiscard]] std::uint64_t identity() const noexcept { return identity_; }

private:
    std::vector<std::vector<std::uint64_t>> begins_;
    std::uint64_t identity_ = 0;
};

/// One dimension of an array that is dealt in such blocks.
struct BlockDimension {
    std::span<const std::uint64_t> begins; ///< of the table; empty: one process has all
    std::uint64_t extent = 0;
    int rank_stride = 1; ///< distance in ranks between neighbour processes

    [[nodiscard]] int processes() const noexcept { return begins.empty() ? 1 : static_cast<int>(begins.size() - 1); }
    [[nodiscard]] int process_of(int rank) const noexcept { return rank / rank_stride % processes(); }
    [[nodiscard]] std::uint64_t begin(int process) const noexcept {
        return begins.empty() ? 0 : begins[static_cast<std::size_t>(process)];
    }
    [[nodiscard]] std::uint64_t length(int process) const noexcept {
        return begins.empty() ? extent : begins[static_cast<std::size_t>(process) + 1] - begin(process);
    }
    /// The process that has an index: the last one that begins at or before it, since empty ones come first.
    [[nodiscard]] int process_at(std::uint64_t index) const noexcept {
        if (begins.size() <= 2) return 0;
        return static_cast<int>(std::upper_bound(begins.begin() + 1, begins.end() - 1, index) - begins.begin()) - 1;
    }
    [[nodiscard]] std::uint64_t longest() const noexcept;
};

/// The map of Blocks. What a rank has is one dense row-major block.
template <std::size_t N>
class BlocksMap {
public:
    /// The table is of the dimensions from `front` on; those before are not divided. Throws RangeError.
    BlocksMap(std::shared_ptr<const BlockTable> table, const Extents<N>& extents, int ranks, std::size_t front = 0)
        : table_{std::move(table)} {
        table_->check(std::span{extents.values()}.subspan(front), ranks);
        int rank_stride = 1;
        capacity_ = 1; // at most the number of elements
        for (std::size_t d = N; d-- > 0;) {
            dimensions_[d].extent = static_cast<std::uint64_t>(extents[d]);
            dimensions_[d].rank_stride = rank_stride;
            if (d >= front) dimensions_[d].begins = table_->begins(d - front);
            rank_stride *= dimensions_[d].processes();
            capacity_ = extents[d] == 0 ? 0 : capacity_ * dimensions_[d].longest();
        }
    }

    [[nodiscard]] Location locate(const Index<N>& index) const noexcept {
        Location location{Rank{0}, 0};
        std::uint64_t stride = 1;
        for (std::size_t d = N; d-- > 0;) {
            const BlockDimension& dimension = dimensions_[d];
            const auto i = static_cast<std::uint64_t>(index[d]);
            const int process = dimension.process_at(i);
            const std::uint64_t length = dimension.length(process);
            const std::uint64_t in_block = i - dimension.begin(process);
            location.owner.value += process * dimension.rank_stride;
            location.offset += in_block * stride;
            stride *= length;
            if (d == N - 1) location.contiguous = length - in_block;
        }
        return location;
    }
    [[nodiscard]] std::uint64_t local_capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint64_t domain_count(Rank rank) const noexcept {
        return std::ranges::all_of(
            dimensions_, [&](const auto& dimension) { return dimension.length(dimension.process_of(rank.value)) > 0; });
    }
    [[nodiscard]] Domain<N> domain(Rank rank, std::uint64_t /*k*/) const noexcept {
        std::array<Range, N> ranges;
        for (std::size_t d = 0; d < N; ++d) {
            const int process = dimensions_[d].process_of(rank.value);
            ranges[d] = Range::strided(static_cast<std::int64_t>(dimensions_[d].begin(process)),
                                       dimensions_[d].length(process), 1);
        }
        return Domain<N>{ranges};
    }
    [[nodiscard]] Extents<N> local_extents(Rank rank) const noexcept {
        Index<N> extents{};
        for (std::size_t d = 0; d < N; ++d)
            extents[d] = static_cast<std::int64_t>(dimensions_[d].length(dimensions_[d].process_of(rank.value)));
        return Extents<N>{extents};
    }
    [[nodiscard]] std::uint64_t identity() const noexcept { return table_->identity(); }
    [[nodiscard]] static constexpr bool is_programs() noexcept { return false; }

private:
    std::shared_ptr<const BlockTable> table_;
    std::array<BlockDimension, N> dimensions_;
    std::uint64_t capacity_ = 0;
};

} // namespace detail::distribution

/// Blocks with a length for each process, as Block otherwise: consecutive indices, in the order of the ranks.
///
/// ```cpp
/// const auto blocks = lapwing::Blocks::gather(runtime, mine);            // collective: each rank says its own length
/// lapwing::GlobalArray<double, 1> a{runtime, {blocks.total()}, blocks};
/// lapwing::GlobalArray<double, 2> b{runtime, {blocks.total(), m}, blocks}; // as many rows, each of them whole
/// lapwing::GlobalArray<double, 2> c{runtime, {10, 8}, lapwing::Blocks{{7, 3}, {1, 5, 2}}}; // 2 x 3 processes
/// ```
///
/// A length may be 0. Every rank passes the same lengths, which is compared when an array is made. Each rank allocates
/// as much as the largest part needs. local_view() and the rank's own elements are as fast as under Block; the owner of
/// another element is found by a call that searches in O(log(processes)), and assignments go row by row. The space
/// around a local block (GlobalArrayOptions::halo) is for Block only; Halo copies blocks of any lengths.
///
/// Memory: 8 bytes for each block at every rank, once for all copies and arrays of this object.
class Blocks {
public:
    /// The lengths of the blocks in each dimension, which make up the grid: their numbers multiplied are the number of
    /// ranks, and rank 0 is at the origin as in Block. A dimension with an empty list, or without one, is not divided:
    /// one list has a length for each rank.
    Blocks(std::initializer_list<std::vector<std::int64_t>> lengths)
        : Blocks{std::vector<std::vector<std::int64_t>>(lengths)} {}
    explicit Blocks(const std::vector<std::vector<std::int64_t>>& lengths)
        : table_{std::make_shared<const detail::distribution::BlockTable>(lengths)} {}
    /// One length for each rank, in the first dimension, from numbers of any type.
    template <std::ranges::input_range Lengths>
        requires std::integral<std::ranges::range_value_t<Lengths>>
    explicit Blocks(const Lengths& lengths)
        : Blocks{{std::vector<std::int64_t>(std::ranges::begin(lengths), std::ranges::end(lengths))}} {}

    /// Collective over a Team: one block for each rank, in the first dimension; each passes the length of its own.
    /// Cost: Team::all_gather() of 8 bytes.
    template <class Team>
    [[nodiscard]] static Blocks gather(Team& team, std::int64_t length) {
        std::vector<std::int64_t> lengths(static_cast<std::size_t>(team.size()));
        team.all_gather(std::as_bytes(std::span{&length, 1}), std::as_writable_bytes(std::span{lengths}));
        return Blocks{lengths};
    }

    /// The sum of the lengths in a dimension, which the array's extent must be there; 0 if it is not divided.
    [[nodiscard]] std::int64_t total(std::size_t dimension = 0) const noexcept {
        const auto begins = table_->begins(dimension);
        return begins.empty() ? 0 : static_cast<std::int64_t>(begins.back());
    }

    /// Throws RangeError for a negative length, and unless there is a block for each rank and the lengths make up the
    /// extents.
    template <std::size_t N>
    [[nodiscard]] detail::distribution::BlocksMap<N> map(const Extents<N>& extents, int ranks) const {
        return {table_, extents, ranks};
    }

private:
    std::shared_ptr<const detail::distribution::BlockTable> table_;
};

} // namespace lapwing
