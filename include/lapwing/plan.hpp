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
    automatic,      ///< what the cost model finds fastest
    per_block,      ///< one operation for each block that is contiguous on both sides; the paper's "maximal block"
    full_pack,      ///< everything packed, then sent; or everything received, then unpacked
    fixed_pipeline, ///< chunks of equal size: while one is on the wire, the next is packed or the one before unpacked
    superpipeline,  ///< chunks that grow (puts) or shrink (gets), so that little of the copying is not hidden
    direct_copy,    ///< load and store, where the owner's memory is mapped here
    owner_packed,   ///< by messages, in chunks: packed at one end, and unpacked by the owner's progress thread (or the
                    ///< other way round); in settings and texts "served"
    served = owner_packed,
};

/// As LAPWING_STRATEGY writes it: "per-block".
[[nodiscard]] std::string_view name(Strategy strategy);

/// What a Plan is made with: how its transfer is to travel, where the program knows better than the cost model.
struct PlanOptions {
    /// Forces a strategy; the setting LAPWING_STRATEGY does so for plans that leave it open.
    Strategy strategy = Strategy::automatic;
    /// Bytes of the first chunk of a pipeline, and how many times larger each is than the one before, up to the
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
    /// Without finish(): what has not been started is not put, and what has been is waited for.
    ~Production();

    /// The first `bytes` bytes of the source's sequence are computed, and stay as they are until finish() returns:
    /// chunks that have no others are packed and started, as far as there are buffers. Does not wait. Less than before
    /// changes nothing. Throws RangeError when the plan has fewer bytes; PeerLeftError, MpiError.
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
/// Making one is a local call that looks at the layouts in O(levels) and evaluates the cost model, unless the team has
/// planned a transfer of the same shape before: microseconds. Executing allocates nothing from the second time on:
/// chunk buffers come from the team's pool (LAPWING_CHUNK_MEMORY) and are given back at the end. The window must stay
/// open while plans for it are used. Plans are used by one thread at a time.
class Plan {
public:
    /// Puts `source` of local memory to `target` of the part of rank `rank`, both relative to a base: the address given
    /// when executing, and `offset`. Throws RangeError when the sides have different numbers of bytes or the target
    /// leaves the window; at assertion level 2 UsageError when blocks of the target overlap, since the result would
    /// depend on the strategy.
    [[nodiscard]] static Plan put(Window& window, const Layout& source, Rank rank, Offset offset, const Layout& target,
                                  const PlanOptions& options = {});
    /// Gets `source` of the part of rank `rank` into `destination` of local memory. As put().
    [[nodiscard]] static Plan get(Window& window, Rank rank, Offset offset, const Layout& source,
                                  const Layout& destination, const PlanOptions& options = {});

    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;
    ~Plan();

    /// Blocking. A get is complete on return; a put is complete locally: the memory may be reused, and flush() or
    /// release() completes it at the owner. Throws UsageError for a get into constant memory, PeerLeftError, MpiError.
    void execute(const void* memory);
    void execute(void* memory);
    /// The same, checking that the local layout stays within the memory: RangeError.
    void execute(std::span<const std::byte> memory);
    void execute(std::span<std::byte> memory);

    /// For puts: as execute(), then adds one to notification counter `counter` at the target, behind the bytes: see
    /// Window::put_notify. Throws RangeError before anything moves, UsageError for a get.
    /// Cost: that of execute(); where the target is on another node, its flush, a round trip, and a message.
    void execute_notify(const void* memory, unsigned counter);

    /// Non-blocking: starts what fits into the chunk buffers; test() and wait() of the completion go on with it, as do
    /// flushes, releases and accesses to the same bytes, which come behind it. The memory must stay as it is until the
    /// completion says so, which may outlive the window. In a cached window it is complete locally on return.
    Completion start(const void* memory);
    Completion start(void* memory);

    /// A put driven by the program that computes its bytes, in the order of the source layout: chunks are packed while
    /// they are still in the processor's cache, and travel while the next are computed.
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
    /// Chunks are at most an eighth of the whole, or 64 KiB, unless the plan's options say otherwise. A flush meanwhile
    /// completes what has been started; other accesses to the target's bytes wait until after finish(). The window
    /// stays open until then. Throws UsageError for a plan of a get.
    [[nodiscard]] Production produce(const void* memory);
    /// The same without memory for the whole: `fill` computes the next bytes straight into the buffer that they are
    /// sent from, or into the owner's memory where that is mapped here. Each call is for a multiple of `granule` bytes
    /// (a row, say), at an address that is a multiple of 16 if `granule` is one; they come in order. Complete locally
    /// on return. Throws RangeError unless the plan's bytes are a multiple of `granule`, UsageError for a plan of a
    /// get, and what `fill` throws, after which an unknown part has been put.
    void execute_filled(std::uint64_t granule, const FillBytes& fill);

    /// The strategy in use; never `automatic`.
    [[nodiscard]] Strategy strategy() const noexcept;
    /// Bytes that one execution moves.
    [[nodiscard]] std::uint64_t bytes() const noexcept;
    /// Seconds that one execution takes, complete at both ends, as the cost model sees it.
    [[nodiscard]] double predicted_seconds() const noexcept;
    /// Which strategy, which chunks, the predicted time, and why not the others: several lines for people.
    [[nodiscard]] std::string explain() const;

private:
    explicit Plan(std::shared_ptr<detail::pipeline::PlanState> state) noexcept;
    std::shared_ptr<detail::pipeline::PlanState> state_;
};

} // namespace lapwing
