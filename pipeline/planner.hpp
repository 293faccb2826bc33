#pragma once

#include "model/cost_model.hpp"
#include "pipeline/chunks.hpp"
#include "pipeline/sieve.hpp"

#include <lapwing/detail/direction.hpp>
#include <lapwing/layout.hpp>
#include <lapwing/path.hpp>
#include <lapwing/plan.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace lapwing::detail::pipeline {

using transport::Direction;

inline constexpr std::size_t strategies = 8;

/// Whether the owner's memory is mapped here, so that it is loaded and stored.
[[nodiscard]] constexpr bool is_mapped(Path path) noexcept { return path == Path::self || path == Path::direct; }

/// Blocks go into one operation where the gap between them takes at most half as long as one more operation: other
/// ranks may want the network, too. Looks at the first 512 blocks of an irregular layout.
[[nodiscard]] Sieve sieve_for(const Layout& layout, const model::TransferModel& transfers);

/// What the planner looks at.
struct TransferShape {
    Direction direction = Direction::put;
    Path path = Path::rma;
    std::uint64_t bytes = 0;
    model::BlockShape local;
    model::BlockShape remote;
    std::uint64_t most_memory = 0;    ///< bytes of chunk buffers that it may use
    bool may_be_owner_packed = false; ///< the owner may pack or unpack
    std::uint64_t table_limit = 0;    ///< bytes of a message's description of the remote side
    double table_share = 0;           ///< bytes that describe the remote side, a byte of data
    bool produced = false;            ///< the bytes are computed while the first of them travel already
    Sieve sieve = {};                 ///< no operations: not for this transfer

    /// Blocks that are contiguous on both sides: at least the blocks of the finer side.
    [[nodiscard]] std::uint64_t pairs() const noexcept { return std::max(local.blocks, remote.blocks); }
    [[nodiscard]] bool packs() const noexcept { return local.blocks > 1; }
    /// The largest chunk of a transfer that is produced: small enough that most of it travels before the last byte is
    /// there.
    [[nodiscard]] std::uint64_t produced_chunk() const noexcept { return std::max<std::uint64_t>(bytes / 8, 65536); }

    friend bool operator==(const TransferShape&, const TransferShape&) = default;
};

[[nodiscard]] model::BlockShape shape_of(const Layout& layout);
/// Share of the table at the beginning of the transfer: TransferShape::table_share.
[[nodiscard]] double table_share(const Layout& layout);

/// Operations of one transfer that may be under way in a slot before the first are waited for.
inline constexpr std::uint64_t blocks_under_way = 256;

/// Limits of a chunk of Strategy::owner_packed, with its table: what the owner keeps room for.
inline constexpr std::uint64_t largest_owner_packed_chunk = 512 * 1024;
inline constexpr std::uint64_t largest_chunk_table = 256 * 1024;
/// Room for the table of a chunk of this size; a chunk ends where its table is full.
[[nodiscard]] constexpr std::uint64_t chunk_table_room(std::uint64_t chunk) noexcept {
    return std::clamp<std::uint64_t>((chunk + 7) / 8 * 8, 4096, largest_chunk_table);
}

/// How a transfer is to be carried out.
struct Decision {
    Strategy strategy = Strategy::per_block;
    Chunks chunks = {};
    std::uint64_t slots = 1; ///< chunks that may be under way at a time
    std::uint64_t room = 0;  ///< bytes of a slot of Strategy::sieved: a chunk ends where it is full
    double seconds = 0;      ///< predicted
    double wire_seconds = 0; ///< of these, if nothing had to be copied
    /// The strategies that were considered, including the chosen one, and their times.
    struct Alternative {
        Strategy strategy{};
        double seconds = 0;
    };
    std::array<Alternative, strategies> alternatives{};
    std::size_t alternative_count = 0;
};

/// Predicted seconds of a transfer by such chunks, through buffers: one chunk is copied while the wire works on others.
[[nodiscard]] double predict_packed(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots,
                                    const model::TransferModel& transfers, const model::CopyModel& copies);
/// The same for chunks that the owner unpacks or packs. `messages` is the model of the service path.
[[nodiscard]] double predict_owner_packed(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots,
                                          const model::TransferModel& messages, const model::CopyModel& copies);
/// The same for chunks that are sieved here.
[[nodiscard]] double predict_sieved(const TransferShape& shape, const Chunks& chunks, std::uint64_t slots,
                                    const model::TransferModel& transfers, const model::CopyModel& copies);
/// The same for one operation a block.
[[nodiscard]] double predict_per_block(const TransferShape& shape, const model::TransferModel& transfers);
[[nodiscard]] double predict_direct(const TransferShape& shape, const model::CopyModel& copies);

/// The best strategy, or the best parameters of the one that `options` force.
/// `messages` is the model of the service path, for Strategy::owner_packed.
[[nodiscard]] Decision decide(const TransferShape& shape, const model::TransferModel& transfers,
                              const model::TransferModel& messages, const model::CopyModel& copies,
                              const PlanOptions& options);

} // namespace lapwing::detail::pipeline
