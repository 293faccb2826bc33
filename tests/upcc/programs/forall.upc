/* Section 6.6.2: upc_forall. */
#include "check.h"

#define N 20
shared int a[N * THREADS];
shared[3] int b[N * THREADS];
shared int counts[THREADS];
int done[N * 64];

static int inner(void) { /* inside another loop with an affinity it is shared out no more */
    int i, n = 0;
    upc_forall (i = 0; i < THREADS; i++; i) n++;
    return n;
}
static int left_early(int limit) {
    int i;
    upc_forall (i = 0; i < N * THREADS; i++; i) {
        inner();
        if (i >= limit) return i;
    }
    return -1;
}

/* Pointers in shared memory, as elements and as members: they point to other threads' elements. */
shared int* shared places[N * THREADS];
shared struct { shared int* place; } members[N * THREADS];
static void by_pointers(void) {
    const int last = N * THREADS - 1;
    int i;
    upc_forall (i = 0; i <= last; i++; &places[i]) members[i].place = places[i] = &a[last - i];
    upc_barrier;
    upc_forall (i = 0; i <= last; i++; places[i]) CHECK((last - i) % THREADS == MYTHREAD);
    upc_forall (i = 0; i <= last; i++; members[i].place) CHECK((last - i) % THREADS == MYTHREAD);
}

int main(void) {
    int i, j, n;
    by_pointers();
    upc_forall (i = 0; i < N * THREADS; i++; &a[i]) { CHECK((int)upc_threadof(&a[i]) == MYTHREAD); a[i] = i; }
    upc_forall (i = 0; i < N * THREADS; i++; &b[i]) { CHECK((int)upc_threadof(&b[i]) == MYTHREAD); b[i] = i; }
    upc_barrier;
    for (i = 0; i < N * THREADS; i++) CHECK(a[i] == i && b[i] == i);

    n = 0;
    upc_forall (i = 0; i < N * THREADS; i++; i) { CHECK(i % THREADS == MYTHREAD); n++; }
    CHECK(n == N);
    n = 0;
    upc_forall (i = 0; i < N; i++; continue) n++;
    CHECK(n == N);
    n = 0;
    upc_forall (i = 0; i < N; i++;) n++;
    CHECK(n == N);
    i = 0;
    n = 0;
    upc_forall (; i < N * THREADS; i++; i) { if (i % 2) continue; n += 1; }
    CHECK(n == (THREADS % 2 == 0 ? (MYTHREAD % 2 ? 0 : N) : N / 2));
    i = n = 0;
    upc_forall (;; i++; i) {
        if (i >= N * THREADS) break;
        n++;
    }
    CHECK(n == N);
    upc_forall (i = -N * THREADS; i < 0; i++; i) n++;
    upc_forall (int k = 0; k < THREADS; k++; k) n++;
    n = 0;
    upc_forall (i = 0, j = 10; i < THREADS; i++, j--; i) { CHECK(i + j == 10); n++; }
    CHECK(n == 1);

    /* Nested: the outermost one shares out. */
    n = 0;
    upc_forall (i = 0; i < THREADS; i++; i) upc_forall (j = 0; j < 5; j++; j) n++;
    CHECK(n == 5);
    n = 0;
    upc_forall (i = 0; i < 3; i++; continue) upc_forall (j = 0; j < 2 * THREADS; j++; j) n++;
    CHECK(n == 6);
    upc_forall (i = 0; i < THREADS; i++; i) CHECK(inner() == THREADS);
    CHECK(inner() == 1);
    upc_forall (i = 0; i < 2 * THREADS; i++; i) {
        inner();
        if (i >= THREADS) break;
    }
    CHECK(inner() == 1);
    CHECK(left_early(THREADS) == THREADS + MYTHREAD && inner() == 1);

    /* An else belongs to the if before the loop. */
    n = 0;
    if (THREADS == 0) upc_forall (i = 0; i < 1; i++; i) n = 1;
    else n = 2;
    CHECK(n == 2);
    if (n == 2)
        upc_forall (i = 0; i < N; i++; &a[i])
            if (a[i] < 0) CHECK(0);
            else done[i] = 1;
    for (i = 0; i < N; i++) CHECK(done[i] == (i % THREADS == MYTHREAD));

    counts[MYTHREAD] = 0;
    upc_forall (i = 0; i < 4 * THREADS; i++; &counts[i % THREADS]) counts[i % THREADS] += 1;
    CHECK(counts[MYTHREAD] == 4);

    /* Numbers that are negative as a long long. */
    {
        unsigned long long large;
        n = 0;
        upc_forall (large = ~0ull - 5 * THREADS; large < ~0ull; large++; large) {
            CHECK(large % THREADS == MYTHREAD);
            n++;
        }
        CHECK(n == 5);
    }
    return 0;
}
