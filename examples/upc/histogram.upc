/* A histogram whose buckets are dealt to the threads, with a lock for each thread's buckets.
 *
 *     lapwing-upcc -O2 -o histogram histogram.upc && lapwing-upcrun -n 4 ./histogram */
#include <stdint.h>
#include <stdio.h>
#include <upc.h>

#define BUCKETS 1000
#define NUMBERS 2000 /* of each thread */

shared int64_t histogram[BUCKETS * THREADS]; /* those beyond BUCKETS are not used */

int main(void) {
    uint64_t random = MYTHREAD + 1;
    int64_t sum = 0;
    int i, k;
    upc_lock_t *locks[THREADS];
    for (i = 0; i < THREADS; i++) locks[i] = upc_all_lock_alloc();
    upc_forall (i = 0; i < BUCKETS; i++; &histogram[i]) histogram[i] = 0;
    upc_barrier;
    for (k = 0; k < NUMBERS; k++) {
        int bucket;
        random = random * 6364136223846793005u + 1442695040888963407u;
        bucket = (int)((random >> 33) % BUCKETS);
        upc_lock(locks[upc_threadof(&histogram[bucket])]);
        histogram[bucket]++;
        upc_unlock(locks[upc_threadof(&histogram[bucket])]);
    }
    upc_barrier;
    for (i = 0; i < BUCKETS; i++) sum += histogram[i];
    if (MYTHREAD == 0) printf("%lld numbers of %d threads\n", (long long)sum, THREADS);
    return sum == (int64_t)NUMBERS * THREADS ? 0 : 1;
}
