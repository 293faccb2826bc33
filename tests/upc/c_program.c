/* A program in C: what a UPC compiler would make of a kernel. Exit code 0 when all is right. */
#include <lapwing/upc.h>

#include <stdio.h>

enum { n = 100, block = 4 };

int main(int argc, char** argv) {
    lapwing_upc_start(&argc, &argv);
    const int threads = lapwing_upc_threads();
    const int me = lapwing_upc_mythread();

    /* shared [4] long a[100]; upc_forall (i = 0; i < 100; i++; &a[i]) a[i] = i; */
    const lapwing_upc_pointer a = lapwing_upc_all_alloc(n / block, block * sizeof(long));
    for (long i = 0; i < n; ++i) {
        const lapwing_upc_pointer p = lapwing_upc_add(a, sizeof(long), block, i);
        if (lapwing_upc_threadof(p) == (size_t)me) lapwing_upc_put(p, &i, sizeof(i));
    }
    lapwing_upc_barrier(NULL);

    long sum = 0;
    for (long i = 0; i < n; ++i) {
        long value = 0;
        lapwing_upc_get(&value, lapwing_upc_add(a, sizeof(long), block, i), sizeof(value));
        sum += value;
    }
    int wrong = sum != n * (n - 1) / 2;

    /* A pointer to the second element of a block of 4, seen as one to blocks of 1 or without blocks: no phase is left.
     */
    const lapwing_upc_pointer second = lapwing_upc_add(a, sizeof(long), block, 1);
    const lapwing_upc_pointer cyclic = lapwing_upc_add(second, sizeof(long), 1, 1);
    const lapwing_upc_pointer plain = lapwing_upc_add(second, sizeof(long), 0, 1);
    wrong = wrong || lapwing_upc_phaseof(second) != 1 || lapwing_upc_phaseof(cyclic) != 0 ||
            lapwing_upc_phaseof(plain) != 0 || lapwing_upc_threadof(cyclic) != (size_t)(1 % threads) ||
            lapwing_upc_threadof(plain) != 0 || lapwing_upc_difference(cyclic, second, sizeof(long), 1) != 1 ||
            lapwing_upc_difference(plain, second, sizeof(long), 0) != 1;

    const lapwing_upc_pointer lock = lapwing_upc_all_lock_alloc();
    lapwing_upc_barrier(NULL);
    lapwing_upc_lock(lock);
    long first = 0;
    lapwing_upc_get(&first, a, sizeof(first));
    first += 1;
    lapwing_upc_put(a, &first, sizeof(first));
    lapwing_upc_unlock(lock);
    lapwing_upc_barrier(NULL);
    lapwing_upc_get(&first, a, sizeof(first));
    wrong = wrong || first != threads;

    /* upc_all_reduceL(...), an atomic counter, a non-blocking copy. */
    const lapwing_upc_pointer total = lapwing_upc_all_alloc((size_t)threads, sizeof(long));
    lapwing_upc_all_reduceL(total, a, LAPWING_UPC_ADD, n, block, NULL,
                            LAPWING_UPC_IN_ALLSYNC | LAPWING_UPC_OUT_ALLSYNC);
    long reduced = 0;
    lapwing_upc_sync(lapwing_upc_memget_nb(&reduced, total, sizeof(reduced)));
    wrong = wrong || reduced != n * (n - 1) / 2 + threads;
    lapwing_upc_barrier(NULL);
    lapwing_upc_atomicdomain* const domain =
        lapwing_upc_all_atomicdomain_alloc(LAPWING_UPC_LONG, LAPWING_UPC_INC | LAPWING_UPC_GET, 0);
    lapwing_upc_atomic_relaxed(domain, NULL, LAPWING_UPC_INC, total, NULL, NULL);
    lapwing_upc_barrier(NULL);
    long counted = 0;
    lapwing_upc_atomic_strict(domain, &counted, LAPWING_UPC_GET, total, NULL, NULL);
    wrong = wrong || counted != reduced + threads;
    lapwing_upc_all_atomicdomain_free(domain);
    lapwing_upc_all_free(total);

    lapwing_upc_all_lock_free(lock);
    lapwing_upc_all_free(a);
    if (wrong) fprintf(stderr, "thread %d: sum %ld, count %ld\n", me, sum, first);
    lapwing_upc_end();
    return wrong;
}
