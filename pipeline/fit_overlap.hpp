#pragma once

#include "model/copy_model.hpp"
#include "model/transfer_model.hpp"

#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::pipeline {

using transport::Direction;

/// The overlap with which the model best predicts what pipelines of `bytes` really gain over packing everything first.
/// model::measure_overlap() measures one transfer and a computation in the cache, which says little of successive
/// chunks and of copies that also need the memory. Executes pipelines, in turns. Uses twice `bytes` of `memory`, and
/// `bytes` of `target`'s part.
[[nodiscard]] double fit_overlap(Window& window, Rank target, Direction direction, const model::TransferModel& model,
                                 const model::CopyModel& copies, std::uint64_t bytes, std::span<std::byte> memory,
                                 double seconds);

} // namespace lapwing::detail::pipeline
