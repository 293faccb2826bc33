#pragma once

#include "pipeline/chunks.hpp"
#include "pipeline/cost_model.hpp"

#include <lapwing/layout.hpp>
#include <lapwing/path.hpp>
#include <lapwing/plan.hpp>

#include <cstdint>
#include <string>

namespace lapwing::pipeline {

/// What the planner looks at.
struct TransferShape {
    Direction direction = Direction::put;
    Path path = Path::rma;
    std::uint64_t bytes = 0;
    BlockShape local;
    BlockShape remote;
    std::uint64_t most_memory = 0; ///< bytes of chunk buffers that it may use

    /// Blocks that are contiguous on both sides: at least the blocks of the finer side.
    [[nodiscard]] std::uint64_t pairs() const noexcept { return std::max(local.blocks, remote.blocks); }
    [[nodiscard]] bool packs() const noexcept { return local.blocks > 1; }
};

[[nodiscard]] BlockShape shape_of(const Layout& layout);

/// How a transfer is to be carried out.
struct Decision {
    Strategy strategy = Strategy::per_block;
    Chunks chunks = {};
    std::uint64_t slots = 1; ///< chunks that may be under way at a time
    double seconds = 0;      ///< predicted
    std::string reasons;     ///< a line for each strategy that was not taken
};

/// Predicted seconds of a transfer by such chunks, through buffers: the copying of one beside the wire's work on others.
[[nodiscard]] double predict_packed(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots,
                                    const TransferModel& transfers, const CopyModel& copies);
/// Of one operation a block.
[[nodiscard]] double predict_per_block(const TransferShape& shape, const TransferModel& transfers);
[[nodiscard]] double predict_direct(const TransferShape& shape, const CopyModel& copies);

/// The best strategy, or the best parameters of the one that `options` force.
[[nodiscard]] Decision decide(const TransferShape& shape, const TransferModel& transfers, const CopyModel& copies,
                              const PlanOptions& options);

} // namespace lapwing::pipeline
