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

/// Puts that a program makes one by one in a loop of its own, as one planned transfer for each rank: a step towards the
/// minimal sets of Schneider, Gerstenberger and Hoefler, which their compiler finds in loops over MPI_Put.
///
/// ```cpp
/// lapwing::Recording puts{window};
/// for (int step = 0; step < steps; ++step) {
///     for (const Edge& edge : border) puts.put(edge.rank, edge.offset, value[edge.node]);
///     puts.run();
/// }
/// ```
///
/// What was put is a set of blocks in which each byte of the target is named once, by the put that came last, and
/// neighbours in both memories are one block. A loop that makes the same puts again is compared with what was recorded,
/// and its plans are used again.
///
/// Nothing moves before run(): a put that is recorded is neither seen by own gets nor ordered with other operations,
/// and the source stays where it is and gets its last value before run(). For one thread; the window stays open while
/// it is used.
class Recording {
public:
    /// Nothing is recorded yet. The window must outlive it.
    explicit Recording(Window& window);
    Recording(Recording&&) noexcept;
    Recording& operator=(Recording&&) noexcept;
    /// What has not run is forgotten.
    ~Recording();

    /// Records a put of these bytes, which stay where they are until run(). Throws RangeError, at once, when they leave
    /// the part. Cost: a comparison with what was recorded the last time, or 24 bytes.
    void put_bytes(Rank target, Offset offset, std::span<const std::byte> source);
    /// Of the values of a span, an array or a vector.
    template <std::ranges::contiguous_range Values>
        requires std::ranges::borrowed_range<Values> && TriviallyCopyable<std::ranges::range_value_t<Values>>
    void put(Rank target, Offset offset, Values&& source) {
        put_bytes(target, offset, std::as_bytes(std::span{std::ranges::data(source), std::ranges::size(source)}));
    }
    /// Of a variable, whose address is recorded, not its value; temporaries would be gone before run().
    template <TriviallyCopyable T>
        requires(!std::ranges::range<T> && !std::is_pointer_v<T>)
    void put(Rank target, Offset offset, const T& source) {
        put_bytes(target, offset, std::as_bytes(std::span<const T, 1>{&source, 1}));
    }
    template <TriviallyCopyable T>
        requires(!std::ranges::range<T>)
    void put(Rank target, Offset offset, const T&& source) = delete;

    /// Puts what has been recorded since the last run(), and begins anew. Complete locally on return, like Window::put:
    /// flush() or release() complete it at the owners. Errors as of Plan::execute. Cost: of the first time, or where
    /// the puts differ, sorting and planning; then one planned transfer for each rank.
    void run();

    /// Puts recorded since the last run().
    [[nodiscard]] std::uint64_t puts() const noexcept;
    /// Blocks that they, or what run() put last, are to `target`; 0 before the first run.
    [[nodiscard]] std::uint64_t blocks(Rank target) const;
    /// Times that run() had to plan a rank's puts.
    [[nodiscard]] std::uint64_t plans_made() const noexcept;

private:
    std::unique_ptr<detail::pipeline::RecordingState> state_;
};

} // namespace lapwing
