/* Section 6.5.1.1: the elements of a shared array by their blocks, and the operators that tell of them. */
#include "check.h"

#define N 24
#define B (1 + 2)
enum { four = 4 };

shared int scalar;
shared int cyclic[N * THREADS];
shared[5] int fives[N * THREADS];
shared[B] int threes[N * THREADS];
shared[four] int fours[2][THREADS][3];
shared[] int one_thread[N];
shared[*] int even[7 * THREADS];
shared[sizeof(int)] char chars[10 * THREADS];
typedef shared[2] double pairs_t;
pairs_t pairs[8 * THREADS];
struct point { int x, y; double z[3]; };
shared[2] struct point points[4 * THREADS];
shared int matrix[THREADS][3];

static int thread_of(int i, int block) { return i / block % THREADS; }
static int phase_of(int i, int block) { return i % block; }

int main(void) {
    int i, j;
    CHECK(upc_threadof(&scalar) == 0);
    for (i = 0; i < N * THREADS; i++) {
        CHECK((int)upc_threadof(&cyclic[i]) == i % THREADS && upc_phaseof(&cyclic[i]) == 0);
        CHECK((int)upc_threadof(&fives[i]) == thread_of(i, 5) && (int)upc_phaseof(&fives[i]) == phase_of(i, 5));
        CHECK((int)upc_threadof(&threes[i]) == thread_of(i, 3) && (int)upc_phaseof(&threes[i]) == phase_of(i, 3));
    }
    for (i = 0; i < N; i++) CHECK(upc_threadof(&one_thread[i]) == 0 && upc_phaseof(&one_thread[i]) == 0);
    for (i = 0; i < 7 * THREADS; i++) CHECK((int)upc_threadof(&even[i]) == i / 7 && (int)upc_phaseof(&even[i]) == i % 7);
    for (i = 0; i < 10 * THREADS; i++) CHECK((int)upc_threadof(&chars[i]) == thread_of(i, 4));
    for (i = 0; i < 8 * THREADS; i++) CHECK((int)upc_threadof(&pairs[i]) == thread_of(i, 2));
    for (i = 0; i < 4 * THREADS; i++) CHECK((int)upc_threadof(&points[i].z[1]) == thread_of(i, 2));
    for (i = 0; i < 2; i++)
        for (j = 0; j < THREADS; j++) CHECK((int)upc_threadof(&fours[i][j][2]) == thread_of(i * THREADS * 3 + j * 3 + 2, 4));
    for (i = 0; i < THREADS; i++) CHECK((int)upc_threadof(&matrix[i][1]) == (i * 3 + 1) % THREADS);

    CHECK(upc_blocksizeof(cyclic) == 1 && upc_blocksizeof(fives) == 5 && upc_blocksizeof(threes[0]) == 3);
    CHECK(upc_blocksizeof(one_thread) == 0 && upc_blocksizeof(even) == 7 && upc_blocksizeof(shared[7] double) == 7);
    CHECK(upc_elemsizeof(fours) == sizeof(int) && upc_elemsizeof(points) == sizeof(struct point) && upc_elemsizeof(shared[4] short[10]) == sizeof(short));
    CHECK(upc_localsizeof(cyclic) == N * sizeof(int) && upc_localsizeof(even) == 7 * sizeof(int) && upc_localsizeof(scalar) == sizeof(int));
    CHECK(sizeof(cyclic) == N * THREADS * sizeof(int) && sizeof cyclic[0] == sizeof(int) && sizeof(matrix[0]) == 3 * sizeof(int));
    CHECK(sizeof(cyclic) / sizeof(cyclic[0]) == (size_t)(N * THREADS));

    /* Zero at the start, and each element is itself. */
    for (i = MYTHREAD; i < N * THREADS; i += THREADS) CHECK(cyclic[i] == 0 && fives[i] == 0);
    upc_barrier;
    if (MYTHREAD == THREADS - 1)
        for (i = 0; i < N * THREADS; i++) {
            fives[i] = i;
            cyclic[i] = -i;
            threes[i] = 7 * i;
        }
    upc_barrier;
    for (i = 0; i < N * THREADS; i++) CHECK(fives[i] == i && cyclic[i] == -i && threes[i] == 7 * i);
    upc_barrier;
    upc_forall (i = 0; i < 4 * THREADS; i++; &points[i]) {
        points[i].x = i;
        points[i].z[2] = i / 4.0;
    }
    upc_barrier;
    for (i = 0; i < 4 * THREADS; i++) {
        struct point p = points[i];
        CHECK(p.x == i && p.y == 0 && p.z[2] == i / 4.0 && points[i].z[2] == p.z[2]);
    }

    /* The phase stays where the block size does, however it is written. */
    {
        static shared [*] int even[10 * THREADS];
        static shared [10] int tens[10 * THREADS];
        enum { TEN = 10 };
        CHECK(upc_phaseof((shared [TEN] int *)&even[3]) == 3 && upc_phaseof((shared [10] int *)&tens[4]) == 4);
        CHECK(upc_phaseof((shared [9] int *)&even[3]) == 0 && upc_blocksizeof(even) == 10);
        shared [10] int *p = even;
        CHECK(upc_threadof(p + 10 * (THREADS - 1)) == THREADS - 1 && p + 13 == (shared [TEN] int *)&even[13]);
    }
    return 0;
}
