/* The libraries' headers: upc_collective.h, upc_atomic.h, upc_castable.h, upc_nb.h, upc_tick.h. */
#include <upc_atomic.h>
#include <upc_castable.h>
#include <upc_collective.h>
#include <upc_nb.h>
#include <upc_tick.h>
#include "check.h"

#define N 4
shared[] int *shared from_one; // an array of one thread cannot be declared with THREADS elements
shared[N] int to_all[N * THREADS];
shared[N] int permuted[N * THREADS];
shared int numbers[N * THREADS];
shared int perm[THREADS];
shared int result;
shared[N] double prefix[N * THREADS];
shared long counter;
shared int *shared where;
int got[N];

static int larger(int a, int b) { return a > b ? a : b; }

upc_atomicdomain_t *shared domain_of_all; /* a pointer that one thread has stored */
shared long counted_by_all;

int main(void) {
    int i;
    upc_tick_t begin = upc_ticks_now();
    if (MYTHREAD == 0) {
        from_one = upc_alloc(N * THREADS * sizeof(int));
        for (i = 0; i < N * THREADS; i++) from_one[i] = i + 1;
    }
    upc_barrier;
    upc_all_broadcast(to_all, from_one, N * sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    for (i = 0; i < N; i++) CHECK(to_all[N * MYTHREAD + i] == i + 1);
    upc_all_scatter(to_all, from_one, N * sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    for (i = 0; i < N * THREADS; i++) CHECK(to_all[i] == i + 1);
    upc_barrier;
    upc_forall (i = 0; i < THREADS; i++; i) perm[i] = (i + 1) % THREADS;
    upc_all_permute(permuted, to_all, perm, N * sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    CHECK(permuted[N * ((MYTHREAD + 1) % THREADS)] == N * MYTHREAD + 1);
    upc_all_gather(from_one, to_all, N * sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    CHECK(from_one[N * THREADS - 1] == N * THREADS);
    upc_forall (i = 0; i < N * THREADS; i++; &numbers[i]) numbers[i] = i;
    upc_all_reduceI(&result, numbers, UPC_ADD, N * THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    CHECK(result == N * THREADS * (N * THREADS - 1) / 2);
    upc_all_reduceI(&result, numbers, UPC_FUNC, N * THREADS, 1, larger, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    CHECK(result == N * THREADS - 1);
    upc_forall (i = 0; i < N * THREADS; i++; &prefix[i]) prefix[i] = 1;
    upc_all_prefix_reduceD(prefix, prefix, UPC_ADD, N * THREADS, N, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    CHECK(prefix[N * MYTHREAD] == N * MYTHREAD + 1);

    {
        upc_atomicdomain_t *domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD | UPC_GET | UPC_INC, UPC_ATOMIC_HINT_DEFAULT);
        long one = 1, before = -1;
        for (i = 0; i < 5; i++) upc_atomic_relaxed(domain, &before, UPC_ADD, &counter, &one, 0);
        upc_atomic_strict(domain, 0, UPC_INC, &counter, 0, 0);
        upc_barrier;
        upc_atomic_strict(domain, &before, UPC_GET, &counter, NULL, NULL);
        CHECK(before == 6 * THREADS);
        if (MYTHREAD == THREADS - 1) domain_of_all = domain;
        upc_barrier;
        CHECK(upc_threadof(domain_of_all) < THREADS && domain_of_all == domain);
        upc_atomic_relaxed(domain_of_all, NULL, UPC_INC, &counted_by_all, NULL, NULL);
        upc_barrier;
        CHECK(counted_by_all == THREADS);
        upc_all_atomicdomain_free(domain);
    }
    {
        upc_handle_t handle = upc_memget_nb(got, &to_all[N * MYTHREAD], N * sizeof(int));
        upc_sync(handle);
        CHECK(got[N - 1] == N * MYTHREAD + N);
        upc_memput_nbi(&to_all[N * MYTHREAD], got + 1, sizeof(int));
        upc_synci();
        CHECK(to_all[N * MYTHREAD] == got[1] && UPC_COMPLETE_HANDLE == 0);
    }
    CHECK(*(int *)upc_cast(&numbers[MYTHREAD]) == MYTHREAD && (upc_thread_info(MYTHREAD).guaranteedCastable & UPC_CASTABLE_STATIC));
    CHECK(upc_ticks_to_ns(upc_ticks_now() - begin) > 0 && UPC_TICK_MAX > begin);
    return 0;
}
