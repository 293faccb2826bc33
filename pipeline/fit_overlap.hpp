#pragma once

#include "model/copy_model.hpp"
#include "model/transfer_model.hpp"

#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::pipeline {

using transport::Direction;

/// The overlap with which the model predicts best what pipelines of `bytes` really gain over packing everything first:
/// the one that model::measure_overlap() finds is of one transfer and a computation in the cache, and says little of
/// chunks that follow each other, beside copies that need the memory, too. Executes them, in turns. Uses as much of
/// `memory` as twice `bytes`, and `bytes` of `target`'s part.
[[nodiscard]] double fit_overlap(Window& window, Rank target, Direction direction, const model::TransferModel& model,
                                 const model::CopyModel& copies, std::uint64_t bytes, std::span<std::byte> memory,
                                 double seconds);

} // namespace lapwing::detail::pipeline
