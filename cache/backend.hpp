#pragma once

#include <lapwing/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::cache {

/// Bytes of one rank's part that are to be written, and where they are now.
struct DirtyRun {
    Offset offset = 0;
    const std::byte* source = nullptr;
    std::uint64_t bytes = 0;
};

/// Bytes of one rank's part that are wanted, and where they are to go.
struct WantedRun {
    Offset offset = 0;
    std::byte* destination = nullptr;
    std::uint64_t bytes = 0;
};

/// Remote memory, as the cache sees it.
///
/// Operations on the same bytes of one rank take effect in the order in which they are started; others in any order.
/// Ranges lie within the ranks' parts.
class Backend {
public:
    /// An operation in flight. `complete`: there is none.
    using Token = std::uint32_t;
    static constexpr Token complete = 0;
    /// What a get of many runs may take: 120 lines, which fit one packet of the default size with some room to spare.
    static constexpr std::uint64_t most_bytes_of_runs = 7680;

    virtual ~Backend() = default;

    /// Starts a get; when it is complete the bytes are in `destination`.
    [[nodiscard]] virtual Token start_get(Rank rank, Offset offset, std::span<std::byte> destination) = 0;
    /// Starts a get of many small runs of one rank, of at most `most_bytes_of_runs` together, in as few messages as the
    /// path allows. One operation: the bytes are there when it is complete.
    [[nodiscard]] virtual Token start_get_runs(Rank rank, std::span<const WantedRun> runs) {
        for (const WantedRun& run : runs) get(rank, run.offset, {run.destination, run.bytes});
        return complete;
    }
    /// Starts a put; when it is complete `source` may be reused.
    [[nodiscard]] virtual Token start_put(Rank rank, Offset offset, std::span<const std::byte> source) = 0;
    /// Whether an operation is complete; makes progress. Returning true, or throwing, invalidates the token.
    [[nodiscard]] virtual bool test(Token token) = 0;
    /// Returns when an operation is complete. The token is invalid afterwards, also if this throws.
    virtual void wait(Token token) = 0;

    /// Blocking forms. The put is complete locally on return.
    virtual void get(Rank rank, Offset offset, std::span<std::byte> destination) = 0;
    virtual void put(Rank rank, Offset offset, std::span<const std::byte> source) = 0;
    /// Puts of many small runs to one rank, in as few messages as the path allows. Complete locally on return.
    virtual void put_runs(Rank rank, std::span<const DirtyRun> runs) = 0;

    /// Bytes in the part of `rank`.
    [[nodiscard]] virtual std::uint64_t part_bytes(Rank rank) const = 0;

    /// Whether operations on this rank throw PeerLeftError from now on.
    [[nodiscard]] virtual bool has_left(Rank rank) = 0;
    /// Records that `bytes` written bytes cannot be put because the rank has left; the next release reports them.
    virtual void note_lost(Rank rank, std::uint64_t bytes) = 0;
};

} // namespace lapwing::detail::cache
