#pragma once

#include "src/messages/engine.hpp"
#include "src/messages/progress_thread.hpp"
#include "src/mpi/topology.hpp"
#include "src/support/mpi_kind.hpp"
#include "src/team/barrier.hpp"
#include "src/team/membership.hpp"

#include <lapwing/rank.hpp>
#include <lapwing/settings.hpp>
#include <lapwing/team.hpp>

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace lapwing::detail::team {

/// What keeps a team's communication moving: rounds of progress by the progress thread, which it informs how busy the
/// team is, and rounds by the program's own calls.
class ProgressDriver final : public messages::Progressing {
public:
    ProgressDriver(messages::Engine& engine, const mpi::Topology& topology, Membership& membership,
                   const Barrier& barrier, ProgressMode mode, int rank, int size) noexcept;

    /// Has the progress thread drive the team, if it should. Returns the reason if it cannot, or nothing.
    [[nodiscard]] std::string start(const Settings& settings);
    /// On return no progress thread touches the team any more.
    void stop() noexcept;

    /// One round of progress by the calling thread; failures are kept for those who wait.
    bool serve() noexcept override;
    /// For calls that programs repeat until another rank has done something, and that do not wait themselves: a round
    /// of progress every few calls if no thread makes any.
    void serve_now_and_then() {
        if (needs_callers_) serve_at_call(without_thread_mask);
    }
    /// For those of them that only look: a progress thread may be asleep, or have no processor beside a loop of such
    /// calls.
    void serve_looks() {
        if (serve_mask_ != 0) serve_at_call(serve_mask_);
    }
    /// Only calls into Lapwing, of this team or others, keep this team moving.
    [[nodiscard]] bool needs_callers() const noexcept { return needs_callers_; }

    /// Makes sure that the progress thread of `target` polls: for operations that MPI carries out without Lapwing's
    /// engine seeing them. Costs a load and a compare when that was done a few milliseconds ago.
    void keep_awake(Rank target) {
        if (awake_ == nullptr) return;
        const Awake wanted =
            static_cast<Awake>(static_cast<unsigned>(target.value)) << 32 | tick_.load(std::memory_order_relaxed);
        // Hashed, since neighbours in a grid are powers of 2 apart.
        std::atomic<Awake>& last =
            awake_[(static_cast<std::uint32_t>(target.value) * 0x9e3779b1U) >> (32 - awake_bits)];
        if (last.load(std::memory_order_relaxed) != wanted) wake(target, last, wanted);
    }

    /// A computation thread has started a transfer whose answer it soon needs, and will then make progress itself.
    /// Transfers are counted; large ones count more.
    void streams(std::uint64_t bytes) noexcept {
        streamed_.fetch_add(1 + bytes / bytes_of_one_streamed, std::memory_order_relaxed);
    }

    /// A computation thread that waits, and drives progress meanwhile.
    class Driving {
    public:
        explicit Driving(ProgressDriver& driver) : drives_{driver.drives_} {
            drives_.fetch_add(one_begun + 1, std::memory_order_relaxed);
        }
        ~Driving() { drives_.fetch_sub(1, std::memory_order_relaxed); }
        Driving(const Driving&) = delete;
        Driving& operator=(const Driving&) = delete;

    private:
        std::atomic<std::uint64_t>& drives_;
    };
    /// A computation thread that waits in MPI, which makes MPI's progress but not the engine's. Only a hint, since
    /// MPI's waits may be short: if several threads wait, some may not be counted.
    class WaitingInMpi {
    public:
        explicit WaitingInMpi(ProgressDriver& driver) noexcept : waits_{driver.waits_in_mpi_} { advance(1); }
        ~WaitingInMpi() { advance(0); }
        WaitingInMpi(const WaitingInMpi&) = delete;
        WaitingInMpi& operator=(const WaitingInMpi&) = delete;

    private:
        /// To the next number that is odd, or even.
        void advance(std::uint32_t odd) const noexcept {
            // Open MPI's windows do not need their owners' threads, nor polling by them.
            if constexpr (support::mpi_kind == support::MpiKind::open_mpi) return;
            const std::uint32_t next = waits_.load(std::memory_order_relaxed) + 1;
            waits_.store(next % 2 == odd ? next : next + 1, std::memory_order_relaxed);
        }
        std::atomic<std::uint32_t>& waits_;
    };

    /// Whether the progress thread drives this team.
    [[nodiscard]] bool has_thread() const noexcept { return progressing_; }

    // Progressing
    Round progress_round(Clock::time_point now) noexcept override;
    [[nodiscard]] Waits waits() const noexcept override {
        const std::uint64_t drives = drives_.load(std::memory_order_relaxed);
        const std::uint32_t in_mpi = waits_in_mpi_.load(std::memory_order_relaxed);
        return {.begun = static_cast<std::uint32_t>(drives / one_begun) + in_mpi / 2,
                .in_mpi = in_mpi % 2 != 0,
                .driving = drives % one_begun != 0};
    }

private:
    /// A rank, and the tick in which it was last woken.
    using Awake = std::uint64_t;
    void wake(Rank target, std::atomic<Awake>& last, Awake wanted);
    void serve_at_call(std::uint32_t mask);
    /// Whether a computation thread streams transfers: how many it has started since the last look.
    [[nodiscard]] bool is_streaming(Clock::time_point now) noexcept;

    messages::Engine& engine_;
    const mpi::Topology& topology_;
    Membership& membership_;
    const Barrier& barrier_;
    ProgressMode mode_;
    int rank_;
    int size_;
    bool needs_callers_;
    bool progressing_ = false;
    /// One less than the calls between two rounds of progress that calls make, which is a power of 2. 0: they make
    /// none.
    std::uint32_t serve_mask_;                               ///< of calls that look
    static constexpr std::uint32_t without_thread_mask = 15; ///< a round costs as much as some calls
    static constexpr std::uint32_t beside_thread_mask = 63;

    static constexpr std::uint64_t one_begun = std::uint64_t{1} << 32;
    std::atomic<std::uint64_t> drives_{0};       ///< those under way, and one_begun for each that there was
    std::atomic<std::uint32_t> waits_in_mpi_{0}; ///< twice the waits there were, odd during one

    const std::atomic<std::uint32_t>& tick_ = messages::ProgressThread::instance().tick();
    /// The ranks that were woken lately, each in the place that its number is hashed to. When two share a place, the
    /// cost is one more wake. Null where there is no progress thread.
    std::unique_ptr<std::atomic<Awake>[]> awake_;
    static constexpr unsigned awake_bits = 9;

    static constexpr std::uint64_t bytes_of_one_streamed = 8192;
    std::atomic<std::uint64_t> streamed_{0};
    /// What the progress thread has seen; its own.
    struct Seen {
        std::uint64_t wakes = 0;
        Clock::time_point awake_until{};
        std::uint64_t streamed = 0;
        unsigned streaming_looks = 0;  ///< in a row
        Clock::time_point last_look{}; ///< at streamed_
        Clock::time_point last_moved{};
    } seen_;
};

} // namespace lapwing::detail::team
