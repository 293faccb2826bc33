#pragma once

#include "src/team/team_state.hpp"

#include <cstddef>
#include <span>

namespace lapwing::detail::team {

/// The most bytes that a rank may have in a collective of blocks: they are copied to memory of the call's own, in one
/// piece.
inline constexpr std::size_t largest_blocks = std::size_t{4} << 20;

// Collective, by MPI's collectives, so that the messages of a rank grow with the logarithm of the ranks, or as the
// network allows; other ranks are served meanwhile. All blocks have the same size, and those of all ranks together at
// most largest_blocks bytes. `call` is the name in messages. Not part of the synchronisation of memory. Throw
// PeerLeftError, MpiError.

/// Block r of `all`, which is read at `root` alone, goes to `own` of rank r.
void scatter(TeamState& team, const char* call, int root, std::span<const std::byte> all, std::span<std::byte> own);
/// The reverse.
void gather(TeamState& team, const char* call, int root, std::span<const std::byte> own, std::span<std::byte> all);
/// Block r of `from` goes to rank r, which stores it in `to` at this rank's number.
void exchange(TeamState& team, const char* call, std::span<const std::byte> from, std::span<std::byte> to);

} // namespace lapwing::detail::team
