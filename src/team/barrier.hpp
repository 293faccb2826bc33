#pragma once

#include "src/messages/engine.hpp"
#include "src/messages/request.hpp"
#include "src/mpi/topology.hpp"

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::team {

/// Collective calls that start with a barrier. Ranks that meet in different ones throw MismatchError.
enum class CollectiveCall : std::int32_t {
    barrier,
    window_create,
    window_close,
    team_close,
    on_window,
    end_on_window,
    file_load,
    lock_create,
    lock_close,
    upc_collective,
    refused ///< in place of any other: see Synchronisation::refuse(). The last one
};

[[nodiscard]] const char* name(CollectiveCall call);
/// Whether `call` is the name of one of them.
[[nodiscard]] bool begins_with_barrier(std::string_view call);

/// The identity of a collective call on a window, made by a room above: its name, of at most nine small letters and
/// underscores, and the window's number modulo 2^16.
[[nodiscard]] std::int64_t identity_on_window(std::string_view call, std::uint64_t window) noexcept;
/// The identity in words.
[[nodiscard]] std::string text_on_window(std::int64_t identity);
/// Only its call, by the first letters.
[[nodiscard]] std::string call_on_window(std::int64_t identity);

/// The identity of the creation and the close of a lock: the number of its slot, and its home.
[[nodiscard]] constexpr std::int64_t identity_of_lock(std::uint32_t slot, int home) noexcept {
    return static_cast<std::int64_t>(std::uint64_t{slot} << 32 | static_cast<std::uint32_t>(home));
}
[[nodiscard]] std::string text_of_lock(std::int64_t identity);

/// What the ranks brought to a barrier, combined: minimum and maximum, which are equal when all agree.
struct Attendance {
    std::int64_t lowest_identity = std::numeric_limits<std::int64_t>::max();
    std::int64_t highest_identity = std::numeric_limits<std::int64_t>::min();
    std::int64_t lowest_arguments = std::numeric_limits<std::int64_t>::max();
    std::int64_t highest_arguments = std::numeric_limits<std::int64_t>::min();
    std::int32_t lowest_call = std::numeric_limits<std::int32_t>::max();
    std::int32_t highest_call = std::numeric_limits<std::int32_t>::min();

    void merge(const Attendance& other);
};

/// The part of a barrier that the ranks of one node share, in memory that all of them map. Zero bytes are not a valid
/// state: one rank calls reset() before the others use it. It is followed by a byte for each rank of the node, its
/// state.
struct NodeBarrier {
    std::atomic<std::uint32_t> arrived;
    /// Barriers that all ranks of the node have reached; the first rank then goes on with the other nodes.
    std::atomic<std::uint64_t> gathered;
    /// Barriers that are complete.
    std::atomic<std::uint64_t> generation;
    std::atomic<std::int64_t> lowest_identity;
    std::atomic<std::int64_t> highest_identity;
    std::atomic<std::int64_t> lowest_arguments;
    std::atomic<std::int64_t> highest_arguments;
    std::atomic<std::int32_t> lowest_call;
    std::atomic<std::int32_t> highest_call;
    /// Of the last two barriers, so that a slow rank still finds its own: first of the node, then of all.
    Attendance result[2];

    void reset();
    [[nodiscard]] std::atomic<std::uint8_t>* states() noexcept {
        return reinterpret_cast<std::atomic<std::uint8_t>*>(this + 1);
    }
};

/// A split-phase barrier in two levels. The ranks of a node meet at a counter in shared memory. Their first ranks meet
/// by the dissemination barrier of Hensgen, Finkel and Manber (1988): in round k each sends a token to the node 2^k
/// after its own and waits for one; then they let the others of their nodes go. The progress thread carries the rounds
/// on, so that they proceed between notify and wait.
class Barrier {
public:
    Barrier(messages::Engine& engine, const mpi::Topology& topology, int rank)
        : engine_{engine}, topology_{topology}, rank_{rank} {}

    /// From here on with `node`, which all ranks of the node map: needed where a node has several.
    void use_node(NodeBarrier* node) noexcept { node_ = node; }

    /// `arguments`: the call's arguments as a number; `none` matches any.
    void notify(CollectiveCall call, std::optional<std::int64_t> identity, std::optional<std::int64_t> arguments = {});
    /// Whether all ranks have notified; does not make progress by itself.
    [[nodiscard]] bool complete() const noexcept;
    /// What they brought, once complete.
    [[nodiscard]] Attendance attendance();
    /// This rank is the first of its node, has notified and looks whether the others have: nobody notifies it.
    [[nodiscard]] bool gathering() const noexcept { return gathering_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool notified() const noexcept { return notified_.load(std::memory_order_relaxed); }
    void end() noexcept;

    /// This rank has waited for a while; marks it, so that ranks that have not arrived can be recognised.
    void mark_waiting() noexcept;
    /// The rank that this one waits for, in words, as far as it is known.
    [[nodiscard]] std::optional<std::string> missing();

    /// A rank that waits in the close of this team, which this rank has not notified; -1 if none is known.
    [[nodiscard]] int closing_rank();

    // From the engine, with its mutex held.
    /// False: no such notification can come now.
    bool on_token(const messages::BarrierToken& token);
    void advance() {
        if (active_) advance_rounds();
    }

private:
    struct Received {
        bool here = false;
        Attendance attendance;
        int origin = 0;
    };
    // States of the ranks of a node.
    static constexpr std::uint8_t closing = 1;      ///< in the close of the team
    static constexpr std::uint8_t long_waiting = 2; ///< has waited for a while

    [[nodiscard]] int rounds() const noexcept { return static_cast<int>(topology_.next_leaders().size()); }
    [[nodiscard]] std::atomic<std::uint8_t>& state(int node_rank) const noexcept { return node_->states()[node_rank]; }
    void arrive(const Attendance& own);
    /// With the engine's mutex held: the node, of which this is the first rank, goes on.
    void advance_rounds();

    messages::Engine& engine_;
    const mpi::Topology& topology_;
    int rank_;
    NodeBarrier* node_ = nullptr;
    std::atomic<bool> notified_{false}; ///< read by closes of other teams
    std::uint64_t own_ = 0;             ///< the barrier that this rank has notified or will; by its calls only

    // Guarded by the engine's mutex. A rank is at most one barrier ahead of another, so two sets of rounds suffice.
    static constexpr int most_rounds = 32;
    std::uint64_t sequence_ = 0; ///< barriers that this rank has carried through
    int round_ = 0;
    bool gathered_ = false;              ///< the ranks of the node have come
    std::atomic<bool> gathering_{false}; ///< active and not gathered, for those without the mutex
    bool sent_ = false;
    bool active_ = false;
    Attendance merged_;
    Received received_[2][most_rounds];
    std::atomic<std::uint64_t> carried_{0}; ///< sequence_, for those who wait without the mutex
};

} // namespace lapwing::detail::team
