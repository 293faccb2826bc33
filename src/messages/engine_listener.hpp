#pragma once

#include "src/messages/request.hpp"

#include <cstdint>
#include <string>

namespace lapwing::detail::messages {

/// What the engine reports to its team. Called with the engine's mutex held: must not block, and may call the engine
/// only where it says "from the listener or a handler".
class EngineListener {
public:
    virtual ~EngineListener() = default;
    // These return false if another rank's message is not valid.
    virtual bool on_barrier_token(const BarrierToken& token) = 0;
    /// Another rank has waited for a while in a collective call.
    virtual bool on_waiting(const WaitingNote& note) = 0;
    /// `collectives`: the collective calls that it completed before it left.
    virtual bool on_peer_left(int rank, std::uint64_t collectives, std::uint32_t why) = 0;

    /// The engine cannot work as promised any more: an MPI call failed (`code` is what it returned, else 0), or another
    /// rank's request was not valid. Operations under way may never complete; the engine goes on as far as it can.
    virtual void on_failed(const std::string& text, int code) noexcept = 0;
    /// Another rank asks for a window of which this rank has abandoned its part.
    virtual void on_abandoned_access() = 0;
    /// Called at the end of every round of progress, to send what could not be sent before.
    virtual void on_progress() = 0;
};

} // namespace lapwing::detail::messages
