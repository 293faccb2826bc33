#pragma once

#include "model/copy_model.hpp"
#include "model/transfer_model.hpp"

#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lapwing::detail::model {

/// What one measurement runs: `operations` transfers of `bytes` each, to consecutive places.
struct TransferCell {
    std::uint64_t bytes = 0;
    std::uint64_t operations = 1;
};

/// The cells that a full model is fitted to: sizes from 8 bytes to `largest_bytes` by factors of 2, alone and in
/// batches.
[[nodiscard]] std::vector<TransferCell> transfer_grid(std::uint64_t largest_bytes);

/// Typical times (lower quartiles) of `cells` between this rank and `target`. Every rank may call it by itself; the
/// target should be idle. Cells take turns, so that a slow stretch of the machine does not fall on one of them. Reads
/// and, for puts, writes bytes of `memory` and as many of `target`'s part of the window from offset 0 on; they must
/// hold the largest cell, and should exceed the caches. Takes about `seconds`, but runs each cell once; those that
/// would not end in time run no more often.
[[nodiscard]] std::vector<TransferSample> measure_transfers(Window& window, Rank target, Direction direction,
                                                            std::span<const TransferCell> cells,
                                                            std::span<std::byte> memory, double seconds);

/// How the operations of a path are aggregated. Of gets their answers count, which are longer than the requests but for
/// the shortest.
[[nodiscard]] Aggregation aggregation_of(team::TeamState& team, Path path, Direction direction);

/// refine_changes() by measurements, for a model fitted to transfer_grid(). Few of each once `seconds` are over.
void refine_changes(TransferModel& model, Window& window, Rank target, Direction direction, std::span<std::byte> memory,
                    double seconds);

/// How much of a transfer, which `start` starts and `complete` waits for, goes on while this rank copies memory: see
/// TransferModel::overlap(). Runs it at least `least_count` times alone and as
/// often beside copies, and goes on for `seconds`. 0 where the call that starts it does nearly all of it.
[[nodiscard]] double measure_overlap(const std::function<void()>& start, const std::function<void()>& complete,
                                     std::size_t least_count, double seconds);

} // namespace lapwing::detail::model
