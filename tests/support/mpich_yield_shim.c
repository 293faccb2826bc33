// Two workarounds for MPICH 4.0.x over UCX (Debian 12: MPICH 4.0.2, UCX 1.13.1), for tests on small machines. Preloaded
// by scripts/launch; never part of Lapwing, which must work with MPICH as it is.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

typedef void* worker_handle;
typedef void* endpoint_handle;

// 1. Waiting without yielding.
//
// Bug: with more ranks than cores a rank that waits inside MPI polls until its time slice ends, while the rank that it
// waits for has no core. Kernels run 100 to 1000 times slower. MPIR_CVAR_POLLS_BEFORE_YIELD exists for this and has no
// effect in this build.
// Mechanism: MPICH's progress loop calls ucp_worker_progress in every turn, also when it waits for shared memory. After
// `polls_without_event` turns in a row without an event the thread gives up its core once for each further turn.
// Bound: with a core for every rank it costs one sched_yield (about 0.4 us) a turn of a wait that lasts longer than
// `polls_without_event` turns, so the wrapper is not for latency measurements on a free core.
enum { polls_without_event = 32 };

__attribute__((visibility("default"))) unsigned ucp_worker_progress(worker_handle worker) {
    static unsigned (*next)(worker_handle);
    static _Thread_local unsigned fruitless;
    // Two threads may look it up at the same time; they find the same.
    unsigned (*progress)(worker_handle) = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (progress == NULL) {
        *(void**)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
        // A program that loads MPI later, as Python does with a module: UCX is there, but not among what comes next.
        if (progress == NULL)
            *(void**)&progress = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
        __atomic_store_n(&next, progress, __ATOMIC_RELAXED);
    }
    unsigned events = progress(worker);
    if (events != 0) {
        fruitless = 0;
    } else if (++fruitless > polls_without_event) {
        sched_yield();
    }
    return events;
}

// 2. MPI_Finalize that does not end.
//
// Bug: over UCX's TCP transport, MPI_Finalize hangs in most runs of 4 ranks. MPICH disconnects its endpoints and then
// meets the other ranks at the process manager, where it no longer drives UCX; a rank whose disconnect still needs an
// answer from one that is there already polls for ever.
// Mechanism: nothing is disconnected; a null request tells MPICH that it is done. The peers' connections end with the
// processes. MPICH has completed all communication before it comes here.
// Bound: the endpoints of a process live until it exits, which matters only to programs that connect and disconnect
// (MPI_Comm_disconnect) all the time.
__attribute__((visibility("default"))) void* ucp_disconnect_nb(endpoint_handle endpoint) {
    (void)endpoint;
    return NULL;
}
