/* Sections 6.6.1 and 6.7, 7.2.2 to 7.2.5: barriers, strict and relaxed accesses, memory, locks, copies of bytes. */
#include <stdlib.h>
#include <string.h>
#include "check.h"

#define N 16
strict shared int flag[THREADS];
relaxed shared int data[THREADS];
shared int plain[THREADS];
shared[N] char buffers[N * THREADS];
shared int total;
upc_lock_t *lock;
upc_lock_t *shared locks[THREADS];

static void ring(void) {
    int before = (MYTHREAD + THREADS - 1) % THREADS;
    if (MYTHREAD != 0) while (!flag[before]) ;
    data[MYTHREAD] = MYTHREAD == 0 ? 1 : data[before] + 1;
    flag[MYTHREAD] = 1;
}

static void by_pragma(void) {
#pragma upc strict
    plain[MYTHREAD] = 1;
    {
#pragma upc relaxed
        plain[MYTHREAD] += 1;
    }
    plain[MYTHREAD] += 1;
}

int main(int argc, char **argv) {
    int i;
    char local[N];
    ring();
    upc_barrier 7;
    CHECK(data[THREADS - 1] == THREADS);
    upc_barrier MYTHREAD - MYTHREAD;
    upc_notify 3;
    i = argc;
    upc_wait 3;
    upc_notify;
    upc_wait;
    upc_fence;
    by_pragma();
    CHECK(plain[MYTHREAD] == 3 && argv[0] != NULL && argc == 1);

    lock = upc_all_lock_alloc();
    locks[MYTHREAD] = upc_global_lock_alloc();
    upc_barrier;
    for (i = 0; i < 10; i++) {
        upc_lock(lock);
        total += 1;
        upc_unlock(lock);
    }
    while (!upc_lock_attempt(locks[(MYTHREAD + 1) % THREADS])) ;
    upc_unlock(locks[(MYTHREAD + 1) % THREADS]);
    upc_barrier;
    CHECK(total == 10 * THREADS);
    upc_lock_free(locks[MYTHREAD]);
    upc_all_lock_free(lock);

    memset(local, 'a' + MYTHREAD, N);
    upc_memput(&buffers[N * MYTHREAD], local, N);
    upc_barrier;
    i = (MYTHREAD + 1) % THREADS;
    upc_memget(local, &buffers[N * i], N);
    CHECK(local[N - 1] == 'a' + i);
    upc_barrier;
    upc_memset(&buffers[N * i], 'z', N - 1);
    upc_barrier;
    CHECK(buffers[N * MYTHREAD] == 'z' && buffers[N * MYTHREAD + N - 1] == 'a' + MYTHREAD);
    upc_memcpy(&buffers[N * MYTHREAD + 1], &buffers[N * MYTHREAD + N - 1], 1);
    CHECK(buffers[N * MYTHREAD + 1] == 'a' + MYTHREAD);

    {
        shared[4] double *together = (shared[4] double *)upc_all_alloc(THREADS, 4 * sizeof(double));
        shared int *alone = upc_global_alloc(2 * THREADS, sizeof(int));
        shared[] int *mine = (shared[] int *)upc_alloc(3 * sizeof(int));
        CHECK((int)upc_threadof(&together[4 * MYTHREAD + 1]) == MYTHREAD && (int)upc_threadof(mine + 2) == MYTHREAD);
        together[4 * MYTHREAD] = MYTHREAD;
        alone[THREADS + MYTHREAD] = 5;
        mine[2] = 8;
        upc_barrier;
        CHECK(together[4 * ((MYTHREAD + 1) % THREADS)] == (MYTHREAD + 1) % THREADS && alone[THREADS + MYTHREAD] == 5 && mine[2] == 8);
        CHECK(upc_affinitysize(10, 4, 0) == (THREADS == 1 ? 10 : THREADS == 2 ? 6 : 4));
        upc_free(alone);
        upc_free(mine);
        upc_barrier;
        upc_all_free(together);
    }
    return 0;
}
