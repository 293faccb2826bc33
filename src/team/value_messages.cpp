#include "src/team/value_messages.hpp"

#include "src/support/mpi_error.hpp"

#include <array>
#include <cstring>
#include <memory>

namespace lapwing::detail::team {

using support::check_mpi;

ValueMessages::ValueMessages(TeamState& team, const char* call, Tag tag)
    : team_{team},
      call_{call},
      tag_{static_cast<int>(tag)},
      memory_{std::make_unique_for_overwrite<std::byte[]>(2 * (sizeof(Head) + first_bytes))} {}

void ValueMessages::send(int target, const Agreement& agreement, std::span<const std::byte> values) {
    (void)exchange(target, nobody, agreement, values);
}

ValueMessages::Received ValueMessages::receive(int source) { return exchange(nobody, source, {}, {}); }

ValueMessages::Received ValueMessages::swap(int partner, const Agreement& agreement,
                                            std::span<const std::byte> values) {
    return exchange(partner, partner, agreement, values);
}

ValueMessages::Received ValueMessages::exchange(int target, int source, const Agreement& agreement,
                                                std::span<const std::byte> values) {
    const Head leaving{agreement, values.size()};
    const std::size_t first = std::min(values.size(), first_bytes);
    std::byte* const out = memory_.get();
    std::byte* const in = out + sizeof(Head) + first_bytes;
    std::memcpy(out, &leaving, sizeof leaving);
    if (first != 0) std::memcpy(out + sizeof leaving, values.data(), first);
    complete(memory_, source, {in, sizeof(Head) + first_bytes}, target, {out, sizeof leaving + first});
    Head coming;
    if (source != nobody) std::memcpy(&coming, in, sizeof coming);
    if (std::max<std::uint64_t>(values.size(), coming.bytes) > first_bytes)
        return exchange_rest(target, source, values, coming);
    return {coming.agreement, {in + sizeof coming, static_cast<std::size_t>(coming.bytes)}};
}

ValueMessages::Received ValueMessages::exchange_rest(int target, int source, std::span<const std::byte> values,
                                                     const Head& coming) {
    const std::span<const std::byte> leaves = values.subspan(std::min(values.size(), first_bytes));
    const auto all = static_cast<std::size_t>(coming.bytes);
    const std::size_t had = std::min(all, first_bytes);
    long_ = std::make_unique_for_overwrite<std::byte[]>(all + leaves.size());
    std::byte* const out = long_.get() + all;
    if (had != 0) std::memcpy(long_.get(), memory_.get() + sizeof(Head) + first_bytes + sizeof(Head), had);
    if (!leaves.empty()) std::memcpy(out, leaves.data(), leaves.size());
    complete(long_, all > had ? source : nobody, {long_.get() + had, all - had}, leaves.empty() ? nobody : target,
             {out, leaves.size()});
    return {coming.agreement, {long_.get(), all}};
}

void ValueMessages::complete(TeamState::Memory& memory, int source, std::span<std::byte> in, int target,
                             std::span<const std::byte> out) {
    team_.complete(memory, call_, [&](std::byte*) {
        std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        if (source != nobody)
            check_mpi(MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, source, tag_, team_.communicator(),
                                &requests[0]),
                      "MPI_Irecv", team_.who());
        if (target != nobody)
            check_mpi(MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, target, tag_, team_.communicator(),
                                &requests[1]),
                      "MPI_Isend", team_.who());
        return requests;
    });
}

} // namespace lapwing::detail::team
