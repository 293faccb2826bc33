/* IS: ranks of integer keys, by counting. The keys go to threads by their value, in buckets, so that each thread counts
 * a range of values of its own. Keys, the same by buckets, and the places of the buckets are in shared arrays. */
#include "nas.h"

enum {
    KEYS = 1 << NAS_CHOOSE(16, 20, 23),
    LOG2_VALUES = NAS_CHOOSE(11, 16, 19),
    LOG2_BUCKETS = NAS_CHOOSE(9, 10, 10),
    VALUES = 1 << LOG2_VALUES,
    BUCKETS = 1 << LOG2_BUCKETS,
    SHIFT = LOG2_VALUES - LOG2_BUCKETS,
    ITERATIONS = 10,
    CHECKS = 5
};

/* Which ranks NPB checks: of the key at a place in the sequence, a number to which `sign` times the iteration plus
 * `offset` is added. */
static const struct check {
    int place, rank, sign, offset;
} checks[3][CHECKS] = {
    {{48427, 0, 1, 0}, {17148, 18, 1, 0}, {23627, 346, 1, 0}, {62548, 64917, -1, 0}, {4431, 65463, -1, 0}},
    {{357773, 1249, 1, -2},
     {934767, 11698, 1, -2},
     {875723, 1039987, -1, 0},
     {898999, 1043896, -1, 0},
     {404505, 1048018, -1, 0}},
    {{2112377, 104, 1, -1},
     {662041, 17523, 1, -1},
     {5336171, 123928, 1, -1},
     {3642833, 8288932, -1, 1},
     {4250760, 8388264, -1, 1}}};

shared int *keys, *sorted;              /* KEYS, whatever the number of threads */
shared int starts[BUCKETS + 1][THREADS]; /* where each thread's keys of a bucket begin, among its own */
shared int greatest[THREADS];
static int bounds[65537]; /* the first bucket of each thread; one more is the end */
static int smaller;       /* keys below the thread's own values */
static int* counts;       /* then ranks, of the thread's own values */
static int right_ranks;

/* The keys of the thread: sums of four random numbers, so that values in the middle are frequent. */
static void make_keys(void) {
    const double quarter = VALUES / 4;
    int i;
    upc_forall (i = 0; i < KEYS; i++; &keys[i]) {
        uint64_t state = nas_skip(314159265, (uint64_t)4 * (uint64_t)i);
        double sum = nas_random(&state);
        sum += nas_random(&state);
        sum += nas_random(&state);
        sum += nas_random(&state);
        keys[i] = (int)(quarter * sum);
    }
}

/* The thread's keys by buckets: its place k is sorted[k * THREADS + MYTHREAD]. */
static void sort_own(void) {
    int next[BUCKETS];
    int i, b;
    for (b = 0; b <= BUCKETS; b++) starts[b][MYTHREAD] = 0;
    upc_forall (i = 0; i < KEYS; i++; &keys[i]) starts[(keys[i] >> SHIFT) + 1][MYTHREAD] += 1;
    for (b = 0; b < BUCKETS; b++) {
        next[b] = starts[b][MYTHREAD];
        starts[b + 1][MYTHREAD] += starts[b][MYTHREAD];
    }
    upc_forall (i = 0; i < KEYS; i++; &keys[i]) {
        const int key = keys[i];
        sorted[(size_t)next[key >> SHIFT]++ * THREADS + MYTHREAD] = key;
    }
}

/* Which buckets each thread has: as many as hold its part of all keys, or slightly more. */
static void deal_buckets(void) {
    int64_t sum = 0;
    int b, t, thread = 1;
    bounds[0] = 0;
    for (t = 1; t <= THREADS; t++) bounds[t] = BUCKETS;
    for (b = 0; b < BUCKETS && thread < THREADS; b++) {
        for (t = 0; t < THREADS; t++) sum += starts[b + 1][t] - starts[b][t];
        while (thread < THREADS && sum >= (int64_t)KEYS * thread / THREADS) bounds[thread++] = b + 1;
    }
    smaller = 0;
    for (t = 0; t < THREADS; t++) smaller += starts[bounds[MYTHREAD]][t];
}

/* Counts the keys of the thread's own buckets, whoever has them. */
static void count(void) {
    const int first = bounds[MYTHREAD] << SHIFT, last = bounds[MYTHREAD + 1] << SHIFT;
    int t, v;
    for (v = first; v < last; v++) counts[v - first] = 0;
    for (t = 0; t < THREADS; t++) {
        const int end = starts[bounds[MYTHREAD + 1]][t];
        int k;
        for (k = starts[bounds[MYTHREAD]][t]; k < end; k++) counts[sorted[(size_t)k * THREADS + t] - first] += 1;
    }
    for (v = first + 1; v < last; v++) counts[v - first] += counts[v - first - 1];
}

static void rank_keys(int iteration) {
    int k;
    if (MYTHREAD == 0) {
        keys[iteration] = iteration;
        keys[iteration + ITERATIONS] = VALUES - iteration;
    }
    upc_barrier;
    sort_own();
    upc_barrier;
    deal_buckets();
    count();
    for (k = 0; k < CHECKS; k++) {
        const struct check* const one = &checks[NAS_CHOOSE(0, 1, 2)][k];
        const int key = keys[one->place], first = bounds[MYTHREAD] << SHIFT;
        if (key < first || key >= bounds[MYTHREAD + 1] << SHIFT) continue;
        right_ranks += smaller + (key == first ? 0 : counts[key - first - 1]) ==
                       one->rank + one->sign * iteration + one->offset;
    }
    upc_barrier;
}

/* Puts each key where its rank says, and counts those that are out of order. */
static double unsorted_keys(double* all) {
    const int first = bounds[MYTHREAD] << SHIFT, last = bounds[MYTHREAD + 1] << SHIFT;
    const int mine = last > first ? counts[last - first - 1] : 0;
    int* const order = malloc((size_t)(mine + 1) * sizeof *order);
    double wrong = 0;
    int t, k;
    for (t = 0; t < THREADS; t++)
        for (k = starts[bounds[MYTHREAD]][t]; k < starts[bounds[MYTHREAD + 1]][t]; k++) {
            const int key = sorted[(size_t)k * THREADS + t];
            order[--counts[key - first]] = key;
        }
    for (k = 1; k < mine; k++) wrong += order[k - 1] > order[k];
    greatest[MYTHREAD] = mine == 0 ? -1 : order[mine - 1];
    upc_barrier;
    for (t = 0; t < MYTHREAD; t++) wrong += mine > 0 && greatest[t] > order[0];
    free(order);
    *all = nas_sum(mine);
    return nas_sum(wrong);
}

int main(void) {
    double seconds, ranks, unsorted, all;
    int iteration;
    keys = upc_all_alloc(KEYS, sizeof(int));
    sorted = upc_all_alloc((size_t)KEYS + THREADS, sizeof(int));
    counts = malloc(VALUES * sizeof *counts);
    make_keys();
    upc_barrier;
    rank_keys(1); /* as NPB does, so that everything has been touched */
    right_ranks = 0;
    nas_start();
    for (iteration = 1; iteration <= ITERATIONS; iteration++) rank_keys(iteration);
    seconds = nas_stop();
    ranks = nas_sum(right_ranks);
    unsorted = unsorted_keys(&all);
    if (MYTHREAD == 0)
        printf("%.0f of %d ranks right; %.0f keys sorted, %.0f out of order\n", ranks, ITERATIONS * CHECKS, all, unsorted);
    return nas_end("IS", seconds, 1e-6 * ITERATIONS * KEYS, ranks == ITERATIONS * CHECKS && unsorted == 0 && all == KEYS);
}
