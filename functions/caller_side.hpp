#pragma once

#include "functions/asked.hpp"
#include "functions/messages.hpp"
#include "functions/outbox.hpp"
#include "functions/owner_side.hpp"
#include "functions/relay.hpp"
#include "functions/slots.hpp"
#include "functions/spare_messages.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/detail/functions/batches.hpp>
#include <lapwing/detail/functions/calls.hpp>
#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lapwing::detail::functions {

/// The calls that this rank makes. The tables are used with the engine's mutex held.
class CallerSide {
public:
    /// `under_way` and `gathering` are kept up to date: see RemoteFunctions.
    CallerSide(team::TeamState& team, OwnerSide& owner, Outbox& outbox, Relay& relay, std::atomic<bool>& under_way,
               std::atomic<bool>& gathering) noexcept
        : team_{team}, owner_{owner}, outbox_{outbox}, relay_{relay}, under_way_{under_way}, gathering_{gathering} {}

    ~CallerSide();
    CallerSide(const CallerSide&) = delete;
    CallerSide& operator=(const CallerSide&) = delete;

    [[nodiscard]] team::TeamState& team() noexcept { return team_; }
    [[nodiscard]] SpareMessages& spare_messages() noexcept { return spare_messages_; }

    /// Sends a message of runs, with `calls` in all. In a function that must not wait, later if there is no room. The
    /// message is copied; with an `operation` it may be sent from where it is until that is done.
    void post(const Destination& to, std::span<const std::byte> message, std::uint64_t calls,
              messages::Operation* operation = nullptr);
    /// Waits until the message of an operation of post() has left, or keeps it until then.
    void wait(const Destination& to, const messages::Operation& operation);
    void keep_until_left(const std::shared_ptr<Outgoing>& outgoing);
    /// Calls at several ranks: see Relay. Waits for those that this rank has sent directly, which run before them, and
    /// while the relay is full; not in a function that must not wait. `call`: of the program, for messages.
    [[nodiscard]] std::shared_ptr<Transit> relay(const char* call, CallList& calls, std::uint32_t result_bytes);
    /// Whether functions may be under way to a rank.
    [[nodiscard]] bool has_posted(Rank target);
    /// Asks, or has this rank itself run it.
    [[nodiscard]] std::unique_ptr<Asked> ask(const Destination& to, AskHead head, std::span<const std::byte> arguments,
                                             std::size_t room);
    /// A post for Where::program: its end is waited for by a release.
    void keep(std::unique_ptr<Asked> asked);
    /// The same in a function that must not wait.
    void ask_later(const Destination& to, AskHead head, std::span<const std::byte> arguments);

    /// See RemoteFunctions.
    void complete();
    enum class Relayed : bool { all, posts };
    /// Waits until the calls have run that the relay has of this rank, or those without results. Not in a function that
    /// must not wait.
    void complete_relayed(const char* call, Relayed which = Relayed::all);
    /// Waits until those without results have run that were sent directly.
    void complete_direct(const char* call);
    /// The next release throws this, unless there was a failure before it.
    void note_failure(const char* text) noexcept;
    /// From now on releases of the calling thread finish it; and no longer.
    void add(Batches& batches);
    void remove(Batches& batches) noexcept;
    /// Sends what those of the calling thread have, unless one of them is at it. `idle`: if it has been the same since
    /// the last such call.
    void send_gathered(bool idle);

    /// With the engine's mutex held: a result has come. Nothing where its call was dropped.
    void deliver(std::uint64_t token, bool failed, std::span<const std::byte> bytes);
    /// A call is dropped, or its result was taken.
    void forget(Asked& asked) noexcept;

    /// Calls that this rank has begun at any time.
    [[nodiscard]] std::uint64_t begun() const noexcept { return begun_.load(std::memory_order_acquire); }

    /// Throws RangeError unless the message fits into one, or, for the program, into a packet.
    void require_room(const Destination& to, const char* type, std::size_t bytes, bool for_program) const;
    /// In a function that must not wait: throws RangeError where `kept` bytes, and so many more, are too much to wait
    /// here.
    void require_room_to_keep(const char* call, std::size_t kept, std::size_t bytes) const;
    /// Throws RangeError for what is no rank.
    void require_rank(const Destination& to) const;

private:
    struct Named {
        Asked* asked = nullptr; ///< null: the slot is free
        std::uint32_t generation = 0;
    };
    using Posted = std::vector<std::pair<int, std::uint64_t>>;

    [[nodiscard]] std::vector<Batches*> batches_of_thread();
    /// Waits for the calls that have been sent.
    void complete_sent();
    void name(Asked& asked);
    void note_posted(Rank target);
    using Kept = std::list<std::unique_ptr<Asked>>;
    /// Posts for programs that have ended, for note_failures() without the mutex.
    [[nodiscard]] Kept take_ended();
    void note_failures(const Kept& ended);
    /// Waits for the fences of these ranks. Keeps the first failure for a release.
    void fence(const char* call, std::span<const Posted::value_type> targets);
    [[nodiscard]] std::string text_of(Rank target, const FailedPosts& failed) const;
    void run_here(Asked& asked, const AskHead& head, std::span<const std::byte> arguments);
    void update_under_way() noexcept;

    team::TeamState& team_;
    OwnerSide& owner_;
    Outbox& outbox_;
    Relay& relay_;
    std::atomic<bool>& under_way_;
    std::atomic<bool>& gathering_;
    SpareMessages spare_messages_;
    std::atomic<std::uint64_t> begun_{0};
    std::unordered_map<int, std::uint64_t> posted_;             ///< messages to each rank since its last fence
    Slots<Named> named_;                                        ///< by the low half of tokens
    std::list<std::unique_ptr<Asked>> kept_;                    ///< posts for programs
    std::string kept_problem_;                                  ///< what the first of them has thrown that has ended
    std::vector<std::pair<std::thread::id, Batches*>> batches_; ///< that releases finish
    std::uint64_t for_program_ = 0;                             ///< calls for programs that have not ended
};

} // namespace lapwing::detail::functions
