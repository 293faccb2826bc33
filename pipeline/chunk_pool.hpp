#pragma once

#include "pipeline/sieve.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/support/mutex.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/completion.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lapwing::detail::pipeline {

/// The resources of one execution of a plan: memory for its chunks, and lists of the operations under way in each slot,
/// and of what they fetch, which keep their capacity from one execution to the next.
struct ChunkBuffers {
    support::AlignedMemory memory;
    std::uint64_t bytes = 0;
    std::vector<std::vector<Completion>> under_way;
    std::vector<std::vector<FetchedRange>> ranges; ///< of sieved chunks
};

/// The chunk buffers of a team: at most `limit` bytes, kept for the next execution that needs as many or fewer.
class ChunkPool final : public team::TeamPart {
public:
    /// Buffers of at least `bytes`, or as large as the limit permits beside those that other executions hold; none if
    /// that is less than `least`. Much larger ones are taken only if the limit leaves no others.
    [[nodiscard]] std::unique_ptr<ChunkBuffers> take(std::uint64_t bytes, std::uint64_t least, std::uint64_t limit);
    void give_back(std::unique_ptr<ChunkBuffers> buffers) noexcept;
    /// In place of returning buffers that something under way to a rank that has left may still read: their memory
    /// stays until the pool is destroyed.
    void keep(std::unique_ptr<ChunkBuffers> buffers) noexcept;

    /// Bytes that exist, in use or not.
    [[nodiscard]] std::uint64_t bytes() const;

private:
    mutable support::Mutex mutex_{support::LockRank::leaf};
    std::vector<std::unique_ptr<ChunkBuffers>> free_;
    std::vector<std::unique_ptr<ChunkBuffers>> kept_;
    std::uint64_t bytes_ = 0;
};

} // namespace lapwing::detail::pipeline
