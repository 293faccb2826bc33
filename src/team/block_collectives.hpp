#pragma once

#include "src/team/team_state.hpp"

#include <cstddef>
#include <span>

namespace lapwing::detail::team {

/// Bytes that a rank has in a collective of blocks at most: they are copied to memory of the call's own, in one piece.
inline constexpr std::size_t largest_blocks = std::size_t{4} << 20;

// Collective, by MPI's collectives, whose messages at one rank grow with the logarithm of the ranks, or are as few as
// the network allows; other ranks are served meanwhile. All blocks have the same size, and those of all ranks at most
// largest_blocks bytes. `call` is the name in messages. No part of the synchronisation of memory. Throw PeerLeftError,
// MpiError.

/// Block r of `all`, which counts at `root` alone, to rank r's `own`.
void scatter(TeamState& team, const char* call, int root, std::span<const std::byte> all, std::span<std::byte> own);
/// The other way round.
void gather(TeamState& team, const char* call, int root, std::span<const std::byte> own, std::span<std::byte> all);
/// Block r of `from` becomes rank r's block of this rank's number in `to`.
void exchange(TeamState& team, const char* call, std::span<const std::byte> from, std::span<std::byte> to);

} // namespace lapwing::detail::team
