#pragma once

#include "window/backoff.hpp"
#include "window/barrier.hpp"
#include "window/progress/engine.hpp"
#include "window/progress/progress_thread.hpp"
#include "window/topology.hpp"

#include <lapwing/settings.hpp>
#include <lapwing/team.hpp>

#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lapwing::window {

class WindowState;

/// The inside of a Team: what its windows, locks and barriers share.
class TeamState final : public Progressing, public EngineListener {
public:
    /// Collective.
    TeamState(MPI_Comm communicator, const Settings& settings);
    ~TeamState() override;
    TeamState(const TeamState&) = delete;
    TeamState& operator=(const TeamState&) = delete;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] MPI_Comm communicator() const noexcept { return communicator_; }
    [[nodiscard]] const Topology& topology() const noexcept { return *topology_; }
    [[nodiscard]] Path network_path() const noexcept { return network_path_; }
    /// MPI's atomics do not work here: see atomics_crash().
    [[nodiscard]] bool avoids_mpi_atomics() const noexcept { return avoids_mpi_atomics_; }
    [[nodiscard]] ProgressMode progress_mode() const noexcept { return progress_mode_; }
    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
    [[nodiscard]] Engine& engine() noexcept { return *engine_; }
    [[nodiscard]] support::Statistics& statistics() noexcept { return statistics_; }
    [[nodiscard]] const std::string& who() const noexcept { return who_; }
    [[nodiscard]] std::string report() const;
    [[nodiscard]] Path path(int target) const noexcept;

    /// Waits until `done()` holds, making progress. Throws PeerLeftError when `target` (or any rank, for no_rank) has
    /// left, and what the progress thread failed with; `call` goes into the message.
    static constexpr int no_rank = -1;
    template <class Done>
    void wait_until(Done&& done, const char* call, int target = no_rank) {
        if (done()) return;
        const Driving driving{*this};
        Backoff backoff{topology_->processors().share()};
        while (!done()) {
            if (progress()) backoff.reset();
            else backoff.pause();
            // The news of a rank that left may be here before what it had done is seen.
            if (troubled_.load(std::memory_order_relaxed) && !done()) check_trouble(call, target);
        }
    }
    /// Throws PeerLeftError when `target` has left, so that an operation on it would never complete.
    void check_reachable(const char* call, int target) {
        if (troubled_.load(std::memory_order_relaxed)) check_trouble(call, target);
    }

    using Memory = std::unique_ptr<std::byte[]>;
    /// Waits for the request that `start(memory)` returns, serving other ranks meanwhile. The memory is kept when the wait
    /// ends by an exception: MPI may still write there.
    template <class Start>
    void complete(Memory& memory, const char* call, Start start) {
        MPI_Request request = start(memory.get());
        try {
            wait(request, call);
        } catch (...) {
            give_up(std::move(memory));
            throw;
        }
    }

    /// One round of progress by the calling thread.
    bool progress() { return engine_->progress(); }

    void barrier(CollectiveCall call, std::optional<std::int64_t> identity);
    void notify(CollectiveCall call, std::optional<std::int64_t> identity);
    void wait_barrier(CollectiveCall call, std::optional<std::int64_t> identity);

    /// The program's split-phase barrier; the identity of the wait must be that of the notify.
    void notify_split(std::optional<std::int64_t> identity);
    void wait_split(std::optional<std::int64_t> identity);
    /// Throws UsageError when the team is closed.
    void require_open(const char* call) const;

    void release();
    void acquire();

    void add(WindowState& window);
    void remove(WindowState& window) noexcept;
    [[nodiscard]] std::uint64_t next_window_number() noexcept { return next_window_number_++; }

    /// Makes sure that the progress thread of `target` polls: for operations that MPI carries out without Lapwing's
    /// engine seeing them. Costs a load and a compare when that was done a few milliseconds ago.
    void keep_awake(int target) {
        if (progress_mode_ != ProgressMode::thread) return;
        const std::uint32_t tick = tick_.load(std::memory_order_relaxed);
        auto& entry = awake_[static_cast<std::size_t>(target) % awake_.size()];
        const std::uint64_t wanted = static_cast<std::uint64_t>(static_cast<std::uint32_t>(target)) << 32 | tick;
        if (entry.load(std::memory_order_relaxed) == wanted) return;
        entry.store(wanted, std::memory_order_relaxed);
        engine_->try_wake(target);
        ProgressThread::instance().nudge(); // its tick stands still while it sleeps
    }

    /// Collective.
    void close();
    /// Leaves without waiting for anyone, telling the others.
    void leave() noexcept;
    /// For a destructor whose close cannot complete: keeps serving until MPI ends.
    static void defer(std::unique_ptr<TeamState> team) noexcept;
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    /// A rank that waits in the close of this team, which this rank has not closed; -1 if none is known.
    [[nodiscard]] int closing_rank() { return close_notified_ ? -1 : barrier_->closing_rank(); }
    /// MPI ends while the team is open: stops using it.
    void on_finalize() noexcept;
    [[nodiscard]] bool left() const noexcept { return left_; }
    /// A rank of the team is known to have left it.
    [[nodiscard]] bool broken() const noexcept { return broken_.load(std::memory_order_acquire); }

    // Progressing
    Round progress_round(Clock::time_point now) noexcept override;
    [[nodiscard]] bool driven() const noexcept override { return drivers_.load(std::memory_order_relaxed) > 0; }
    // EngineListener
    void on_barrier_token(const BarrierToken& token) override { barrier_.value().on_token(token); }
    void on_departed(int rank) override;
    void on_progress() override;

private:
    /// A computation thread that waits, and drives progress meanwhile.
    struct Driving {
        explicit Driving(TeamState& team) : team_{team} { team_.drivers_.fetch_add(1, std::memory_order_relaxed); }
        ~Driving() { team_.drivers_.fetch_sub(1, std::memory_order_relaxed); }
        TeamState& team_;
    };

    void wait(MPI_Request& request, const char* call);
    void give_up(Memory memory) noexcept;
    void choose_paths();
    void make_node_barrier();
    void start_progress();
    void stop_progress() noexcept;
    void free_mpi() noexcept;
    /// Throws if the trouble concerns a wait for `target`.
    void check_trouble(const char* call, int target);
    void check_attendance(CollectiveCall call, std::optional<std::int64_t> identity);
    void check_other_closes();

    Settings settings_;
    support::Statistics statistics_;
    MPI_Comm communicator_ = MPI_COMM_NULL;        ///< collectives and windows
    MPI_Comm engine_communicator_ = MPI_COMM_NULL; ///< the engine's messages
    int rank_ = 0;
    int size_ = 0;
    std::string who_;
    std::unique_ptr<Topology> topology_;
    Path network_path_ = Path::direct;
    ProgressMode progress_mode_ = ProgressMode::caller;
    std::string path_reason_;
    bool avoids_mpi_atomics_ = false;

    std::unique_ptr<Engine> engine_;
    std::optional<Barrier> barrier_;
    MPI_Win node_window_ = MPI_WIN_NULL; ///< holds the node barrier
    std::optional<std::int64_t> notify_identity_;

    std::mutex windows_mutex_;
    std::vector<WindowState*> windows_;
    std::uint64_t next_window_number_ = 1;

    std::atomic<int> drivers_{0};
    const std::atomic<std::uint32_t>& tick_ = ProgressThread::instance().tick();
    std::array<std::atomic<std::uint64_t>, 256> awake_{};
    std::uint64_t seen_wakes_ = 0;                                ///< progress thread only
    std::chrono::steady_clock::time_point awake_until_{};         ///< progress thread only

    /// Something is wrong that waits must look at: a departed rank or a failure of the progress thread.
    std::atomic<bool> troubled_{false};
    std::atomic<bool> broken_{false};
    std::mutex trouble_mutex_;
    std::vector<int> departed_;
    std::vector<int> departed_to_tell_; ///< guarded by the engine's mutex
    int departed_next_ = 0;             ///< neighbour that is told next
    std::string failure_;
    std::vector<Memory> given_up_;

    bool progressing_ = false;
    bool close_notified_ = false;
    bool closed_ = false;
    bool left_ = false;
};

} // namespace lapwing::window
