#pragma once

#include "src/messages/engine.hpp"
#include "src/mpi/topology.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/support/backoff.hpp"
#include "src/support/mutex.hpp"
#include "src/team/communicators.hpp"
#include "src/team/engine_events.hpp"
#include "src/team/epoch.hpp"
#include "src/team/lifecycle.hpp"
#include "src/team/membership.hpp"
#include "src/team/path_choice.hpp"
#include "src/team/progress_driver.hpp"
#include "src/team/remote_functions.hpp"
#include "src/team/synchronisation.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/team.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lapwing::detail::team {

/// What a room above, or the locks, keep for each team: see TeamState::part().
class TeamPart {
public:
    virtual ~TeamPart() = default;
    /// The program's open objects that depend on the part, as in "2 of its locks": such a team cannot be closed. Empty:
    /// none.
    [[nodiscard]] virtual std::string still_open() const { return {}; }
    /// Collective: the team closes, and no rank uses it any more. At most one type of parts may make collective calls
    /// here.
    virtual void close() {}
};

/// The inside of a Team: its parts, and the waits that they and the rooms above share.
class TeamState {
public:
    /// Collective.
    TeamState(MPI_Comm communicator, const Settings& settings);
    ~TeamState();
    TeamState(const TeamState&) = delete;
    TeamState& operator=(const TeamState&) = delete;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    /// The same on all ranks, and above those of all teams that any of them was in when it was made. Only teams that
    /// were made at the same time can have one number.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    /// "rank 2 of 4", the start of messages.
    [[nodiscard]] const std::string& who() const noexcept { return who_; }
    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
    [[nodiscard]] support::Statistics& statistics() noexcept { return statistics_; }
    /// Of collective calls and windows.
    [[nodiscard]] MPI_Comm communicator() const noexcept { return communicators_.collectives(); }
    [[nodiscard]] Communicators& communicators() noexcept { return communicators_; }

    [[nodiscard]] const mpi::Topology& topology() const noexcept { return *topology_; }
    /// Collective. How operations travel on windows of this kind: made by Lapwing, or adopted with displacements of
    /// `unit` bytes.
    [[nodiscard]] mpi::ProbeResult try_windows(mpi::WindowKind kind, bool adopted, int unit = 1) const;
    [[nodiscard]] const PathChoice& paths() const noexcept { return paths_; }
    [[nodiscard]] Path path(Rank target) const noexcept;
    /// Puts and gets of fewer bytes are messages on the path rma, too. 0: none.
    [[nodiscard]] std::uint64_t least_rma_bytes() const noexcept {
        constexpr std::uint64_t largest_small = 8192; // for more the bytes cost more than the start
        return paths_.small_by_messages ? std::min(engine_->inline_limit(), largest_small) + 1 : 0;
    }

    [[nodiscard]] messages::Engine& engine() noexcept { return *engine_; }
    [[nodiscard]] Membership& membership() noexcept { return *membership_; }
    [[nodiscard]] Synchronisation& synchronisation() noexcept { return *synchronisation_; }
    [[nodiscard]] ProgressDriver& progress_driver() noexcept { return *progress_driver_; }
    [[nodiscard]] const ProgressDriver& progress_driver() const noexcept { return *progress_driver_; }
    [[nodiscard]] Epoch& epoch() noexcept { return epoch_; }
    [[nodiscard]] Lifecycle& lifecycle() noexcept { return lifecycle_; }
    [[nodiscard]] const Lifecycle& lifecycle() const noexcept { return lifecycle_; }
    /// The team's one object of a type that a room above defines, made by the first call; it lives as long as the team.
    template <class Part>
    [[nodiscard]] Part& part() {
        static_assert(std::is_base_of_v<TeamPart, Part>);
        const std::lock_guard guard{parts_mutex_};
        std::unique_ptr<TeamPart>& part = parts_[std::type_index{typeid(Part)}];
        if (part == nullptr) part = std::make_unique<Part>();
        return static_cast<Part&>(*part);
    }
    void for_each_part(const std::function<void(TeamPart&)>& step);

    /// Waits until `done()` holds, making progress, and in collective calls runs other ranks' functions that wait for
    /// the program. Throws UsageError in a function that must not wait, PeerLeftError when `target` (a rank, or
    /// Membership::any_rank or next_collective) has left, the failure of progress, MismatchError when ranks are found
    /// to wait in different collective calls, and InterruptedError when the program's wait hook ends the wait; `call`
    /// goes into the message. A wait of some seconds is reported on standard error, once.
    template <class Done>
    void wait_until(Done&& done, const char* call, Rank target = Membership::any_rank) {
        refuse_in_function(*this, call);
        if (done()) return;
        if (target == Membership::next_collective) epoch_.functions().send_gathered();
        const Waiting waiting{epoch_.functions()};
        const ProgressDriver::Driving driving{*progress_driver_};
        support::Backoff backoff{topology_->processors().share()};
        support::WaitTimer timer;
        while (!done()) {
            if (progress()) backoff.reset();
            else backoff.pause();
            if (target == Membership::next_collective) epoch_.functions().serve_program();
            // The news that a rank has left may arrive before what it had done is seen.
            // Once true, it must not be asked again: some conditions start an operation.
            if (membership_->troubled()) {
                if (done()) return;
                membership_->check(call, target.value);
            }
            if (timer.looks_up()) [[unlikely]]
                look_after(timer, call, target);
        }
    }
    /// Throws PeerLeftError when `target` has left, so that an operation on it would never complete.
    void check_reachable(const char* call, Rank target) {
        refuse_in_function(*this, call);
        if (membership_->troubled()) membership_->check(call, target.value);
    }
    /// Throws the failure of progress, or that MPI is finalized.
    void check_usable(const char* call) { check_reachable(call, rank_); }
    /// Throws UsageError when the team is closed, and when MPI is finalized.
    void require_open(const char* call) const;
    /// One round of progress by the calling thread, for this team and those that have no progress thread, and at one
    /// call in sixteen for some of the others. Whether anything moved.
    bool progress() noexcept;

    using Memory = std::unique_ptr<std::byte[]>;
    /// Waits for the request that `start(memory)` returns, or an array of them, of a collective call or of messages
    /// that are part of one, serving other ranks meanwhile. The memory is kept when the wait ends by an exception: MPI
    /// may still write there.
    template <class Start>
    void complete(Memory& memory, const char* call, Start start) {
        auto requests = start(memory.get());
        try {
            if constexpr (std::is_same_v<decltype(requests), MPI_Request>) wait({&requests, 1}, call);
            else wait(requests, call);
        } catch (...) {
            give_up(std::move(memory));
            throw;
        }
    }
    /// Collective: waits until all ranks are here, serving them meanwhile; no part of the synchronisation of memory.
    void wait_for_all(const char* call);

    /// Memory that every rank of the team exposes to the service path under this window's number, to measure how long
    /// messages take: its contents do not matter.
    static constexpr std::uint64_t calibration_window = 0;
    static constexpr std::uint64_t calibration_bytes = 256 * 1024;

    /// Collective, at the end: frees the windows, and the communicators except communicator().
    void free_mpi() noexcept;

private:
    /// Collective: nobody may send to an engine that does not listen yet, and all ranks get a team, or none.
    void start_progress();
    /// A wait takes long: looks for mismatches, asks the program's wait hook, and says once what it waits for.
    void look_after(support::WaitTimer& timer, const char* call, Rank target);
    void report_wait(const support::WaitTimer& timer, const char* call, Rank target);
    void wait(std::span<MPI_Request> requests, const char* call);
    void give_up(Memory memory) noexcept;

    Settings settings_;
    support::Statistics statistics_;
    Communicators communicators_;
    int rank_ = 0;
    int size_ = 0;
    std::string who_;
    std::uint64_t number_ = 0;
    std::shared_ptr<mpi::Topology> topology_;
    PathChoice paths_;
    std::chrono::seconds wait_report_{0}; ///< 0: none

    EngineEvents engine_events_;
    std::unique_ptr<messages::Engine> engine_;
    std::optional<Synchronisation> synchronisation_;
    std::optional<Membership> membership_;
    std::optional<ProgressDriver> progress_driver_;
    Epoch epoch_{*this};
    Lifecycle lifecycle_{*this};

    support::AlignedMemory calibration_;
    support::Mutex given_up_mutex_{support::LockRank::leaf};
    std::vector<Memory> given_up_;
    support::Mutex parts_mutex_{support::LockRank::team_parts};
    std::unordered_map<std::type_index, std::unique_ptr<TeamPart>> parts_;
};

} // namespace lapwing::detail::team
