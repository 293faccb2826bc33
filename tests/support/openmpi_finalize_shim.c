// A workaround for Open MPI's starter on a machine that is busy for seconds, for tests. Preloaded by scripts/launch;
// never part of Lapwing.
//
// Bug: mpirun says that a rank has called MPI_Init and ended without MPI_Finalize, and fails, though the rank has
// called it. Mechanism: MPI_Finalize ends with a notice to mpirun, for whose answer PMIx waits two seconds and no
// longer (pmix_client.c). The rank then ends; if mpirun runs again only now, it may see the end of the process before
// it reads the notice. Stopping mpirun (SIGSTOP) for 3.5 s as PMIx_Finalize begins shows it each time, with Open
// MPI 4.1.4; PRRTE has the same code. Workaround: a rank that may have left without the answer stays for some more
// seconds, in which mpirun reads the notice. Bound: it costs these seconds in runs whose MPI_Finalize takes two, for
// whatever reason.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

enum { answer_seconds = 2, more_seconds = 3 };

__attribute__((visibility("default"))) int MPI_Finalize(void) {
    int (*finalize)(void);
    *(void**)&finalize = dlsym(RTLD_NEXT, "MPI_Finalize");
    // A program that loads MPI later, as Python does with a module: MPI is there, but not among what comes next.
    if (finalize == NULL) *(void**)&finalize = dlsym(dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD), "MPI_Finalize");

    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const int result = finalize();
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    if (seconds > answer_seconds - 0.1) sleep(more_seconds);
    return result;
}
