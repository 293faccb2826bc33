#pragma once

#include "src/messages/engine.hpp"
#include "src/messages/progress_thread.hpp"
#include "src/mpi/topology.hpp"
#include "src/support/aligned_memory.hpp"
#include "src/support/backoff.hpp"
#include "src/support/biased_mutex.hpp"
#include "src/team/barrier.hpp"
#include "src/team/collective_watch.hpp"
#include "src/team/epoch_member.hpp"
#include "src/team/path_choice.hpp"

#include <lapwing/settings.hpp>
#include <lapwing/team.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lapwing::team {

/// What a room above, or the locks, keep for each team: see TeamState::part().
class TeamPart {
public:
    virtual ~TeamPart() = default;
    /// What of the program's stands on it and is open, as in "2 of its locks": such a team is not closed. Empty: nothing.
    [[nodiscard]] virtual std::string still_open() const { return {}; }
    /// Collective: the team closes, and no rank uses it any more. At most one type of parts makes collective calls here.
    virtual void close() {}
};

/// The inside of a Team: what its windows, locks and barriers share.
class TeamState final : public messages::Progressing, public messages::EngineListener {
public:
    /// Collective.
    TeamState(MPI_Comm communicator, const Settings& settings);
    ~TeamState() override;
    TeamState(const TeamState&) = delete;
    TeamState& operator=(const TeamState&) = delete;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] MPI_Comm communicator() const noexcept { return communicator_; }
    /// Of broadcasts, which so meet no reduction of a rank that is in another call.
    [[nodiscard]] MPI_Comm broadcast_communicator() const noexcept { return broadcast_communicator_; }
    /// Of the engine's messages alone.
    [[nodiscard]] MPI_Comm engine_communicator() const noexcept { return engine_communicator_; }
    [[nodiscard]] const mpi::Topology& topology() const noexcept { return *topology_; }
    [[nodiscard]] Path network_path() const noexcept { return paths_.network; }
    /// MPI's atomics do not work here: see atomics_crash().
    [[nodiscard]] bool avoids_mpi_atomics() const noexcept { return paths_.avoids_mpi_atomics; }
    /// Whether small puts and gets, and atomics on windows that nobody else uses, are messages to the owner on the path rma, too.
    [[nodiscard]] bool small_by_messages() const noexcept { return paths_.small_by_messages; }
    /// Puts and gets of fewer bytes are such messages. 0: none.
    [[nodiscard]] std::uint64_t least_rma_bytes() const noexcept {
        constexpr std::uint64_t largest_small = 8192; // beyond it the bytes cost more than the start
        return paths_.small_by_messages ? std::min(engine_->inline_limit(), largest_small) + 1 : 0;
    }
    [[nodiscard]] ProgressMode progress_mode() const noexcept { return paths_.progress; }
    [[nodiscard]] const Settings& settings() const noexcept { return settings_; }
    [[nodiscard]] messages::Engine& engine() noexcept { return *engine_; }
    [[nodiscard]] support::Statistics& statistics() noexcept { return statistics_; }
    [[nodiscard]] const std::string& who() const noexcept { return who_; }
    [[nodiscard]] std::string report() const;
    [[nodiscard]] Path path(int target) const noexcept;

    /// Waits until `done()` holds, making progress. Throws PeerLeftError when `target` has left, what progress failed with, and
    /// MismatchError when ranks are found to wait in different collective calls; `call` goes into the message. A wait of some
    /// seconds is told on standard error, once.
    static constexpr int any_rank = -1; ///< for `target`: anybody may be needed
    /// For `target`: everybody is needed in the next collective call. A rank that made it and then left was there.
    static constexpr int next_collective = -2;
    template <class Done>
    void wait_until(Done&& done, const char* call, int target = any_rank) {
        if (done()) return;
        const Driving driving{*this};
        support::Backoff backoff{topology_->processors().share()};
        support::Patience patience;
        while (!done()) {
            if (progress()) backoff.reset();
            else backoff.pause();
            // The news of a rank that left may be here before what it had done is seen.
            // And what is done must not be asked again: some start an operation.
            if (troubled_.load(std::memory_order_relaxed)) {
                if (done()) return;
                check_trouble(call, target);
            }
            if (patience.looks_up()) [[unlikely]] look_after(patience, call, target);
        }
    }
    /// Whether check_reachable() has anything to look at.
    [[nodiscard]] bool troubled() const noexcept { return troubled_.load(std::memory_order_relaxed); }
    /// Throws PeerLeftError when `target` has left, so that an operation on it would never complete.
    void check_reachable(const char* call, int target) {
        if (troubled_.load(std::memory_order_relaxed)) check_trouble(call, target);
    }
    /// Throws what progress failed with, or that MPI is finalized.
    void check_usable(const char* call) { check_reachable(call, rank_); }

    using Memory = std::unique_ptr<std::byte[]>;
    /// Waits for the request that `start(memory)` returns, of a collective call or of a message that is part of one, serving
    /// other ranks meanwhile. The memory is kept when the wait ends by an exception: MPI may still write there.
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

    /// Collective: waits until all ranks are here, serving them meanwhile; no part of the synchronisation of memory.
    void wait_for_all(const char* call);

    /// A collective call of all ranks is complete on this one; `call` is the name that waits for it have, of static storage.
    void count_collective(const char* call) noexcept {
        watch_->completed(collectives_.fetch_add(1, std::memory_order_relaxed), call);
    }

    /// Throws UsageError when a wait of this rank for notifications of `window` is in vain: all other ranks are closing it.
    void check_notifiers(const EpochMember& window, const char* call);

    /// One round of progress by the calling thread, for this team and those that have no progress thread.
    bool progress();
    /// By calls that programs repeat until another rank has done something, and that wait for nothing themselves: a round of
    /// progress every few calls where no thread makes any.
    void serve_now_and_then() {
        if (needs_callers_) serve_at_call(without_thread_mask);
    }
    /// By those of them that only look: a progress thread may be asleep, or without a processor beside a loop of such calls.
    void serve_looks() {
        if (serve_mask_ != 0) serve_at_call(serve_mask_);
    }
    /// Only calls into Lapwing keep this team moving, those that concern other teams too.
    [[nodiscard]] bool needs_callers() const noexcept { return needs_callers_; }
    /// One round of progress for this team; failures are kept for those who wait.
    bool serve() noexcept;

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

    /// The barrier that the close of a window begins with. Throws MismatchError on every rank unless all close that window.
    void barrier_of_close(const EpochMember& window);

    void add(EpochMember& member);
    void remove(EpochMember& member) noexcept;
    [[nodiscard]] std::uint64_t next_window_number() noexcept { return next_window_number_++; }

    /// Makes sure that the progress thread of `target` polls: for operations that MPI carries out without Lapwing's
    /// engine seeing them. Costs a load and a compare when that was done a few milliseconds ago.
    void keep_awake(int target) {
        if (awake_ == nullptr) return;
        const Awake wanted = static_cast<Awake>(static_cast<unsigned>(target)) << 32 | tick_.load(std::memory_order_relaxed);
        // Hashed, since neighbours in a grid are powers of 2 apart.
        std::atomic<Awake>& last = awake_[(static_cast<std::uint32_t>(target) * 0x9e3779b1U) >> (32 - awake_bits)];
        if (last.load(std::memory_order_relaxed) != wanted) wake(target, last, wanted);
    }
    /// The same for gets and puts, which a network may carry out by itself.
    void keep_awake_for_data(int target) {
        if (!paths_.data_needs_no_target) keep_awake(target);
    }

    /// The team's one object of a type that a room above defines, made by the first call; it lives as long as the team.
    template <class Part>
    [[nodiscard]] Part& part() {
        static_assert(std::is_base_of_v<TeamPart, Part>);
        const std::lock_guard guard{parts_mutex_};
        std::unique_ptr<TeamPart>& part = parts_[std::type_index{typeid(Part)}];
        if (part == nullptr) part = std::make_unique<Part>();
        return static_cast<Part&>(*part);
    }

    /// Memory that every rank of the team exposes to the service path under this window's number, for trials of how long
    /// messages take: of no meaning, and nobody reads what others write there.
    static constexpr std::uint64_t calibration_window = 0;
    static constexpr std::uint64_t calibration_bytes = 256 * 1024;

    /// Collective.
    void close();
    /// Leaves without waiting for anyone, telling the others; `by_exception`: not only because another rank has left.
    void leave(bool by_exception) noexcept;
    /// For a destructor whose close cannot complete: keeps serving until MPI ends.
    static void defer(std::unique_ptr<TeamState> team) noexcept;
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    /// The counters summed over all ranks, once the team is closed.
    [[nodiscard]] const std::optional<StatisticsValues>& total_at_close() const noexcept { return total_at_close_; }
    /// The thread that made the team.
    [[nodiscard]] std::thread::id maker() const noexcept { return maker_; }
    /// A rank that waits in the close of this team, which this rank has not closed; -1 if none is known.
    [[nodiscard]] int closing_rank() { return close_notified_.load(std::memory_order_relaxed) ? -1 : barrier_->closing_rank(); }
    /// MPI ends while the team is open: tells the others and stops using it.
    void on_finalize() noexcept;
    [[nodiscard]] bool left() const noexcept { return left_; }
    /// `rank` is known to have left the team.
    [[nodiscard]] bool has_left(int rank);
    /// A rank of the team is known to have left it.
    [[nodiscard]] bool broken() const noexcept { return broken_.load(std::memory_order_acquire); }

    /// A computation thread that waits, and drives progress meanwhile.
    struct Driving {
        explicit Driving(TeamState& team) : team_{team} { team_.drives_.fetch_add(one_begun + 1, std::memory_order_relaxed); }
        ~Driving() { team_.drives_.fetch_sub(1, std::memory_order_relaxed); }
        TeamState& team_;
    };
    /// One that waits in MPI, which makes MPI's progress but not the engine's: a hint, as cheap as MPI's waits may be short. Of
    /// several threads' some may not be counted.
    class WaitingInMpi {
    public:
        explicit WaitingInMpi(TeamState& team) noexcept : waits_{team.waits_in_mpi_} { advance(1); }
        ~WaitingInMpi() { advance(0); }

    private:
        /// To the next number that is odd, or even.
        void advance(std::uint32_t odd) const noexcept {
#ifdef OPEN_MPI
            static_cast<void>(odd); // its windows do not need their owners' threads, nor have them polling
            static_cast<void>(waits_);
#else
            const std::uint32_t next = waits_.load(std::memory_order_relaxed) + 1;
            waits_.store(next % 2 == odd ? next : next + 1, std::memory_order_relaxed);
#endif
        }
        std::atomic<std::uint32_t>& waits_;
    };

    /// A computation thread has started a transfer of which it soon wants the answer, and will then make progress itself.
    /// Counted are transfers, and more for large ones.
    void streams(std::uint64_t bytes) noexcept {
        streamed_.fetch_add(1 + bytes / bytes_of_one_streamed, std::memory_order_relaxed);
    }

    // Progressing
    Round progress_round(Clock::time_point now) noexcept override;
    [[nodiscard]] Waits waits() const noexcept override {
        const std::uint64_t drives = drives_.load(std::memory_order_relaxed);
        const std::uint32_t in_mpi = waits_in_mpi_.load(std::memory_order_relaxed);
        return {.begun = static_cast<std::uint32_t>(drives / one_begun) + in_mpi / 2,
                .in_mpi = in_mpi % 2 != 0,
                .driving = drives % one_begun != 0};
    }
    // EngineListener
    void on_barrier_token(const messages::BarrierToken& token) override { barrier_.value().on_token(token); }
    void on_waiting(const messages::WaitingNote& note) override { watch_.value().on_note(note); }
    void on_failed(const std::string& text, int code) noexcept override;
    void on_abandoned_access() override;
    void on_departed(int rank, std::uint64_t collectives, std::uint32_t why) override;
    void on_progress() override;

private:
    /// Why a rank left, as it travels.
    struct Why {
        enum Cause : std::uint8_t { exception, mismatch, others, failure, finalize, memory };
        Cause cause = exception;
        /// Of a mismatch the CollectiveCall that the rank was in, and 2^8 times what another was in: the same where it is what was
        /// passed that differs. Of others: the rank that had left, of the first 2^24.
        std::uint32_t detail = 0;

        [[nodiscard]] static Why of_mismatch(CollectiveCall call, CollectiveCall other) noexcept {
            return {mismatch, static_cast<std::uint32_t>(call) | static_cast<std::uint32_t>(other) << 8};
        }
        [[nodiscard]] std::uint32_t packed() const noexcept { return detail << 8 | cause; }
        [[nodiscard]] static Why unpacked(std::uint32_t bits) noexcept { return {static_cast<Cause>(bits & 0xFF), bits >> 8}; }
        [[nodiscard]] std::string text() const;
    };
    /// A rank that left before the close.
    struct Departed {
        int rank = 0;
        std::uint64_t collectives = 0; ///< that it had completed
        Why why;
    };
    /// The news of a departure, which is told to the ranks at distances that are powers of 2.
    struct News {
        Departed departed;
        std::uint32_t untold = 0; ///< bit i: the rank 2^i behind this one has not been told
    };
    /// What ended progress for good.
    struct Failure {
        std::string text; ///< empty: nothing did
        int code = 0;     ///< MPI's, if it was an MPI call
    };
    /// Departures that are remembered and passed on. A team that so many ranks have left is one that all must leave: waits for
    /// any of the others end, too.
    static constexpr std::size_t most_departures = 16;

    /// The caller holds the engine's mutex or trouble_mutex_.
    [[nodiscard]] bool is_departed(int rank) const;
    /// With the engine's mutex held: the others are told that this rank cannot be waited for any more.
    void tell_departure(Why why);
    void tell_departure(Why why, std::uint64_t collectives);
    void tell(const Departed& departed);
    /// A wait goes on: finds mismatches, and says once what it waits for.
    void look_after(support::Patience& patience, const char* call, int target);
    void report_wait(const support::Patience& patience, const char* call, int target);
    /// Says once a process that ranks have to make progress themselves.
    void report_no_thread() const;
    /// With the windows' mutex held: own accesses to memory of this node, in any window, are seen in order.
    void order_memory();
    template <class Step>
    void for_each_part(Step&& step);
    /// A rank, and the tick in which it was last woken.
    using Awake = std::uint64_t;
    void wake(int target, std::atomic<Awake>& last, Awake wanted);
    void wait(MPI_Request& request, const char* call);
    void give_up(Memory memory) noexcept;
    void make_node_barrier();
    void start_progress();
    void stop_progress() noexcept;
    /// Tells the others that this rank leaves, for a bounded time.
    void say_goodbye(Why why);
    /// Frees windows and communicators but communicator_.
    void free_mpi() noexcept;
    void free_communicator() noexcept;
    /// Throws if the trouble concerns a wait for `target`.
    void check_trouble(const char* call, int target);
    void check_attendance(CollectiveCall call, std::optional<std::int64_t> identity);
    void check_other_closes();

    const std::thread::id maker_ = std::this_thread::get_id();
    Settings settings_;
    support::Statistics statistics_;
    MPI_Comm communicator_ = MPI_COMM_NULL;        ///< collectives and windows
    MPI_Comm broadcast_communicator_ = MPI_COMM_NULL;
    MPI_Comm engine_communicator_ = MPI_COMM_NULL; ///< the engine's messages
    int rank_ = 0;
    int size_ = 0;
    std::string who_;
    std::unique_ptr<mpi::Topology> topology_;
    PathChoice paths_;

    std::unique_ptr<messages::Engine> engine_;
    std::optional<Barrier> barrier_;
    std::optional<CollectiveWatch> watch_;
    MPI_Win node_window_ = MPI_WIN_NULL; ///< holds the node barrier
    std::optional<std::int64_t> notify_identity_;

    std::shared_mutex members_mutex_; ///< shared by those that wait for what windows have under way
    /// With the mutex above held, too, where they change; held alone by looks that wait for nothing.
    support::BiasedMutex idle_members_mutex_;
    std::vector<EpochMember*> members_;
    std::vector<EpochMember*> members_with_copies_;
    std::uint64_t next_window_number_ = 1;

    static constexpr std::uint64_t bytes_of_one_streamed = 8192;
    static constexpr std::uint64_t one_begun = std::uint64_t{1} << 32;
    std::atomic<std::uint64_t> drives_{0}; ///< those under way, and one_begun for each that there was
    std::atomic<std::uint32_t> waits_in_mpi_{0}; ///< twice the waits there were, odd during one
    const std::atomic<std::uint32_t>& tick_ = messages::ProgressThread::instance().tick();
    /// Which ranks were woken lately, each in the place that its number is hashed to: one of the same place in its stead costs
    /// no more than another wake. Null where there is no progress thread.
    std::unique_ptr<std::atomic<Awake>[]> awake_;
    static constexpr unsigned awake_bits = 9;
    std::uint64_t seen_wakes_ = 0;                                ///< progress thread only
    std::chrono::steady_clock::time_point awake_until_{};         ///< progress thread only
    std::atomic<std::uint64_t> streamed_{0};
    std::uint64_t seen_streamed_ = 0;                             ///< progress thread only
    std::chrono::steady_clock::time_point last_look_{};           ///< at streamed_; progress thread only
    std::chrono::steady_clock::time_point last_moved_{};          ///< progress thread only
    unsigned streaming_looks_ = 0;                                ///< in a row; progress thread only

    /// Something is wrong that waits must look at: a departed rank or a failure of the progress thread.
    std::atomic<bool> troubled_{false};
    std::atomic<bool> broken_{false};
    std::mutex trouble_mutex_;
    std::vector<Departed> departed_;
    std::vector<News> news_; ///< guarded by the engine's mutex; the own departure first
    bool own_departure_told_ = false; ///< guarded by the engine's mutex
    Failure failure_;
    std::vector<Memory> given_up_;

    /// Completed by this rank: every rank counts the same calls in the same order.
    std::atomic<std::uint64_t> collectives_{0};
    std::uint64_t closing_window_ = 0; ///< the window whose close this rank waits in, or 0
    std::chrono::seconds wait_report_{0}; ///< 0: none
    std::optional<Why> mismatch_; ///< of the last collective call
    std::optional<StatisticsValues> total_at_close_;

    support::AlignedMemory calibration_;
    std::mutex parts_mutex_;
    std::unordered_map<std::type_index, std::unique_ptr<TeamPart>> parts_;

    bool progressing_ = false;
    bool needs_callers_ = false;
    /// One less than the calls between two rounds of progress that calls make: powers of 2. 0: they make none.
    std::uint32_t serve_mask_ = 0; ///< of calls that look
    static constexpr std::uint32_t without_thread_mask = 15; ///< a round costs as much as some calls
    static constexpr std::uint32_t beside_thread_mask = 63;
    void serve_at_call(std::uint32_t mask) {
        static thread_local std::uint32_t calls = 0;
        if ((++calls & mask) == 0) progress();
    }
    bool last_collective_ = false; ///< behind the close's barrier: no message may be on its way any more
    std::atomic<bool> close_notified_{false}; ///< read by closes of other teams
    bool closed_ = false;
    bool left_ = false;
};

} // namespace lapwing::team
