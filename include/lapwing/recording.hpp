// Room: pipeline
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <span>
#include <type_traits>

namespace lapwing {

namespace detail::pipeline {
class RecordingState;
} // namespace detail::pipeline

/// Puts that a program makes one by one in a loop of its own, combined into one planned transfer for each rank: a step
/// towards the minimal sets of Schneider, Gerstenberger and Hoefler, which their compiler finds in loops over MPI_Put.
///
/// ```cpp
/// lapwing::Recording puts{window};
/// for (int step = 0; step < steps; ++step) {
///     for (const Edge& edge : border) puts.put(edge.rank, edge.offset, value[edge.node]);
///     puts.run();
/// }
/// ```
///
/// The recorded puts form a set of blocks in which each byte of the target occurs once, with the value of the last put
/// to it; blocks that are adjacent in both memories are joined. If a loop makes the same puts again, this is detected,
/// and its plans are reused.
///
/// Nothing moves before run(): a recorded put is not seen by this rank's gets, and is not ordered with other
/// operations. The source must stay where it is, and is read by run(). For one thread; the window must stay open
/// while it is used.
class Recording {
public:
    /// Nothing is recorded yet. Once the window is closed, calls throw UsageError.
    explicit Recording(Window& window);
    Recording(Recording&&) noexcept;
    Recording& operator=(Recording&&) noexcept;
    /// Discards puts that have not been run.
    ~Recording();

    /// Records a put of these bytes, which must stay where they are until run(). Throws RangeError, at once, if they
    /// leave the part. Cost: a comparison with the previous recording, or 24 bytes.
    void put_bytes(Rank target, Offset offset, std::span<const std::byte> source);
    /// Records a put of the values of a span, an array or a vector.
    template <std::ranges::contiguous_range Values>
        requires std::ranges::borrowed_range<Values> && TriviallyCopyable<std::ranges::range_value_t<Values>>
    void put(Rank target, Offset offset, Values&& source) {
        put_bytes(target, offset, std::as_bytes(std::span{std::ranges::data(source), std::ranges::size(source)}));
    }
    /// Records a put of a variable: its address is recorded, not its value. Temporaries would be gone before run().
    template <TriviallyCopyable T>
        requires(!std::ranges::range<T> && !std::is_pointer_v<T>)
    void put(Rank target, Offset offset, const T& source) {
        put_bytes(target, offset, std::as_bytes(std::span<const T, 1>{&source, 1}));
    }
    template <TriviallyCopyable T>
        requires(!std::ranges::range<T>)
    void put(Rank target, Offset offset, const T&& source) = delete;

    /// Puts what has been recorded since the last run(), and starts a new recording. Complete locally on return, like
    /// Window::put: flush() or release() complete it at the owners. Throws as Plan::execute. Cost: the first time, or
    /// if the puts differ, sorting and planning; then one planned transfer for each rank.
    void run();

    /// Puts recorded since the last run().
    [[nodiscard]] std::uint64_t puts() const noexcept;
    /// Number of blocks to `target` in the current puts, or in those of the last run(); 0 before the first run.
    [[nodiscard]] std::uint64_t blocks(Rank target) const;
    /// How often run() had to plan a rank's puts.
    [[nodiscard]] std::uint64_t plans_made() const noexcept;

private:
    std::unique_ptr<detail::pipeline::RecordingState> state_;
};

} // namespace lapwing
