#include "src/mpi/probe.hpp"

#include "src/mpi/agreement.hpp"
#include "src/mpi/creation_turn.hpp"
#include "src/support/mpi_error.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>

namespace lapwing::mpi {
namespace {

using support::check_mpi;

#ifdef OPEN_MPI
/// MPI's tools interface, open for a scope. Closed before MPI_Finalize: Open MPI 4.1.4 crashes in it afterwards.
class ToolsInterface {
public:
    ToolsInterface() {
        // Open MPI 4.1.4 makes the level asked for here the level of MPI itself: a lower one would take
        // MPI_THREAD_MULTIPLE from the program, and the progress thread from the next team.
        int level = MPI_THREAD_SINGLE;
        int provided = MPI_THREAD_SINGLE;
        open_ = MPI_Query_thread(&level) == MPI_SUCCESS && MPI_T_init_thread(level, &provided) == MPI_SUCCESS;
    }
    ~ToolsInterface() {
        if (open_) MPI_T_finalize();
    }
    ToolsInterface(const ToolsInterface&) = delete;
    ToolsInterface& operator=(const ToolsInterface&) = delete;
    [[nodiscard]] bool open() const noexcept { return open_; }

private:
    bool open_ = false;
};

/// Whether Open MPI has a control variable of this name: variables of components that it did not open are gone.
bool has_variable(const char* name) {
    int index = 0;
    return MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS;
}

/// The components that this process has, as far as they matter here.
struct Components {
    bool osc_pt2pt = false;
    bool osc_rdma = false;
    bool btl_vader = false;
    bool between_nodes = false; ///< something other than osc/pt2pt that can serve windows between nodes
};

/// Asked once for all teams: a session of the tools interface loads every component that MPI has not opened, and unloads
/// them again, which takes 0.2 s (the library of one of them, libpsm2, sleeps while it is loaded).
const Components& components() {
    static const Components found = [] {
        Components here;
        const ToolsInterface tools;
        if (!tools.open()) return here;
        here.osc_pt2pt = has_variable("osc_pt2pt_no_locks");
        here.osc_rdma = has_variable("osc_rdma_acc_use_amo");
        here.btl_vader = has_variable("btl_vader_eager_limit");
        for (const char* variable : {"osc_ucx_priority", "btl_ofi_mode", "btl_openib_verbose", "btl_uct_memory_domains"})
            here.between_nodes = here.between_nodes || has_variable(variable);
        return here;
    }();
    return found;
}

/// Open MPI 4.1: the component osc/pt2pt refuses MPI_THREAD_MULTIPLE, and mpirun then prints a help text that no error
/// handler can hold back. True when that component is the only one that could serve windows between nodes.
bool attempt_would_print(int thread_level) {
    return thread_level >= MPI_THREAD_MULTIPLE && components().osc_pt2pt && !components().between_nodes;
}
#else
bool attempt_would_print(int /*thread_level*/) { return false; }
#endif

/// What a rank exposes for the trial.
struct TrialMemory {
    std::int64_t rank = -1;
    std::int64_t outside_mpi = 0; ///< 1 while the rank sleeps outside MPI
    std::int64_t written = 0;     ///< by the rank before this one
    // Of this rank's own operations, which may outlive the call that failed.
    std::int64_t sent = 0;
    std::int64_t seen_before = 0;
    std::int64_t seen_after = 0;
};
static_assert(sizeof(TrialMemory) % 16 == 0, "see WindowMemory");
using Clock = std::chrono::steady_clock;

/// Whether one more get of a few bytes takes longer than one more message to a progress thread. Where MPI emulates windows it is
/// a system call at either end and has to be answered there, 2 us or more over TCP, while messages travel together, 0.1 to 0.5 us
/// each; a network adapter makes it in less than half a microsecond, however far the target is. By the fastest of some batches of
/// two lengths, which leaves out what all of a batch wait for, and times at which somebody else had the processor.
enum class Gets { fail, slow, fast };
Gets try_gets(MPI_Win window, int target) {
    constexpr std::size_t few = 16;
    constexpr std::size_t many = 64;
    constexpr int rounds = 8;
    constexpr int least_rounds = 3; // else windows are taken for the network's own
    constexpr std::chrono::nanoseconds message{1200};
    constexpr std::chrono::milliseconds longest{20};
    std::array<std::int64_t, many> seen{};
    bool works = true;
    const auto batch = [&](std::size_t gets) {
        std::ranges::fill(seen, -1);
        const Clock::time_point begin = Clock::now();
        for (std::size_t i = 0; works && i < gets; ++i)
            works = MPI_Get(&seen[i], sizeof seen[i], MPI_BYTE, target, 0, sizeof seen[i], MPI_BYTE, window) == MPI_SUCCESS;
        works = MPI_Win_flush(target, window) == MPI_SUCCESS && works;
        works = works && std::ranges::count(seen, target) == static_cast<std::ptrdiff_t>(gets);
        return Clock::now() - begin;
    };
    (void)batch(1); // connects
    const Clock::time_point end = Clock::now() + longest;
    Clock::duration short_batch = Clock::duration::max();
    Clock::duration long_batch = Clock::duration::max();
    int measured = 0;
    for (; works && measured < rounds && Clock::now() < end; ++measured) {
        short_batch = std::min(short_batch, batch(few));
        long_batch = std::min(long_batch, batch(many));
    }
    if (!works) return Gets::fail;
    return measured >= least_rounds && long_batch - short_batch > (many - few) * message ? Gets::slow : Gets::fast;
}

/// Collective. Whether gets and puts between nodes complete without the target. Ranks of even numbers write to and read from
/// the next while that one sleeps outside MPI, then those of odd numbers: the word, read before the write and behind it, proves that it
/// was asleep all the time, however long anything takes. Some rounds, since a rank may get its processor late.
bool completes_without_target(MPI_Comm communicator, MPI_Win window, TrialMemory& own, const Topology& topology,
                              SleepOutsideMpi sleep_outside_mpi) {
    constexpr int rounds = 3;
    constexpr std::chrono::microseconds asleep{2000};
    constexpr std::chrono::microseconds between_attempts{50};
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    const int target = rank + 1;
    // The last rank's neighbour is the first, which may have a part of its own at the same time.
    bool proved = target == size || topology.node_index(target) >= 0;
    bool works = true;
    constexpr int bytes = sizeof(std::int64_t);
    const auto complete = [&](int code) { works = works && code == MPI_SUCCESS && MPI_Win_flush(target, window) == MPI_SUCCESS; };
    const auto look = [&](std::int64_t& seen) {
        complete(MPI_Get(&seen, bytes, MPI_BYTE, target, offsetof(TrialMemory, outside_mpi), bytes, MPI_BYTE, window));
    };
    const auto attempt = [&] {
        look(own.seen_before);
        own.sent = rank;
        if (works)
            complete(MPI_Put(&own.sent, bytes, MPI_BYTE, target, offsetof(TrialMemory, written), bytes, MPI_BYTE, window));
        if (works) look(own.seen_after);
        return works && own.seen_before == 1 && own.seen_after == 1;
    };
    for (int round = 0; round < rounds; ++round) {
        for (const int parity : {0, 1}) {
            check_mpi(MPI_Barrier(communicator), "MPI_Barrier", "probe of MPI's windows");
            if (rank % 2 != parity) {
                sleep_outside_mpi(asleep, &own.outside_mpi);
                continue;
            }
            const Clock::time_point end = Clock::now() + asleep;
            while (works && !proved && Clock::now() < end) {
                sleep_outside_mpi(between_attempts, nullptr); // the target is on its way out of the barrier
                proved = attempt();
            }
        }
        if (all_agree(communicator, proved)) return true;
    }
    return false;
}

} // namespace

ProbeResult probe_windows(MPI_Comm communicator, const Topology& topology, int thread_level, SleepOutsideMpi sleep_outside_mpi) {
    if (!all_agree(communicator, !attempt_would_print(thread_level)))
        return {.works = false, .reason = "Open MPI's osc/pt2pt, the only component that could, refuses MPI_THREAD_MULTIPLE"};
    MPI_Win window = MPI_WIN_NULL;
    TrialMemory* memory = nullptr;
    CreationTurn turn{communicator, topology};
    const int code = MPI_Win_allocate(sizeof(TrialMemory), 1, MPI_INFO_NULL, communicator, &memory, &window);
    const bool created = all_agree(communicator, code == MPI_SUCCESS);
    turn.end();
    if (!created) {
        if (code == MPI_SUCCESS) // and stays: freeing is collective
            return {.works = false, .reason = "windows could not be created on some ranks"};
        return {.works = false, .reason = "MPI_Win_allocate failed with " + support::mpi_error_text(code)};
    }
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    new (memory) TrialMemory{.rank = rank};
    check_mpi(MPI_Barrier(communicator), "MPI_Barrier", "probe of MPI's windows");
    Gets gets = Gets::fail;
    const bool locked = MPI_Win_lock_all(MPI_MODE_NOCHECK, window) == MPI_SUCCESS;
    if (locked) gets = try_gets(window, (rank + 1) % size);
    const bool works = all_agree(communicator, gets != Gets::fail);
    const bool fast = all_agree(communicator, gets != Gets::slow);
    const bool target_idle = works && fast && completes_without_target(communicator, window, *memory, topology, sleep_outside_mpi);
    const bool unlocked = locked && MPI_Win_unlock_all(window) == MPI_SUCCESS;
    void* model = nullptr;
    int has_model = 0;
    MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &has_model);
    // With two copies of the memory a rank's loads and stores would need calls around them that others cannot make.
    const bool unified = all_agree(communicator, has_model != 0 && *static_cast<int*>(model) == MPI_WIN_UNIFIED);
    const bool ended = all_agree(communicator, unlocked);
    MPI_Win_free(&window);
    if (!unified) return {.works = false, .reason = "the memory model of MPI's windows is MPI_WIN_SEPARATE"};
    if (!works) return {.works = false, .reason = "a get through a window failed or returned something else"};
    if (!ended) return {.works = false, .reason = "MPI_Win_unlock_all failed on some rank"};
    return {.works = true, .reason = "", .emulated = !fast, .target_idle = target_idle};
}

bool atomics_crash() {
#ifdef OPEN_MPI
    return components().osc_rdma && components().btl_vader;
#else
    return false;
#endif
}

bool probe_shared_windows(MPI_Comm node) {
    MPI_Win window = MPI_WIN_NULL;
    void* memory = nullptr;
    const int code = MPI_Win_allocate_shared(sizeof(TrialMemory), 1, MPI_INFO_NULL, node, &memory, &window);
    const bool works = all_agree(node, code == MPI_SUCCESS);
    if (works) MPI_Win_free(&window);
    return works;
}

} // namespace lapwing::mpi
