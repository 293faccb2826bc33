#pragma once

#include "src/mpi/topology.hpp"
#include "src/mpi/trusted_atomics.hpp"

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lapwing::detail::mpi {

/// Sleeps so long, while the progress thread of this process makes no round. `asleep`, if any, is 1 meanwhile, and 0
/// before and after.
using SleepOutsideMpi = void (*)(std::chrono::microseconds time, std::int64_t* asleep);

/// Tries each operation that Lapwing gives to MPI's windows against a known answer.
///
/// Every rank is the origin of operations on the next one, and the target of those of the one before; so all pairs of
/// neighbouring nodes are tried, in one direction each, and with two ranks in both. The steps are collective over the
/// communicator. An operation that fails, or whose answer is wrong, is noted under its name; a step never throws for
/// it.
class WindowTrial {
public:
    /// What a rank exposes: memory of this size, aligned to 8 bytes.
    struct Memory;
    static const std::size_t memory_bytes;

    /// `window` is in an epoch of MPI_Win_lock_all, `memory` this rank's part of it. Both must stay until this has
    /// ended.
    WindowTrial(MPI_Comm communicator, const Topology& topology, MPI_Win window, std::byte* memory);
    ~WindowTrial();
    WindowTrial(const WindowTrial&) = delete;
    WindowTrial& operator=(const WindowTrial&) = delete;

    /// Whether one more get or put of a few bytes takes less time than one more message to a progress thread. Where MPI
    /// emulates windows it is a system call at either end and has to be answered there, 2 us or more over TCP, while
    /// messages travel together, 0.1 to 0.5 us each; a network adapter makes it in less than half a microsecond. A
    /// disturbance can only make windows seem slower: what is taken for fast is. Ranks whose next one shares their node
    /// have nothing to measure.
    [[nodiscard]] bool operations_are_fast();

    /// Puts and gets, with requests and without, of one byte to more than MPI sends at once; that they write what they
    /// are given and no byte beside it, and that flushes complete them.
    [[nodiscard]] bool moves_data();

    /// MPI_Fetch_and_op and MPI_Compare_and_swap at the next rank and at this one, MPI_Accumulate at this one. An
    /// atomic that is wrong or slow, or for which no time was left, is not trusted. `swaps`: MPI_Compare_and_swap may
    /// be called.
    [[nodiscard]] TrustedAtomics try_atomics(bool swaps);

    /// Whether operations between nodes complete without their target. Ranks of even numbers write to and read from
    /// the next while that one sleeps outside MPI, then those of odd numbers: the word, read before the write and after
    /// it, proves that it was asleep all the time, however long anything takes. Some rounds, since a rank may get its
    /// processor late. With an atomic as well, if any is trusted; if that is wrong then, none is any more.
    [[nodiscard]] bool completes_without_target(SleepOutsideMpi sleep_outside_mpi, TrustedAtomics& atomics);

    /// The first thing that was wrong, on the lowest rank that saw any; empty: nothing was. Collective.
    [[nodiscard]] std::string first_problem() const;

    /// The MPI call that this rank is in, for whoever waits for it. Outlives the trial.
    [[nodiscard]] static const char* call_under_way() noexcept { return call_.load(std::memory_order_relaxed); }

private:
    struct Buffers;
    class Atomics;

    /// Makes an MPI call under its name; false, and noted, if it fails.
    template <class Call>
    bool calls(const char* name, Call&& call);
    bool flush(int target);
    /// Operations that are timed together.
    enum class Batch : std::uint8_t { gets, puts, gets_with_requests, puts_with_requests, other_flushes };
    bool runs_batch(Batch batch);
    bool reuses_sources();
    bool starts_pieces(std::span<MPI_Request> requests);
    void note(std::string problem);
    void meet() const;

    MPI_Comm communicator_;
    const Topology& topology_;
    MPI_Win window_;
    Memory& memory_;
    std::unique_ptr<Buffers>
        buffers_; ///< of this rank's own operations, some of which may outlive the call that failed
    int rank_ = 0;
    int size_ = 1;
    int next_ = 0;
    std::string problem_;

    static inline std::atomic<const char*> call_{"MPI_Win_allocate"};
};

} // namespace lapwing::detail::mpi
