#pragma once

#include "src/team/team_state.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lapwing::detail::team {

/// What ranks have passed to a collective call, as a number made of it: the lowest and the highest of those that are
/// known of. It travels with the call's values.
struct Agreement {
    std::int64_t lowest = 0;
    std::int64_t highest = 0;

    [[nodiscard]] constexpr bool holds() const noexcept { return lowest == highest; }
    constexpr void merge(const Agreement& other) noexcept {
        lowest = std::min(lowest, other.lowest);
        highest = std::max(highest, other.highest);
    }
};

/// Messages of a collective call that carry values with the arguments that belong to them, one at a time in each
/// direction. A receiver need not know how many bytes come: ranks that have passed different numbers of values still
/// get each other's messages. What is longer than `first_bytes` travels as two.
class ValueMessages {
public:
    struct Received {
        Agreement agreement;
        std::span<std::byte> values; ///< aligned as memory from new is; valid until the next message
    };
    /// Calls of one tag send to each other.
    enum class Tag : int { combine, share };

    ValueMessages(TeamState& team, const char* call, Tag tag);

    // Throw PeerLeftError, MpiError. At most 2^30 bytes.
    void send(int target, const Agreement& agreement, std::span<const std::byte> values);
    [[nodiscard]] Received receive(int source);
    /// Both at once.
    [[nodiscard]] Received swap(int partner, const Agreement& agreement, std::span<const std::byte> values);

private:
    struct alignas(16) Head {
        Agreement agreement;
        std::uint64_t bytes = 0; ///< of the values, of which the first follow
    };
    /// With the head: below the limit from which MPIs ask the receiver first.
    static constexpr std::size_t first_bytes = 4032 - sizeof(Head);
    static constexpr int nobody = MPI_PROC_NULL;

    [[nodiscard]] Received exchange(int target, int source, const Agreement& agreement,
                                    std::span<const std::byte> values);
    [[nodiscard]] Received exchange_rest(int target, int source, std::span<const std::byte> values, const Head& coming);
    /// Receives from `source` and sends to `target`, where these are ranks, and waits for both.
    void complete(TeamState::Memory& memory, int source, std::span<std::byte> in, int target,
                  std::span<const std::byte> out);

    TeamState& team_;
    const char* call_;
    int tag_;
    TeamState::Memory memory_; ///< the first part that leaves, then the one that comes
    TeamState::Memory long_;   ///< the whole that comes, then the rest of the one that leaves
};

} // namespace lapwing::detail::team
