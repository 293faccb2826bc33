// An MPI one of whose one-sided operations is wrong, slow, fails or never returns. The faulty calls take the place of
// MPI's by its profiling interface, or by the names of that interface.
#pragma once

#include "src/mpi/atomics.hpp"

#include <optional>
#include <string>
#include <vector>

namespace test {

enum class Call {
    none,
    get,
    put,
    rget,
    rput,
    fetch,
    swap,
    accumulate,
    flush,
    flush_local,
    flush_all,
    lock_all,
    unlock_all,
    allocate,
    create,
    allocate_shared
};
enum class How {
    wrong,
    wrong_result,
    slow,
    waits,       ///< takes 3 ms, as where a sleeping target has to wake
    ends_slowly, ///< of an atomic: the flush after it is slow
    spins,       ///< takes a microsecond more
    pauses_once, ///< one time for 12 ms, as where it connects, or where its process loses the processor
    fails,
    hangs,
    early,       ///< of a flush or wait: puts before it are still read from their sources after it, and of a wait gets
                 ///< written
    early_gets,  ///< of a flush: gets before it are carried out after it
    undelivered, ///< of a flush: puts before it arrive after the next one
    torn,        ///< of an addition to 8 bytes: reads, and writes after a while
    passed,      ///< of an accumulate: done at the next flush, after what comes before that
};

struct Fault {
    Call call = Call::none;
    How how = How::wrong;
    std::optional<lapwing::detail::mpi::AtomicOperation> operation = std::nullopt; ///< of an atomic; by default all
    std::optional<lapwing::detail::mpi::AtomicType> type = std::nullopt;           ///< the same
    int rank = -1;        ///< of the process that has it, in MPI_COMM_WORLD; -1: all have
    int least_bytes = 0;  ///< of a flush: of the puts or gets that it does not complete
    int calls_before = 0; ///< of a pause: so many calls do not pause
};

/// As a failed check names it: "MPI_Fetch_and_op, wrong, operation 3 of type 2".
std::string name_of(const Fault& fault);

/// The call's name.
std::string name_of(Call call);

/// While it lives, MPI has this fault; collective.
class FaultInPlace {
public:
    explicit FaultInPlace(const Fault& what);
    ~FaultInPlace();
    FaultInPlace(const FaultInPlace&) = delete;
    FaultInPlace& operator=(const FaultInPlace&) = delete;
};

/// How many windows this process has created and not freed.
int living_windows();

/// While it lives, so many bytes are free in /dev/shm for whoever asks.
class SharedMemoryLeft {
public:
    explicit SharedMemoryLeft(unsigned long bytes);
    ~SharedMemoryLeft();
    SharedMemoryLeft(const SharedMemoryLeft&) = delete;
    SharedMemoryLeft& operator=(const SharedMemoryLeft&) = delete;
};

/// MPI has this fault from now on, in this process.
void break_mpi(const Fault& what);

/// MPI's calls again, also before the fault's end. One that hangs goes on.
void repair_mpi();

/// Faults of calls that move data, complete it, or create windows, as far as Lapwing uses them with this MPI.
std::vector<Fault> faults_of_windows();

/// Each atomic on each type for which MPI has it, wrong in what it does or in what it returns; and those that fail or
/// are slow, which are tried alike.
std::vector<Fault> faults_of_fetches();

/// MPI_Accumulate of each operation on each type for which MPI has it, without effect; and one that fails.
std::vector<Fault> faults_of_accumulates();

/// Compare-and-swap of each type, faulty in each way that returns.
std::vector<Fault> faults_of_swaps();

} // namespace test
