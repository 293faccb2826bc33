#include "src/team/block_collectives.hpp"

#include "src/support/mpi_error.hpp"

#include <mpi.h>

#include <cstring>
#include <memory>

namespace lapwing::detail::team {
namespace {

using support::check_mpi;

/// Runs a collective on a copy of `from` in memory of the call's own, where `start(memory)` begins it, and copies the
/// result to `to`: when a wait is given up, because a rank left, MPI may still write.
template <class Start>
void collect(TeamState& team, const char* call, std::span<const std::byte> from, std::span<std::byte> to,
             Start&& start) {
    auto memory = std::make_unique_for_overwrite<std::byte[]>(from.size() + to.size());
    if (!from.empty()) std::memcpy(memory.get(), from.data(), from.size());
    team.complete(memory, call, [&](std::byte* place) { return start(place, place + from.size()); });
    team.synchronisation().count(call);
    if (!to.empty()) std::memcpy(to.data(), memory.get() + from.size(), to.size());
}

} // namespace

void scatter(TeamState& team, const char* call, int root, std::span<const std::byte> all, std::span<std::byte> own) {
    const auto bytes = static_cast<int>(own.size());
    collect(team, call, team.rank() == root ? all : std::span<const std::byte>{}, own,
            [&](const std::byte* from, std::byte* to) {
                MPI_Request request = MPI_REQUEST_NULL;
                check_mpi(MPI_Iscatter(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, root, team.communicator(), &request),
                          "MPI_Iscatter", team.who());
                return request;
            });
}

void gather(TeamState& team, const char* call, int root, std::span<const std::byte> own, std::span<std::byte> all) {
    const auto bytes = static_cast<int>(own.size());
    collect(team, call, own, team.rank() == root ? all : std::span<std::byte>{},
            [&](const std::byte* from, std::byte* to) {
                MPI_Request request = MPI_REQUEST_NULL;
                check_mpi(MPI_Igather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, root, team.communicator(), &request),
                          "MPI_Igather", team.who());
                return request;
            });
}

void exchange(TeamState& team, const char* call, std::span<const std::byte> from, std::span<std::byte> to) {
    const auto bytes = static_cast<int>(from.size() / static_cast<std::size_t>(team.size()));
    collect(team, call, from, to, [&](const std::byte* mine, std::byte* theirs) {
        MPI_Request request = MPI_REQUEST_NULL;
        check_mpi(MPI_Ialltoall(mine, bytes, MPI_BYTE, theirs, bytes, MPI_BYTE, team.communicator(), &request),
                  "MPI_Ialltoall", team.who());
        return request;
    });
}

} // namespace lapwing::detail::team
