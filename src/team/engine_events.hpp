#pragma once

#include "src/messages/engine_listener.hpp"
#include "src/team/membership.hpp"
#include "src/team/remote_functions.hpp"
#include "src/team/synchronisation.hpp"

#include <cstdint>
#include <string>

namespace lapwing::detail::team {

/// Passes on what the engine learns of other ranks to the parts of the team.
class EngineEvents final : public messages::EngineListener {
public:
    /// Before the engine makes its first round of progress.
    void pass_to(Membership& membership, Synchronisation& synchronisation, RemoteFunctions& functions) noexcept {
        membership_ = &membership;
        synchronisation_ = &synchronisation;
        functions_ = &functions;
    }

    bool on_barrier_token(const messages::BarrierToken& token) override { return synchronisation_->on_token(token); }
    bool on_waiting(const messages::WaitingNote& note) override { return synchronisation_->on_note(note); }
    void on_failed(const std::string& text, int code) noexcept override {
        if (membership_ != nullptr)
            membership_->fail(text, code); // else the engine is being made, and its constructor throws
    }
    void on_abandoned_access() override { membership_->on_abandoned_access(); }
    bool on_peer_left(int rank, std::uint64_t collectives, std::uint32_t reason) override {
        return membership_->on_peer_left(rank, collectives, reason);
    }
    void on_progress() override {
        synchronisation_->advance();
        membership_->pass_on();
        functions_->on_progress();
    }

private:
    Membership* membership_ = nullptr;
    Synchronisation* synchronisation_ = nullptr;
    RemoteFunctions* functions_ = nullptr;
};

} // namespace lapwing::detail::team
