#pragma once

#include "src/mpi/probe.hpp"
#include "src/mpi/trial_partners.hpp"
#include "src/support/mpi_kind.hpp"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lapwing::detail::mpi {

/// Whether RmaTransport calls MPI_Win_flush_local and MPI_Win_flush_all. With MPICH 4.0.2 over UCX both sometimes
/// return too early, with several threads or targets: too rarely for a trial to find it.
inline constexpr bool other_flushes_used = support::mpi_kind == support::MpiKind::open_mpi;

/// What a WindowTrial depends on, beside the window.
struct TrialTerms {
    /// Whom the windows are for; sets how long the trial may take.
    enum class Use : std::uint8_t {
        if_faster, ///< nobody, if anything is in doubt: 50 ms in each direction, what has not been tried then counts as
                   ///< wrong
        asked_for, ///< the program asks for them: eight seconds, of which the atomics 0.1
        no_threads, ///< no progress thread answers messages: eight seconds, and slow atomics are atomics, since
                    ///< messages in their place wait for the target's next call of Lapwing
        adopted     ///< the program has them: as without progress threads
    };
    Use use = Use::if_faster;
    int unit = 1;         ///< of displacements
    bool threads = false; ///< MPI permits calls of several threads at a time
};

/// Tries each operation that Lapwing gives to MPI's windows against a known answer.
///
/// Every rank is the origin of operations on one of another node, and the target of those of one (see TrialPartners);
/// where there are more than two nodes of one size, on one after it and one before it. Ranks of a node try atomics on
/// each other as well, and in adopted windows everything. The steps are collective over the communicator. An operation
/// that fails, or whose answer is wrong, is noted under its name; a step never throws for it.
class WindowTrial {
public:
    /// What a rank exposes: memory of this size, aligned to 8 bytes.
    struct Memory;
    static const std::size_t memory_bytes;

    /// `window` is in an epoch of MPI_Win_lock_all, `memory` this rank's part of it. Both must stay until this has
    /// ended.
    WindowTrial(MPI_Comm communicator, const Topology& topology, MPI_Win window, std::byte* memory, TrialTerms terms);
    ~WindowTrial();
    WindowTrial(const WindowTrial&) = delete;
    WindowTrial& operator=(const WindowTrial&) = delete;

    /// Whether one more get or put of a few bytes takes clearly less time than one more message to a progress thread.
    /// An emulation of windows makes a system call at either end and has to be answered there, 2 us or more over TCP,
    /// while messages travel together, 0.1 to 0.5 us each; a network adapter needs less than half a microsecond. A
    /// disturbance can only make windows seem slower: windows that are found fast are fast. The first rank of each node
    /// measures.
    [[nodiscard]] bool operations_are_fast();

    /// Puts and gets, with requests and without, of one byte to more than MPI sends at once: that they write what they
    /// are given and no byte beside it, that each flush and wait permits what it should, and that a rank that is
    /// notified of a flush sees the bytes.
    [[nodiscard]] bool moves_data();

    /// MPI_Fetch_and_op and MPI_Compare_and_swap at other ranks and at the rank itself, MPI_Accumulate at the rank
    /// itself, several ranks on one value, and several operations on one value without a flush. An atomic that is wrong
    /// or slow, or for which no time was left, is not trusted. `swaps`: MPI_Compare_and_swap may be called.
    [[nodiscard]] TrustedAtomics try_atomics(bool swaps);

    struct WithoutTarget {
        bool works = false;  ///< what was read and written is right
        bool proved = false; ///< operations between nodes complete without their target
    };
    /// Ranks read from and write to their partners while those sleep outside MPI: a word, read before the write and
    /// after it, proves that the partner was asleep all the time, however long anything takes. Several rounds, since a
    /// rank may get its processor late. Trusted atomics are tried as well; those that are wrong here are trusted no
    /// longer.
    [[nodiscard]] WithoutTarget tries_sleeping_targets(SleepOutsideMpi sleep_outside_mpi, TrustedAtomics& atomics);

    /// The first thing that was wrong in the last part of the trial, on the lowest rank that saw any; empty if nothing
    /// was. Collective.
    [[nodiscard]] std::string first_problem() const;

    /// The MPI call that this rank is in, for reports. Outlives the trial.
    [[nodiscard]] static std::atomic<const char*>& call_under_way() noexcept { return call_; }

    /// The longest time for one of many operations that is found fast; tests set another. It includes the round trip
    /// that all operations of a batch wait for, and is far from real values on both sides, so that jobs do not differ
    /// from one another: an emulation takes at least twice as long, an adapter half as long.
    [[nodiscard]] static std::atomic<std::chrono::nanoseconds>& longest_operation() noexcept {
        return longest_operation_;
    }

private:
    struct Buffers;
    class Speed;
    class Data;
    class Atomics;
    template <class T>
    class Contention;
    class InOrder;
    class AtomicsMeanwhile;
    using Clock = std::chrono::steady_clock;

    /// Makes an MPI call; false, and noted under its name, if it fails.
    template <class Call>
    bool calls(const char* name, Call&& call);
    bool get(void* to, std::size_t bytes, int target, std::size_t from);
    bool put(const void* from, std::size_t bytes, int target, std::size_t to);
    bool flush(int target);
    /// Of a place in Memory.
    [[nodiscard]] MPI_Aint at(std::size_t offset) const noexcept {
        return static_cast<MPI_Aint>(offset / static_cast<std::size_t>(terms_.unit));
    }
    void note(std::string problem);
    void note_failure(const char* name, int code);
    /// False: no time is left, and noted.
    bool in_time();
    /// What the steps before have taken, on a busy machine, does not decide whether atomics are MPI's.
    void leave_time_for_atomics();
    /// Whether un-flushed atomics on one value come one after another.
    bool keeps_order(TrustedAtomics trusted);
    /// Collective. Whether partners that work on one value keep each other's changes.
    bool keeps_all_changes(Partners partners, TrustedAtomics trusted);
    bool completes_at(int target, std::int64_t sent, bool& works);
    void meet() const;
    /// What a rank tells the one that it works on, without any other wait; returns what it is told, `none` if nobody
    /// works on it.
    [[nodiscard]] std::int64_t tell(Partners partners, std::int64_t what, std::int64_t none) const;

    MPI_Comm communicator_;
    const Topology& topology_;
    MPI_Win window_;
    TrialTerms terms_;
    Memory& memory_;
    std::uint64_t* large_; ///< after it
    std::unique_ptr<Buffers>
        buffers_; ///< of this rank's own operations, some of which may outlive the call that failed
    TrialPartners partners_;
    int rank_ = 0;
    Clock::time_point end_;
    std::string problem_;
    bool wrong_beside_data_ = false; ///< atomics of another thread, while this one moved data

    static inline std::atomic<const char*> call_{"MPI_Win_allocate"};
    static inline std::atomic<std::chrono::nanoseconds> longest_operation_{std::chrono::nanoseconds{800}};
};

template <class Call>
bool WindowTrial::calls(const char* name, Call&& call) {
    call_.store(name, std::memory_order_relaxed);
    const int code = call();
    call_.store("MPI_Barrier", std::memory_order_relaxed);
    if (code == MPI_SUCCESS) return true;
    note_failure(name, code);
    return false;
}

} // namespace lapwing::detail::mpi
