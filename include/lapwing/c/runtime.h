// Room: bindings
/*
 * The start of every program, and what its ranks do together.
 */
#ifndef LAPWING_C_RUNTIME_H
#define LAPWING_C_RUNTIME_H

#include <lapwing/c/settings.h>
#include <lapwing/c/statistics.h>
#include <lapwing/c/type.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The ranks of a communicator, the path from this rank to each of them, and the engine that makes progress on their
/// operations.
typedef struct lapwing_runtime lapwing_runtime;

/// How a rank reaches the memory of another rank.
enum {
    LAPWING_PATH_SELF = 0,   ///< the rank's own memory
    LAPWING_PATH_DIRECT = 1, ///< same node: load and store through shared memory
    LAPWING_PATH_RMA = 2,    ///< MPI's one-sided operations
    LAPWING_PATH_SERVICE = 3 ///< messages, answered by the owner
};
/// What makes communication progress.
enum {
    LAPWING_PROGRESS_THREAD = 0, ///< a progress thread per rank
    LAPWING_PROGRESS_CALLER = 1  ///< only calls of Lapwing make progress
};

/// Collective over `communicator`, an intracommunicator, which is duplicated. MPI_COMM_WORLD may be passed before MPI
/// is initialised; MPI is then initialised here, and finalized with the last runtime. `settings` may be null: the
/// environment's. One thread. LAPWING_ERR_SETTING, _MPI, _MISMATCH, and _USAGE for a communicator that cannot be used.
/// If one rank fails alone, the others wait, as in MPI. Cost: a few collectives of logarithmic depth; about 1.5 MiB of
/// buffers.
int lapwing_runtime_create(MPI_Comm communicator, const lapwing_settings* settings, lapwing_runtime** runtime);
/// Collective. Completes all operations, releases what the runtime holds and sets `*runtime` to null; does nothing for
/// a null pointer. LAPWING_ERR_USAGE, and the runtime stays open, if windows, arrays or locks are open, or another rank
/// is waiting in the free of another runtime that both share. One thread.
int lapwing_runtime_free(lapwing_runtime** runtime);
/// Local. Leaves without waiting for the others, for a rank that cannot go on; their collective calls and waits then
/// return LAPWING_ERR_PEER_LEFT. Sets `*runtime` to null. LAPWING_ERR_USAGE if this rank has windows, arrays or locks
/// open: leave those first. One thread.
int lapwing_runtime_leave(lapwing_runtime** runtime);

/// The calling rank, in [0, size), and the number of ranks. Local, any thread.
int lapwing_runtime_rank(const lapwing_runtime* runtime, int* rank);
int lapwing_runtime_size(const lapwing_runtime* runtime, int* size);
/// LAPWING_PATH_... to `rank`'s part of windows that Lapwing allocates. LAPWING_ERR_RANGE. Local, any thread.
int lapwing_runtime_path(const lapwing_runtime* runtime, int rank, int* path);
/// LAPWING_PATH_... between nodes; LAPWING_PATH_DIRECT if all ranks are on one node. Local, any thread.
int lapwing_runtime_network_path(const lapwing_runtime* runtime, int* path);
/// LAPWING_PROGRESS_..., the same on all ranks. Local, any thread.
int lapwing_runtime_progress_mode(const lapwing_runtime* runtime, int* mode);
/// The number of ranks on this rank's node, itself included, and the number of nodes. Local, any thread.
int lapwing_runtime_node_size(const lapwing_runtime* runtime, int* ranks);
int lapwing_runtime_nodes(const lapwing_runtime* runtime, int* nodes);

/// Collective, one thread. Release before, acquire after. LAPWING_ERR_PEER_LEFT. Cost: on one node a shared counter,
/// otherwise ceil(log2(nodes)) messages.
int lapwing_runtime_barrier(lapwing_runtime* runtime);
/// The same with an identity, which must be the same on all ranks: LAPWING_ERR_MISMATCH on every rank. Ranks that pass
/// none match any. Collective, one thread.
int lapwing_runtime_barrier_identity(lapwing_runtime* runtime, int64_t identity);
/// Collective, one thread. A split-phase barrier: notify releases and does not wait for any other rank's notify; wait
/// returns when every rank has notified, and acquires. LAPWING_ERR_USAGE for a wait without a notify, and for a notify
/// twice.
int lapwing_runtime_notify(lapwing_runtime* runtime);
int lapwing_runtime_wait(lapwing_runtime* runtime);
/// The same with an identity: as lapwing_runtime_barrier_identity(); the identities of the two calls must match.
/// Collective, one thread.
int lapwing_runtime_notify_identity(lapwing_runtime* runtime, int64_t identity);
int lapwing_runtime_wait_identity(lapwing_runtime* runtime, int64_t identity);

/// Local, any thread. release: on return this rank's puts to every window are complete at their owners. acquire: later
/// reads see what was released before. fence: both.
int lapwing_runtime_release(lapwing_runtime* runtime);
int lapwing_runtime_acquire(lapwing_runtime* runtime);
int lapwing_runtime_fence(lapwing_runtime* runtime);

/// Local, any thread. One round of progress: serves other ranks' requests, and completes this rank's operations.
/// `*moved` (may be null): whether anything was done. Only needed in long computations without a progress thread.
int lapwing_runtime_progress(lapwing_runtime* runtime, int* moved);
/// Local, any thread. MPI_Wait that serves other ranks meanwhile, for programs without a progress thread. `status` may
/// be MPI_STATUS_IGNORE, or null.
int lapwing_runtime_wait_request(lapwing_runtime* runtime, MPI_Request* request, MPI_Status* status);

/// Collective, one thread: sum, smallest and largest of all ranks' values, element by element, in place. `type` must be
/// a type of numbers (sum: also complex ones), otherwise LAPWING_ERR_USAGE. LAPWING_ERR_MISMATCH on all ranks, which
/// can go on, unless all pass the same type and number and make the same call: as all calls below compare what they are
/// given. Cost: as many rounds of messages as the logarithm of the ranks, and above 32 KiB an MPI_Allreduce after them;
/// other ranks' requests are served meanwhile.
int lapwing_runtime_sum(lapwing_runtime* runtime, lapwing_type type, void* values, uint64_t count);
int lapwing_runtime_min(lapwing_runtime* runtime, lapwing_type type, void* values, uint64_t count);
int lapwing_runtime_max(lapwing_runtime* runtime, lapwing_type type, void* values, uint64_t count);
/// Collective, one thread: MPI_Allreduce in place over `count` values of `type`.
int lapwing_runtime_all_reduce(lapwing_runtime* runtime, void* values, uint64_t count, MPI_Datatype type,
                               MPI_Op operation);
/// Collective, one thread: copies the bytes of `root` to every rank. LAPWING_ERR_RANGE.
int lapwing_runtime_broadcast(lapwing_runtime* runtime, void* values, uint64_t bytes, int root);
/// Stores its result in `left`; must be associative.
typedef void (*lapwing_combine_function)(void* context, void* left, const void* right);
/// Collective, one thread: combines one value of every rank, in the order of the ranks, into `value` on every rank.
/// `bytes` is the same on all ranks, at most 4 MiB. Cost: a binomial tree of messages, and a broadcast.
int lapwing_runtime_combine(lapwing_runtime* runtime, void* value, uint64_t bytes, lapwing_combine_function combine,
                            void* context);
/// Collective, one thread: combines the values of the ranks before this one, in their order, into `before`.
/// `*has_before`: 0 on rank 0, which has none. Cost: a binomial tree, up and down.
int lapwing_runtime_combine_before(lapwing_runtime* runtime, const void* value, void* before, uint64_t bytes,
                                   lapwing_combine_function combine, void* context, int* has_before);
/// Collective, one thread: gathers the values of all ranks, in their order, into `all`, which has size() * bytes bytes.
int lapwing_runtime_all_gather(lapwing_runtime* runtime, const void* value, uint64_t bytes, void* all);
/// Collective, one thread: gathers as many values of `type` as each rank has, `count` on this one. `counts` has size()
/// numbers, and gets how many each rank has passed; the values follow each other in `all`, which has room for `room` of
/// them. If that is too little on any rank, LAPWING_ERR_RANGE there and LAPWING_ERR_USAGE elsewhere: `counts` is set
/// all the same, and `all` is not, so that the call can be made again with as much room. Cost: two gathers.
int lapwing_runtime_all_gather_varying(lapwing_runtime* runtime, lapwing_type type, const void* values, uint64_t count,
                                       void* all, uint64_t room, uint64_t* counts);
/// Collective, one thread: LAPWING_ERR_MISMATCH on every rank unless all pass the same values; `what` names them in the
/// text, which has those of two ranks.
int lapwing_runtime_require_same(lapwing_runtime* runtime, const int64_t* values, size_t count, const char* what);
/// Collective, one thread, in place of a call that the other ranks make and this one cannot, so that they do not wait
/// for it: the call gives them LAPWING_ERR_USAGE or LAPWING_ERR_MISMATCH with `text`, what this rank could not do.
/// `values` nonzero: it is one of the calls above that combine, gather or compare values; 0: any other collective call.
/// Always LAPWING_ERR_USAGE here.
int lapwing_runtime_refuse(lapwing_runtime* runtime, int values, const char* text);

/// This rank's counters of the runtime and of its closed windows. Local, any thread.
int lapwing_runtime_statistics(const lapwing_runtime* runtime, lapwing_statistics* statistics);
/// Collective, one thread: the sum over all ranks.
int lapwing_runtime_total_statistics(lapwing_runtime* runtime, lapwing_statistics* statistics);
/// What was found at the start, and the settings that differ from the default, in several lines; and "rank 2 of 4".
/// `*text` is valid until the thread's next call that returns a text. Local, any thread.
int lapwing_runtime_report(const lapwing_runtime* runtime, const char** text);
int lapwing_runtime_who(const lapwing_runtime* runtime, const char** text);
/// The value of a setting of the runtime. As lapwing_settings_text(). Local, any thread.
int lapwing_runtime_setting(const lapwing_runtime* runtime, const char* name, const char** text);

#ifdef __cplusplus
}
#endif

#endif
