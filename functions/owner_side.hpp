#pragma once

#include "functions/messages.hpp"
#include "src/team/remote_functions.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/detail/functions/entry.hpp>
#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lapwing::detail::functions {

/// How a call has ended.
struct Outcome {
    std::uint64_t failed = 0;  ///< of its calls
    std::uint64_t unknown = 0; ///< number of the function if it is not known here
    std::string text{};        ///< of the first failure
};

/// The text of a failure, with the name of a function that is not known where it was to run, if it is here.
[[nodiscard]] std::string text_of_failure(std::string_view text, std::uint64_t unknown);

/// Runs the functions that others, and this rank itself, ask for. Used with the engine's mutex held, unless a function
/// says otherwise: so functions of progress never run at the same time.
class OwnerSide {
public:
    /// `any_waiting` is kept up to date. `waiting_functions`: see RemoteFunctions.
    OwnerSide(team::TeamState& team, std::atomic<bool>& any_waiting, const std::atomic<int>& waiting_functions) noexcept
        : team_{team}, any_waiting_{any_waiting}, waiting_functions_{waiting_functions} {}

    /// Runs the runs of a message; failures are kept for the fence of `origin`.
    void run_posts(Rank origin, std::span<const std::byte> message);
    /// Runs what an AskHead asks for; results go to `results`.
    [[nodiscard]] Outcome run(const AskHead& head, std::span<const std::byte> arguments, ByteWriter& results);
    /// Runs a run's calls, whose arguments follow one another. Without `results` none are asked for. Returns those that
    /// have failed, which have no meaningful result.
    [[nodiscard]] std::vector<FailedCall> run(const RelayRun& run, std::span<const std::byte> arguments,
                                              ByteWriter* results);
    /// What has failed of `origin`'s posts since the last time.
    [[nodiscard]] FailedPosts take_failed(Rank origin);

    /// A call that waits for the program's thread.
    struct Waiting {
        Rank origin{};
        AskHead head;
        std::vector<std::byte> arguments;
    };
    /// False: too many wait already. While a function for the program waits all are kept: an origin whose call finds no
    /// room sends nothing else either, such as the result that the function waits for.
    [[nodiscard]] bool keep(Rank origin, const AskHead& head, std::span<const std::byte> arguments);
    /// The same, however many do.
    void keep_all(Rank origin, const AskHead& head, std::span<const std::byte> arguments);
    [[nodiscard]] std::optional<Waiting> next();
    /// Of the calls that wait: their arguments, with what holds each.
    [[nodiscard]] std::size_t waiting_bytes() const noexcept {
        return waiting_bytes_ + waiting_.size() * sizeof(Waiting);
    }
    /// Without the mutex, in a thread of the program.
    [[nodiscard]] Outcome run(const Waiting& call, ByteWriter& results);

    /// Whether the calling thread runs a function of this team in a round of progress, and holds the engine's mutex.
    [[nodiscard]] bool runs_here() const noexcept;

    /// Functions that have run here, from any rank, at any time.
    [[nodiscard]] std::uint64_t finished() const noexcept { return finished_.load(std::memory_order_acquire); }
    /// Counts one of the program's, after what it has called has been counted.
    void count_finished(std::uint64_t count = 1) noexcept { finished_.fetch_add(count, std::memory_order_acq_rel); }

private:
    using Where = team::RunningFunction::Where;
    [[nodiscard]] Outcome run(Where where, std::uint64_t function, Invocation& call) const;
    /// A failure where the results fit into no message.
    void check_size(Outcome& outcome, const ByteWriter& results) const;
    [[nodiscard]] std::span<std::byte> part_of(std::uint64_t window);

    team::TeamState& team_;
    std::atomic<bool>& any_waiting_;
    const std::atomic<int>& waiting_functions_;
    std::unordered_map<int, Outcome> failed_posts_; ///< of the ranks that have some
    std::deque<Waiting> waiting_;
    std::size_t waiting_bytes_ = 0;
    std::atomic<std::uint64_t> finished_{0};
};

} // namespace lapwing::detail::functions
