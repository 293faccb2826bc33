#pragma once

#include "functions/caller_side.hpp"
#include "functions/messages.hpp"
#include "functions/outbox.hpp"
#include "functions/owner_side.hpp"
#include "functions/relay.hpp"
#include "src/team/remote_functions.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::detail::functions {

/// The functions of a team: what its ranks run for each other. Calls are remote calls of the engine, so they go the
/// same way whatever the paths of windows are.
class Functions final : public team::RemoteFunctions {
public:
    explicit Functions(team::TeamState& team);

    [[nodiscard]] static Functions& of(team::TeamState& team) noexcept {
        return static_cast<Functions&>(team.epoch().functions());
    }
    [[nodiscard]] CallerSide& caller() noexcept { return caller_; }
    [[nodiscard]] OwnerSide& owner() noexcept { return owner_; }
    [[nodiscard]] Relay& relay() noexcept { return relay_; }

    // RemoteFunctions
    void complete() override { caller_.complete(); }
    void on_progress() override;

private:
    void run_for_program() override;
    void send_gathered_here(bool idle) override { caller_.send_gathered(idle); }
    /// Handlers: with the engine's mutex held.
    [[nodiscard]] bool on_ask(Rank origin, std::span<const std::byte> bytes, std::span<std::byte> answer);
    /// Keeps arguments for the AskHead that follows.
    void on_deposit(Rank origin, std::span<const std::byte> bytes);
    void on_result(std::span<const std::byte> bytes);

    void send_result(Rank origin, const ResultHead& head, std::span<const std::byte> bytes);
    void send_outcome(Rank origin, std::uint64_t token, const Outcome& outcome, const ByteWriter& results);

    team::TeamState& team_;
    Outbox outbox_{team_};
    ByteWriter results_; ///< of the function that runs for an answer
    std::map<std::pair<int, std::uint64_t>, std::vector<std::byte>> deposited_; ///< by origin and token
    OwnerSide owner_{team_, wait_for_program_, waiting_functions_};
    Relay relay_{team_, owner_, outbox_, under_way_};
    CallerSide caller_{team_, owner_, outbox_, relay_, under_way_, gathering_};
    std::atomic<bool> running_for_program_{false};
};

} // namespace lapwing::detail::functions
