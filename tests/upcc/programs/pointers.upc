/* Sections 6.3.2, 6.4.2 and 6.4.3: pointers of all four kinds, their arithmetic, casts and comparisons. */
#include <stdint.h>
#include "check.h"

#define N 30
shared int cyclic[N * THREADS];
shared[4] int fours[N * THREADS];
shared[] int own[N];
int *private_to_private;
shared int *private_to_shared;
shared int *shared shared_to_shared;
int *shared shared_to_private[THREADS];
shared[4] int *shared table[THREADS];
shared[4] int *at_start = fours + 5;
static shared int *also_at_start[2] = {0, &cyclic[3]};
struct node { int value; shared struct node *next; shared[] double *data, *more; };
struct node none;

static shared[4] int *step(shared[4] int *p, int by) { return p + by; }
static int sum(int n, shared int *p, shared[4] int *q) {
    int s = 0;
    while (n-- > 0) s += *p++ + *q++;
    return s;
}
static int row_sum(shared[4] int (*rows)[4], int row) { return rows[row][0] + rows[row][3]; }
static int of_array(shared int a[], int i) { return a[i]; }
static int old_style(p, n) shared int *p; int n; { return p[n]; }

int main() {
    int i;
    shared int *p, *q;
    shared[4] int *f;
    shared void *generic;
    register shared int *fast = cyclic;
    upc_forall (i = 0; i < N * THREADS; i++; &cyclic[i]) cyclic[i] = i;
    upc_forall (i = 0; i < N * THREADS; i++; &fours[i]) fours[i] = 100 + i;
    upc_barrier;
    CHECK(*at_start == 105 && also_at_start[0] == NULL && *also_at_start[1] == 3 && none.next == 0);

    for (i = 0, p = cyclic, f = fours; i < N * THREADS; i++, ++p, f++) {
        CHECK(*p == i && *f == 100 + i && p == &cyclic[i] && f == fours + i);
        CHECK(p - cyclic == i && f - fours == i && &cyclic[i] - p == 0);
        CHECK(p >= cyclic && !(p < cyclic) && f <= &fours[N * THREADS - 1]);
    }
    while (p > cyclic) { p--; i--; CHECK(*p == i); }
    p = &cyclic[N - 1];
    p -= 7;
    CHECK(*p == N - 8);
    p += 3;
    CHECK(p[-2] == N - 7 && *(p + 1) == N - 4 && 1[p] == N - 4);
    q = p++;
    CHECK(q != p && p - q == 1 && q - p == -1);
    CHECK(*step(fours, 9) == 109 && step(fours, 9) == &fours[9]);
    CHECK(sum(5, cyclic + 1, fours + 2) == 15 + 5 * 100 + 20);
    CHECK(row_sum((shared[4] int (*)[4])fours, 2) == 108 + 111);
    CHECK(of_array(cyclic, 4) == 4 && old_style(cyclic, 5) == 5);
    CHECK(*fast++ == 0 && *fast == 1);

    /* Null, and truth. */
    p = NULL;
    CHECK(!p && p == 0 && !(p && 1) && (p ? 0 : 1) && (q || 0));
    if (p) CHECK(0);
    while (p) break;
    p = q ? q : 0;
    CHECK(p == q);

    /* Casts: a cast to another layout sets the phase to zero, and to the generic type and back nothing changes. */
    f = &fours[6];
    CHECK(upc_phaseof(f) == 2);
    generic = f;
    CHECK((shared[4] int *)generic == f && upc_phaseof((shared[4] int *)generic) == 2);
    CHECK(upc_phaseof((shared int *)f) == 0 && upc_phaseof((shared[3] int *)f) == 0 && upc_phaseof((shared[] int *)generic) == 0);
    CHECK(upc_threadof((shared int *)f) == upc_threadof(f));
    CHECK(upc_phaseof(upc_resetphase(f)) == 0);

    /* To the thread's own elements. */
    upc_barrier;
    private_to_private = (int *)&cyclic[MYTHREAD];
    CHECK(private_to_private[0] == MYTHREAD && private_to_private[1] == MYTHREAD + THREADS);
    private_to_private[20] = -1;
    CHECK(cyclic[MYTHREAD + 20 * THREADS] == -1);

    /* Pointers in shared memory. */
    if (MYTHREAD == 0) shared_to_shared = &cyclic[1];
    shared_to_private[MYTHREAD] = &i;
    table[MYTHREAD] = fours + MYTHREAD;
    upc_barrier;
    CHECK(*shared_to_shared == 1 && shared_to_shared[1] == 2);
    *shared_to_private[MYTHREAD] = 77;
    CHECK(i == 77);
    for (i = 0; i < THREADS; i++) CHECK(*table[i] == 100 + i);
    upc_barrier;
    if (MYTHREAD == 0) { shared_to_shared++; table[0] += 2; }
    upc_barrier;
    CHECK(*shared_to_shared == 2 && *table[0] == 102);

    /* Lists across threads. */
    {
        static shared struct node *shared heads[THREADS];
        shared struct node *n = upc_alloc(sizeof(struct node));
        n->value = MYTHREAD * 10;
        n->next = NULL;
        n->data = (shared[] double *)upc_alloc(4 * sizeof(double));
        n->data[3] = MYTHREAD;
        heads[MYTHREAD] = n;
        upc_barrier;
        n->next = heads[(MYTHREAD + 1) % THREADS];
        upc_barrier;
        for (i = 0; i < 2 * THREADS; i++, n = n->next) CHECK(n->value == (MYTHREAD + i) % THREADS * 10 && n->data[3] == (MYTHREAD + i) % THREADS);
        upc_barrier;
    }
    return 0;
}
