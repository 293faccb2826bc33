/* What leaves its object is an error: with -DLAPWING_ASSERTION_LEVEL=2, and, but for arithmetic, with LAPWING_CHECKS=2. */
#include "fails_with.h"

#include <upc_atomic.h>
#include <upc_collective.h>
#include <upc_nb.h>
#include <upc_relaxed.h>

struct point { int x, y[3]; unsigned bits : 3; };

shared [4] double a[4 * THREADS];
shared [4] double other[4 * THREADS];
shared [3] int rest[4 * THREADS]; /* the last block is not full with 2 threads */
shared [] char mine[100];
shared int scalar;
shared struct point points[THREADS];
shared [3] int rows[5][THREADS][3];
shared char last[64 * THREADS]; /* its end is that of a line */
shared char behind[64 * THREADS];

static void inside(void) {
    upc_forall (int k = 0; k < 4 * THREADS; k++; &a[k]) a[k] = k;
    upc_forall (int k = 0; k < 4 * THREADS; k++; &other[k]) other[k] = 100 + k;
    upc_barrier;
    double sum = 0;
    for (int k = 0; k < 4 * THREADS; k++) sum += a[k];
    CHECK(sum == 2.0 * THREADS * (4 * THREADS - 1));
    int count = 0;
    for (shared [4] double* p = a; p < a + 4 * THREADS; p++) count += *p >= 0;
    CHECK(count == 4 * THREADS);
    count = 0;
    for (shared [3] int* p = rest; p < rest + 4 * THREADS; p++) count += *p == 0;
    CHECK(count == 4 * THREADS);
    shared char* end = last + 64 * THREADS;
    CHECK(end[-1] == 0 && *--end == 0);
    rows[4][THREADS - 1][2] = 1;
    points[MYTHREAD].y[2] = 5;
    points[MYTHREAD].bits = 5;
    CHECK(points[MYTHREAD].y[2] == 5 && points[MYTHREAD].bits == 5);
    upc_barrier;
}

static void beyond(int n) {
    char buffer[128];
    shared [] char* const heap = upc_alloc(10);
    shared [] char* const freed = upc_alloc(10);
    upc_free(freed);
    FAILS(upc_memget(buffer, a, 48), "'a'");
    FAILS(upc_memput(&a[4 * MYTHREAD + 1], buffer, 32), "'a'");
    FAILS(upc_memput(mine, buffer, 101), "'mine'");
    FAILS(upc_memset(&rest[4 * THREADS - 1], 0, 8), "'rest'");
    FAILS(upc_memcpy(heap, a, 11), "the object");
    FAILS(upc_sync(upc_memget_nb(buffer, a, 48)), "upc_memget_nb");
    FAILS(a[n + 1000000] = 3, "thread ");
    FAILS(CHECK(a[n + 1] == 0), "thread ");
    FAILS(CHECK(a[n] == 0), "leave 'a'");
    FAILS(rest[n]++, "leave 'rest'");
    FAILS(mine[100] = 1, "leave 'mine'");
    FAILS((&scalar)[1] = 1, THREADS == 1 ? "leave 'scalar'" : "'scalar'");
    FAILS(heap[10] = 1, "leave the object");
    FAILS(freed[2] = 1, "nothing is allocated");
    FAILS(((strict shared double*)(shared void*)a)[n] = 1, "put_strict: 8 bytes");
    upc_free(heap);
}

int main(void) {
    volatile int n = 4 * THREADS;
    inside();
    beyond(n);
    upc_barrier;
#if LAPWING_ASSERTION_LEVEL >= 2
    shared [4] double* p = a;
    FAILS(a[n + 1000000] = 3, "leaves 'a'");
    FAILS(rest[-1 - n / (4 * THREADS)] = 1, "leaves 'rest'");
    FAILS(mine[n + 100] = 1, "leaves 'mine'");
    FAILS(points[n].y[1] = 1, "leaves 'points'");
    FAILS(p += 2 * n + 1, "pointer arithmetic");
    FAILS(p--, "pointer arithmetic");
    FAILS(CHECK(&rows[n + 5][0][0] == NULL), "'rows'");
    p = NULL;
    CHECK(p + 0 == NULL);
#endif
    return 0;
}
