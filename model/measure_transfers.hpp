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

/// One measurement: `operations` transfers of `bytes` each, to consecutive addresses.
struct TransferCell {
    std::uint64_t bytes = 0;
    std::uint64_t operations = 1;
};

/// The cells for a full model: sizes from 8 bytes to `largest_bytes` by factors of 2, alone and in
/// batches.
[[nodiscard]] std::vector<TransferCell> transfer_grid(std::uint64_t largest_bytes);

/// Typical times (lower quartiles) of `cells` between this rank and `target`. Any rank may call it independently; the
/// target should be idle. Cells alternate, so that a slow stretch of the machine does not hit only one of them. Reads
/// and, for puts, writes bytes of `memory` and as many of `target`'s part of the window from offset 0 on; they must
/// hold the largest cell, and should exceed the caches. Takes about `seconds`, but runs each cell once; those that
/// would not end in time are not repeated.
[[nodiscard]] std::vector<TransferSample> measure_transfers(Window& window, Rank target, Direction direction,
                                                            std::span<const TransferCell> cells,
                                                            std::span<std::byte> memory, double seconds);

/// How the operations of a path are aggregated. For gets the replies count, which are longer than the requests except
/// for the shortest.
[[nodiscard]] Aggregation aggregation_of(team::TeamState& team, Path path, Direction direction);

/// refine_changes() with measurements, for a model fitted to transfer_grid(). Few of each once `seconds` have passed.
void refine_changes(TransferModel& model, Window& window, Rank target, Direction direction, std::span<std::byte> memory,
                    double seconds);

/// How much of a transfer, which `start` starts and `complete` waits for, proceeds while this rank copies memory: see
/// TransferModel::overlap(). Runs it at least `least_count` times alone and as
/// often beside copies, and continues for `seconds`. 0 if the call that starts it does nearly all of it.
[[nodiscard]] double measure_overlap(const std::function<void()>& start, const std::function<void()>& complete,
                                     std::size_t least_count, double seconds);

} // namespace lapwing::detail::model
