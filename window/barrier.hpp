#pragma once

#include "window/progress/command.hpp"
#include "window/progress/engine.hpp"

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::window {

/// Collective calls that start with a barrier. Ranks that meet in different ones are told so.
enum class CollectiveCall : std::int32_t { barrier, window_create, window_close, team_close };

[[nodiscard]] const char* name(CollectiveCall call);
/// Whether `call` is the name of one of them.
[[nodiscard]] bool begins_with_barrier(std::string_view call);

/// What the ranks brought to a barrier, merged: minimum and maximum, which are equal when all agree.
struct Attendance {
    std::int64_t lowest_identity = std::numeric_limits<std::int64_t>::max();
    std::int64_t highest_identity = std::numeric_limits<std::int64_t>::min();
    std::int32_t lowest_call = std::numeric_limits<std::int32_t>::max();
    std::int32_t highest_call = std::numeric_limits<std::int32_t>::min();

    void merge(const Attendance& other);
};

/// The part of a barrier that the ranks of one node share, in memory that all of them map. Zero bytes are not a valid
/// state: one rank calls reset() before the others use it.
struct NodeBarrier {
    std::atomic<std::uint32_t> arrived;
    std::atomic<std::uint64_t> generation;
    std::atomic<std::int64_t> lowest_identity;
    std::atomic<std::int64_t> highest_identity;
    std::atomic<std::int32_t> lowest_call;
    std::atomic<std::int32_t> highest_call;
    /// Of the last two barriers, so that a slow rank still finds its own.
    Attendance result[2];

    void reset();
};

/// A split-phase barrier. On one node: a counter in shared memory. Otherwise the dissemination barrier of Hensgen, Finkel
/// and Manber (1988): in round k each rank sends a token 2^k ranks on and waits for one; the progress thread carries the
/// rounds on, so that they proceed between notify and wait.
class Barrier {
public:
    Barrier(Engine& engine, int rank, int size) : engine_{engine}, rank_{rank}, size_{size} {}

    /// From here on through `node`, which all ranks of the team map. `states` has a byte for each of them.
    void use_node(NodeBarrier* node, std::atomic<std::uint8_t>* states) {
        node_ = node;
        states_ = states;
    }

    void notify(CollectiveCall call, std::optional<std::int64_t> identity);
    /// Whether all ranks have notified; does not make progress by itself.
    [[nodiscard]] bool complete();
    /// What they brought, once complete.
    [[nodiscard]] Attendance attendance();
    [[nodiscard]] bool notified() const noexcept { return notified_.load(std::memory_order_relaxed); }
    void end() noexcept;

    /// This rank has waited for a while: so those that have not can be told from it.
    void mark_waiting() noexcept;
    /// Whom this rank waits for, in words, as far as it is known.
    [[nodiscard]] std::optional<std::string> missing();

    /// A rank that waits in the close of this team, which this rank has not notified; -1 if none is known.
    [[nodiscard]] int closing_rank();

    // From the engine, with its mutex held.
    void on_token(const BarrierToken& token);
    void advance();

private:
    struct Received {
        bool here = false;
        Attendance attendance;
        int origin = 0;
    };

    Engine& engine_;
    int rank_;
    int size_;
    NodeBarrier* node_ = nullptr;
    static constexpr std::uint8_t closing = 1;      ///< the rank is in the close of the team
    static constexpr std::uint8_t long_waiting = 2; ///< it has waited for a while
    std::atomic<std::uint8_t>* states_ = nullptr;
    std::atomic<bool> notified_{false}; ///< read by closes of other teams

    // Guarded by the engine's mutex. A rank is at most one barrier ahead of another, so two sets of rounds suffice.
    static constexpr int most_rounds = 32;
    std::uint64_t sequence_ = 0;
    int round_ = 0;
    int rounds_ = -1; ///< computed at first use
    bool sent_ = false;
    bool active_ = false;
    Attendance merged_;
    Received received_[2][most_rounds];
    std::atomic<bool> complete_{false};
};

} // namespace lapwing::window
