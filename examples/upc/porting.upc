/* What docs/porting.md rewrites with Lapwing's arrays, in UPC: examples/porting/upc.cpp has the other side.
 *
 *     lapwing-upcc -O2 -o porting porting.upc && lapwing-upcrun -n 4 ./porting */
#include <stdint.h>
#include <stdio.h>
#include <upc.h>
#include <upc_atomic.h>

#define N 1000

/* With any number of threads, the dimension is a multiple of THREADS: elements beyond N are not used. */
shared [*] double a[N * THREADS], b[N * THREADS];
shared [10] double dealt[N * THREADS];
shared double total;
shared uint64_t table[N * THREADS];

static double start(int i) { return i * i % 97; }

static int smooth(void) {
    int i, right = 1;
    upc_forall (i = 0; i < N; i++; &a[i]) a[i] = start(i);
    upc_barrier;
    upc_forall (i = 1; i < N - 1; i++; &b[i]) b[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
    upc_barrier;
    for (i = 1; i < N - 1; i++) right = right && b[i] == (start(i - 1) + start(i) + start(i + 1)) / 3;
    return right;
}

static int dealt_blocks(void) {
    double buffer[100];
    int i, k, right = 1;
    upc_forall (i = 0; i < N; i++; &dealt[i]) dealt[i] = start(i);
    upc_barrier;
    for (k = 0; k < 100; k += 10) upc_memget(&buffer[k], &dealt[200 + k], 10 * sizeof(double));
    for (i = 0; i < 100; i++) right = right && buffer[i] == start(200 + i);
    return right;
}

static int shared_sum(void) {
    upc_lock_t *lock = upc_all_lock_alloc();
    upc_lock(lock);
    total += MYTHREAD + 1;
    upc_unlock(lock);
    upc_notify; /* work that needs no other thread may come here */
    upc_wait;
    upc_all_lock_free(lock);
    return total == 0.5 * THREADS * (THREADS + 1);
}

static int table_updates(void) {
    upc_atomicdomain_t *domain = upc_all_atomicdomain_alloc(UPC_UINT64, UPC_XOR, 0);
    int i, right = 1;
    uint64_t k;
    for (k = 0; k < 3000; k++) upc_atomic_relaxed(domain, NULL, UPC_XOR, &table[k * 7919 % N], &k, NULL);
    upc_barrier;
    for (i = 0; i < N; i++) {
        uint64_t expected = 0;
        for (k = 0; k < 3000; k++)
            if (k * 7919 % N == i && THREADS % 2 == 1) expected ^= k; /* an even number of times it has no effect */
        right = right && table[i] == expected;
    }
    upc_all_atomicdomain_free(domain);
    return right;
}

int main(void) {
    const char *wrong = NULL;
    if (!smooth()) wrong = "loop";
    if (!dealt_blocks()) wrong = "bulk";
    if (!shared_sum()) wrong = "lock";
    if (!table_updates()) wrong = "table";
    if (wrong != NULL) printf("thread %d: %s: WRONG\n", MYTHREAD, wrong);
    else if (MYTHREAD == 0) printf("four kernels of UPC programs: correct\n");
    return wrong != NULL;
}
