/* What most tests in C begin with: a runtime of all ranks. */
#ifndef JOB_H
#define JOB_H

#include "check.h"

static lapwing_runtime* runtime;
static int rank, size;

/* Collective. */
static void start_job(void) {
    OK(lapwing_runtime_create(MPI_COMM_WORLD, NULL, &runtime));
    OK(lapwing_runtime_rank(runtime, &rank));
    OK(lapwing_runtime_size(runtime, &size));
    check_rank = rank;
}

#endif
