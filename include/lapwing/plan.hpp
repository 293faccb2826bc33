// Room: pipeline
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lapwing {

namespace detail::pipeline {
class PlanState;
class ProductionState;
} // namespace detail::pipeline

/// How the bytes of a non-contiguous transfer travel (Schneider, Gerstenberger and Hoefler, "Compiler Optimizations for
/// Non-Contiguous Remote Data Movement", section 2).
enum class Strategy : std::uint8_t {
    automatic,      ///< whichever the cost model finds fastest
    per_block,      ///< one operation for each block that is contiguous on both sides; the paper's "maximal block"
    full_pack,      ///< pack everything, then send it; or receive everything, then unpack it
    fixed_pipeline, ///< chunks of equal size: while one is on the wire, the next is packed or the previous unpacked
    superpipeline,  ///< chunks that grow (puts) or shrink (gets), so that little of the copying is exposed
    direct_copy,    ///< load and store, if the owner's memory is mapped here
    owner_packed,   ///< by messages, in chunks: a put is packed here, and unpacked by the owner's progress thread; a
                    ///< get the other way round. "served" in settings and texts
    served = owner_packed,
    sieved, ///< a get from another node fetches the gaps between blocks, too, where that is faster than one more
            ///< operation, and drops them (data sieving: Thakur, Gropp, Lusk, 1999)
};

/// As in LAPWING_STRATEGY: "per-block".
[[nodiscard]] std::string_view name(Strategy strategy);

/// Options of a Plan: how its transfer should travel, if the program knows better than the cost model.
struct PlanOptions {
    /// Forces a strategy; the setting LAPWING_STRATEGY does so for plans that do not.
    Strategy strategy = Strategy::automatic;
    /// Bytes of the first chunk of a pipeline, the factor by which each chunk is larger than the previous one, and the
    /// largest. 0: from the cost model.
    std::uint64_t first_chunk = 0;
    double growth = 0;
    std::uint64_t largest_chunk = 0;

    friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

/// Writes bytes [first, first + bytes.size()) of a put's sequence.
using FillBytes = std::function<void(std::uint64_t first, std::span<std::byte> bytes)>;

/// A put whose bytes are sent while later ones are still being computed: see Plan::produce().
class Production {
public:
    Production(Production&&) noexcept;
    Production& operator=(Production&&) noexcept;
    /// Without finish(): chunks that have not been started are not put; those that have been are waited for.
    ~Production();

    /// The first `bytes` bytes of the source's sequence are computed, and will not change until finish() returns.
    /// Chunks that consist of such bytes are packed and started, as far as there are buffers. Does not wait. A smaller
    /// number than before has no effect. Throws RangeError if the plan has fewer bytes; PeerLeftError, MpiError.
    void ready(std::uint64_t bytes);
    /// All bytes are ready. Complete locally on return, as Plan::execute.
    void finish();

private:
    friend class Plan;
    explicit Production(std::unique_ptr<detail::pipeline::ProductionState> state) noexcept;
    std::unique_ptr<detail::pipeline::ProductionState> state_;
};

/// A transfer between memory of this rank and a part of a window, with a layout on either side: byte k of the source's
/// sequence goes to byte k of the target's. Made once, executed as often as needed.
///
/// Making one is a local call that examines the layouts in O(levels), a few hundred blocks at most, and evaluates the
/// cost model, unless the team has planned a transfer of the same shape before: microseconds. From the second execution
/// on nothing is allocated: chunk buffers come from the team's pool (LAPWING_CHUNK_MEMORY) and are returned at the end.
/// The window must stay open while its plans are used. A plan may be used by one thread at a time.
class Plan {
public:
    /// Puts `source`, a layout of local memory, to `target`, a layout of the part of rank `rank`. Both are relative to
    /// a base: the address passed to the execution, and `offset`. Throws RangeError if the sides have different numbers
    /// of bytes or the target leaves the window; at assertion level 2 UsageError if blocks of the target overlap, since
    /// the result would depend on the strategy.
    [[nodiscard]] static Plan put(Window& window, const Layout& source, Rank rank, Offset offset, const Layout& target,
                                  const PlanOptions& options = {});
    /// Gets `source`, a layout of the part of rank `rank`, into `destination`, a layout of local memory. As put().
    [[nodiscard]] static Plan get(Window& window, Rank rank, Offset offset, const Layout& source,
                                  const Layout& destination, const PlanOptions& options = {});

    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;
    ~Plan();

    /// Blocking. A get is complete on return; a put is complete locally: the memory may be reused, and flush() or
    /// release() completes it at the owner. Throws UsageError for a get into constant memory, PeerLeftError, MpiError.
    void execute(const void* memory);
    void execute(void* memory);
    /// The same; also checks that the local layout stays within the memory: RangeError.
    void execute(std::span<const std::byte> memory);
    void execute(std::span<std::byte> memory);

    /// For puts: as execute(), then adds one to notification counter `counter` at the target, after the bytes: see
    /// Window::put_notify. Throws RangeError before anything moves, UsageError for a get. Cost: that of execute(); if
    /// the target is on another node, a flush of it (a round trip) and a message.
    void execute_notify(const void* memory, unsigned counter);

    /// Non-blocking: starts what fits into the chunk buffers. The transfer proceeds in test() and wait() of the
    /// completion, and in flushes, releases and later accesses to the same bytes. The memory must not be changed until
    /// the completion is done; the completion may outlive the window. In a cached window it is complete locally on
    /// return.
    Completion start(const void* memory);
    Completion start(void* memory);

    /// A put driven by the program that computes its bytes, in the order of the source layout: chunks are packed while
    /// they are still in the processor's cache, and travel while the next ones are computed.
    ///
    /// ```cpp
    /// Production put = plan.produce(matrix);
    /// for (std::uint64_t row = 0; row < rows; ++row) {
    ///     compute(matrix, row);
    ///     put.ready((row + 1) * row_bytes);
    /// }
    /// put.finish();
    /// ```
    ///
    /// Chunks are at most an eighth of the whole, or 64 KiB, unless the plan's options say otherwise. A flush in
    /// between completes what has been started; other accesses to the target's bytes must wait until after finish().
    /// The window must stay open until then. Throws UsageError for a plan of a get.
    [[nodiscard]] Production produce(const void* memory);
    /// The same without memory for the whole: `fill` computes the next bytes straight into the buffer that they are
    /// sent from, or into the owner's memory if that is mapped here. Each call is for a multiple of `granule` bytes (a
    /// row, for example), at an address that is a multiple of 16 if `granule` is one; the calls are in order. Complete
    /// locally on return. Throws RangeError unless the plan's bytes are a multiple of `granule`, UsageError for a plan
    /// of a get, and whatever `fill` throws, after which an unspecified part has been put.
    void execute_filled(std::uint64_t granule, const FillBytes& fill);

    /// The strategy in use; never `automatic`.
    [[nodiscard]] Strategy strategy() const noexcept;
    /// Bytes that one execution moves.
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    /// Seconds that one execution takes, complete at both ends, as predicted by the cost model.
    [[nodiscard]] double predicted_seconds() const noexcept;
    /// Which strategy, which chunks, the predicted time, and why not the others: several lines of text.
    [[nodiscard]] std::string explain() const;

private:
    explicit Plan(std::shared_ptr<detail::pipeline::PlanState> state) noexcept;
    std::shared_ptr<detail::pipeline::PlanState> state_;
};

} // namespace lapwing
