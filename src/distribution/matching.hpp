#pragma once

#include <lapwing/detail/block_cyclic_map.hpp>

#include <cstdint>
#include <vector>

/// Where two distributions meet: which positions of two slices of equal shape lie at a given pair of processes. Each
/// dimension is worked out by itself, from the periods of both sides; elements are not visited (Sanz et al., "Global
/// data re-allocation via communication aggregation in Chapel", section III.A, has it for Block and Cyclic).
namespace lapwing::detail::distribution {

/// The positions of one dimension of a slice: position k is index first + k * stride of the array, which must be within
/// its extent.
struct IndexSequence {
    std::int64_t first = 0;
    std::int64_t stride = 1; ///< not 0
    std::uint64_t count = 0;
};

/// Positions that follow each other in the slices, and lie in one block on both sides: the places of the first of them
/// in the two segments. From one position to the next the places grow by the strides of the two sequences.
struct MatchedRun {
    std::int64_t here = 0;
    std::int64_t there = 0;
    std::uint64_t count = 0;

    friend bool operator==(const MatchedRun&, const MatchedRun&) = default;
};

/// What process `here` of one side and `process` of the other have in common, in ascending order of the positions: the
/// runs, `repeats` times, of which the first `skip` positions and what is after the next `count` do not belong to it.
/// Places of those may be negative, or outside of the segments.
struct Match {
    int process = 0;
    std::vector<MatchedRun> runs;
    std::uint64_t repeats = 1;
    std::int64_t here_stride = 0; ///< from one repetition to the next, in places
    std::int64_t there_stride = 0;
    std::uint64_t skip = 0;
    std::uint64_t count = 0;

    /// Positions in one repetition.
    [[nodiscard]] std::uint64_t period() const noexcept;
    /// Whether nothing is cut off.
    [[nodiscard]] bool whole() const noexcept { return skip == 0 && count == repeats * period(); }
};

/// What process `process` of `here` has in common with each process of `there`, in ascending order of these; those with
/// nothing are left out. Both sequences have the same count.
///
/// Cost and memory: proportional to the runs of `process` in one period, the least common multiple of both sides'
/// periods. Where that is more than half of the sequence, to all runs of `process`; but to one period of the side with
/// the smaller blocks where no process of the other side has more than one block, as of Block and BlockCyclic. What
/// other processes have is not visited; where a stride is larger than the block, the next position of a process is
/// found in the steps of Euclid's algorithm.
[[nodiscard]] std::vector<Match> match(const DimensionMap& here, int process, const IndexSequence& here_indices,
                                       const DimensionMap& there, const IndexSequence& there_indices);

} // namespace lapwing::detail::distribution
