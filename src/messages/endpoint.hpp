#pragma once

#include "src/messages/engine_listener.hpp"
#include "src/messages/mpi_requests.hpp"
#include "src/messages/peer.hpp"

#include <lapwing/rank.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lapwing::detail::messages {

/// Ends messages about requests that are not valid.
inline constexpr std::string_view fault_of_builds =
    "ranks that run different builds of Lapwing do that, otherwise it is a fault of Lapwing's";

/// This rank's end of the connections to the others: the calls of MPI that send and receive, the MPI requests under
/// way, what is kept about each rank, and what has gone wrong. Used with the engine's mutex held.
class Endpoint {
public:
    Endpoint(MPI_Comm communicator, EngineListener& listener);

    /// "rank 2 of 4: service path", which begins messages.
    [[nodiscard]] const std::string& who() const noexcept { return who_; }
    [[nodiscard]] MpiRequests& requests() noexcept { return requests_; }
    /// Two of the MPI requests always exist: the receives of the next packet of requests and of replies.
    [[nodiscard]] std::size_t requests_under_way() const noexcept {
        return requests_.size() - std::min<std::size_t>(requests_.size(), 2);
    }
    [[nodiscard]] int largest_tag() const;

    Peer& peer(Rank rank) {
        if (last_peer_ != nullptr && last_peer_->rank == rank) return *last_peer_;
        return find_or_make_peer(rank);
    }
    /// Null: no packets have been exchanged with it.
    [[nodiscard]] Peer* known_peer(Rank rank) const;

    void send(const std::byte* memory, int bytes, Rank target, int tag, Purpose purpose);
    void receive(std::byte* memory, int bytes, Rank source, int tag, Purpose purpose);
    /// A receive that is not tested with the others.
    [[nodiscard]] MPI_Request post_receive(std::byte* memory, int bytes, int source, int tag);

    /// Tells the listener of an MPI call that failed, and throws.
    [[noreturn]] void throw_mpi_error(int code, const char* call, const std::string& what);
    /// MPI calls that have failed: a caller sees whether a failure was reported already.
    [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }
    /// What is wrong with another rank's message, to be reported at the end of the round: code that reads messages must
    /// not throw, or it would read them again. The first problem is kept.
    void note_problem(const std::string& text);
    /// Tells the listener of the problem that was noted, if any, and throws it.
    void throw_problem() {
        if (!problem_.empty()) [[unlikely]]
            tell_problem();
    }

private:
    Peer& find_or_make_peer(Rank rank);
    [[noreturn]] void tell_problem();

    MPI_Comm communicator_;
    EngineListener& listener_;
    std::string who_;
    MpiRequests requests_;
    std::unordered_map<int, std::unique_ptr<Peer>> peers_;
    Peer* last_peer_ = nullptr; ///< most operations go to the same rank as the one before
    std::string problem_;
    std::uint64_t failures_ = 0;
};

} // namespace lapwing::detail::messages
