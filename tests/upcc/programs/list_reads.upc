/* Loops whose reads are lists: by an index that is known before, and in blocks of one element. Lists that are read often
 * are copied as a whole, and must go on to see what was written. */
#include "check.h"
#include <stddef.h>
#include <stdlib.h>
#include <upc_relaxed.h>
#include <upc_tick.h>
enum { N = 128, ROUNDS = 8 };

typedef struct {
    double x, y;
    int n;
} point;
typedef struct {
    char c[3];
} three;

shared double dealt[N * THREADS];
shared [3] int threes[3 * N * THREADS];
shared [*] short even[N * THREADS];
shared point points[N * THREADS];
shared [2] three odd[2 * N * THREADS];
shared unsigned char bytes[N * THREADS];
shared double rows[N][THREADS];
shared [] double* shared directory[THREADS];
upc_lock_t* lock;
shared long counter[64 * THREADS];

static int indices[4 * N];
static struct {
    int* of;
    long shift;
} place = {indices, 0};

static double value(int round, long i) { return round * 1000. + (double)(i % 997); }

/* Pseudo-random, the same on all threads. */
static void make_indices(unsigned seed, int below) {
    int k;
    for (k = 0; k < 4 * N; k++) {
        seed = seed * 1664525u + 1013904223u;
        indices[k] = (int)((seed >> 8) % (unsigned)below);
    }
}

static double sum_dealt(shared double* a, const int* at, int n) {
    double sum = 0;
    int k;
    for (k = 0; k < n; k++) sum += a[at[k]] * (k + 1);
    return sum;
}
static double sum_indefinite(shared [] double* a, const int* at, int n) {
    double sum = 0;
    int k;
    for (k = 0; k < n; k++) sum += a[at[k]] * (k + 1);
    return sum;
}

static void check_all(int round) {
    const int end = 4 * N - round;
    int k, t;
    double sum = 0, expected = 0;
    long numbers = 0, wanted = 0;
    for (k = 0; k < end; k++) sum += dealt[indices[k]] - value(round, indices[k]);
    CHECK(sum == 0 && k == end);
    CHECK(sum_dealt(dealt, indices, 9) == sum_dealt(&dealt[0], &indices[0], 9));
    /* From the middle of an array, also backwards. */
    for (k = 0; k < end; k++) expected += value(round, indices[k]) * (k + 1);
    CHECK(sum_dealt(&dealt[0], indices, end) == expected);
    CHECK(sum_dealt(&dealt[N], indices + 7, 0) == 0);
    {
        shared double* const middle = &dealt[N / 2 + 1];
        for (sum = 0, k = 0; k < end; k++) sum += middle[indices[k] - (N / 2 + 1)] - value(round, indices[k]);
        CHECK(sum == 0);
    }
    for (k = 0; k < end; k++) numbers += threes[place.of[k] + place.shift];
    for (k = 0; k < end; k++) wanted += (long)value(round, indices[k] + place.shift);
    CHECK(numbers == wanted);
    for (numbers = wanted = 0, k = 0; k < N * THREADS; k++) numbers += even[k];
    for (k = 0; k < N * THREADS; k++) wanted += (short)value(round, k);
    CHECK(numbers == wanted);
    for (sum = 0, k = 0; k < end; k++) sum += points[indices[k]].y - points[indices[k]].n;
    CHECK(sum == 0);
    for (numbers = 0, k = 0; k < end; k++) {
        const three one = odd[indices[k]];
        numbers += one.c[0] + one.c[2] - 2 * (char)(round + indices[k] % 10);
    }
    CHECK(numbers == 0);
    for (numbers = wanted = 0, k = 0; k < end; k++) numbers += bytes[(indices[k] * 3 + 1) % (N * THREADS)];
    for (k = 0; k < end; k++) wanted += (unsigned char)(long)value(round, (indices[k] * 3 + 1) % (N * THREADS));
    CHECK(numbers == wanted);
    for (t = 0; t < THREADS; t++) {
        for (sum = expected = 0, k = 0; k < N; k++) sum += rows[k][t];
        for (k = 0; k < N; k++) expected += value(round, k * 7 + t);
        CHECK(sum == expected);
        for (sum = 0, k = 0; k < N; k++) sum += dealt[k * THREADS + t] - value(round, (long)k * THREADS + t);
        CHECK(sum == 0);
        for (sum = 0, k = 0; k < N; k++) sum += (&dealt[1])[(size_t)k * THREADS + t - (t == THREADS - 1 && k == N - 1 ? 1 : 0)];
        CHECK(sum > 0);
        for (sum = expected = 0, k = 0; k < 2 * N; k++) {
            sum += directory[t][indices[k] % N] * (k + 1);
            expected += value(round, indices[k] % N + t) * (k + 1);
        }
        CHECK(sum == expected);
        for (k = 0; k < 2 * N; k++) indices[k] %= N;
        CHECK(sum_indefinite(directory[t], indices, 2 * N) == expected);
    }
}

static void write_all(int round) {
    int k;
    upc_forall (k = 0; k < N * THREADS; k++; &dealt[k]) dealt[k] = value(round, k);
    upc_forall (k = 0; k < 3 * N * THREADS; k++; &threes[k]) threes[k] = (int)value(round, k);
    upc_forall (k = 0; k < N * THREADS; k++; &even[k]) even[k] = (short)value(round, k);
    upc_forall (k = 0; k < N * THREADS; k++; &points[k]) {
        points[k].y = value(round, k);
        points[k].n = (int)value(round, k);
    }
    upc_forall (k = 0; k < 2 * N * THREADS; k++; &odd[k]) {
        const three one = {{(char)(round + k % 10), 1, (char)(round + k % 10)}};
        odd[k] = one;
    }
    upc_forall (k = 0; k < N * THREADS; k++; &bytes[k]) bytes[k] = (unsigned char)(long)value(round, k);
    for (k = 0; k < N; k++) rows[k][MYTHREAD] = value(round, k * 7 + MYTHREAD);
    for (k = 0; k < N; k++) directory[MYTHREAD][k] = value(round, k + MYTHREAD);
}

/* What this thread writes to another one's elements that it reads again and again, without a barrier between. */
static void own_writes(void) {
    const int right = (MYTHREAD + 1) % THREADS;
    double sum;
    int round, k;
    for (round = 0; round < 40; round++) {
        /* Elements with affinity to the next thread, which this one alone accesses. */
        for (k = 0; k < N; k++) indices[k] = k * THREADS + right;
        dealt[(round % N) * THREADS + right] += 1;
        for (sum = 0, k = 0; k < N; k++) sum += dealt[indices[k]];
        CHECK(sum == round + 1);
        if (round == 20) {
            const double more = 1 - dealt[right] + dealt[right];
            upc_memput(&dealt[3 * THREADS + right], &more, sizeof more); /* was 1 */
        }
    }
}

int main(void) {
    int round, k;
    directory[MYTHREAD] = upc_alloc(N * sizeof(double));
    lock = upc_all_lock_alloc();
    for (round = 0; round < ROUNDS; round++) {
        int again;
        upc_barrier;
        write_all(round);
        upc_barrier;
        /* Often enough for copies, then of other indices, beyond those before. */
        for (again = 0; again < (round % 4 == 3 ? 1 : 6); again++) {
            make_indices((unsigned)(round * 7 + again), round < 3 ? N / 2 : round < 5 ? N : N * THREADS);
            place.shift = round;
            check_all(round);
        }
    }
    upc_barrier;
    for (k = 0; k < N; k++) dealt[k * THREADS + MYTHREAD] = 0;
    upc_barrier;
    own_writes();
    upc_barrier;
    /* Under a lock, where each of the acquires shows what others wrote. */
    for (k = 0; k < 64; k++) indices[k] = 63 - k;
    for (round = 0; round < 50; round++) {
        long sum = 0;
        upc_lock(lock);
        for (k = 0; k < 64; k++) sum += counter[indices[k]];
        counter[(sum * 7) % 64] += 1;
        upc_unlock(lock);
    }
    upc_barrier;
    {
        long sum = 0;
        for (k = 0; k < 64; k++) sum += counter[indices[k]];
        CHECK(sum == 50 * THREADS);
    }
    upc_barrier;
    /* A wait without an acquire; not with the cache, which may keep what it has. */
    if (getenv("LAPWING_CACHE") == 0) {
        int set;
        for (k = 0; k < N; k++) threes[3 * N * MYTHREAD + k] = 0;
        for (k = 0; k < 16; k++) indices[k] = k * 9;
        upc_barrier;
        if (MYTHREAD == THREADS - 1) {
            upc_tick_t end = upc_ticks_now() + 50 * 1000 * 1000;
            for (k = 0; k < 16; k++) threes[indices[k]] = 0;
            while (upc_ticks_now() < end) {}
            for (k = 0; k < 16; k++) threes[indices[k]] = 1;
            upc_fence;
        }
        do
            for (set = 0, k = 0; k < 16; k++) set += threes[indices[k]] == 1;
        while (set < 16);
    }
    {
        union {
            int of;
            float other;
        } u = {0};
        long sum = 0;
        upc_barrier;
        for (k = 0; k < N; k++) threes[3 * N * MYTHREAD + k] = 0;
        upc_barrier;
        if (MYTHREAD == 0)
            for (k = 0; k < 3 * N; k++) threes[k] = k;
        upc_barrier;
        for (k = 0; k < 32; k++) {
            sum += threes[indices[u.of] * 0 + k + u.of];
            u.other = 1e-45f * (float)(k + 1);
        }
        CHECK(sum == 2 * (31 * 32 / 2));
    }
    upc_barrier;
    /* Freed, and allocated again with other contents. */
    for (round = 0; round < 6; round++) {
        shared double* const a = upc_all_alloc(N * THREADS, sizeof(double));
        double sum;
        upc_forall (k = 0; k < N * THREADS; k++; &a[k]) a[k] = value(round, k);
        upc_barrier;
        make_indices((unsigned)round, N * THREADS);
        for (k = 0; k < 8; k++) {
            int j;
            for (sum = 0, j = 0; j < 4 * N; j++) sum += a[indices[j]] - value(round, indices[j]);
            CHECK(sum == 0);
        }
        upc_barrier;
        if (MYTHREAD == 0) upc_free(a);
        upc_barrier;
    }
    return 0;
}
