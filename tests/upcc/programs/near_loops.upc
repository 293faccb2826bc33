/* Innermost loops that leave the pointers alone by which they access shared memory: with loads and stores where all of
 * it is near, by blocks where it is far and apart, and element by element else. */
#include "check.h"
#include <stddef.h>
#include <stdlib.h>
#include <upc_relaxed.h>
enum { N = 100, ROWS = 5 };

typedef struct {
    double re, im;
} complex_t;
typedef shared [] double* row_t;
typedef struct {
    row_t at[ROWS];
    shared [] complex_t* numbers;
    int n;
} grid_t;
typedef shared [] struct list {
    int key;
    shared [] struct list* next;
    union {
        int i;
        float f;
    } u;
    struct {
        short a, b[3];
    };
} list_t;

shared [] double* shared lines[THREADS * ROWS];
shared [] complex_t* shared numbers[THREADS];
list_t* shared lists[THREADS];
shared [N] double own_rows[THREADS][N];
shared [ROWS * N] int planes[THREADS][ROWS][N];
shared int table[N][THREADS];
shared [] double totals[ROWS];
shared [] double (*shared matrices[THREADS])[N];
static row_t all[ROWS];
static grid_t grids[2];

static void copy(row_t to, const row_t from, int n) {
    int i;
    for (i = 0; i < n; i++) to[i] = from[i];
}
static void shift_down(row_t p, int n) {
    int i;
    for (i = n - 1; i > 0; i--) p[i] = p[i - 1];
}
static double smooth(row_t u, row_t r, int n) {
    double sum = 0;
    for (int i = 1; i < n - 1; i++) {
        u[i] += 0.5 * r[i] + 0.25 * (r[i - 1] + r[i + 1]);
        if (i == n / 2) continue;
        sum += u[i];
    }
    return sum;
}
static int leaves(int now) { return now; }
static double half(double x) { return x / 2; }
static int find(list_t* p, int n, int key) {
    for (int i = 0; i < n; ++i)
        if (p[i].key == key) return i;
    return -1;
}

/* Blocks of own and of other threads' elements, which the same loop stores to, and what must not be evaluated there. */
typedef float four __attribute__((vector_size(16)));
typedef struct {
    int n, a[4000];
} large_t;
shared [64] long longs[640 * THREADS], others[640 * THREADS];
shared [] four vectors[4];
static long not_evaluated(shared large_t* null, int n, int zero, int shift) {
    long sum = 0;
    for (int i = 0; i < n; i++) {
        longs[i]++;
        if (null != NULL) sum += null->a[i];
        if (zero != 0) sum += longs[i + n / zero];
        if (shift >= 0) longs[i + (1 << shift)] += 1;
        sum += (long)sizeof(null->a[i]);
        __typeof__(longs[i + n / zero] + 1) typed = 3;
        sum += typed + __builtin_choose_expr(1, 1, longs[i + n / zero]);
    }
    for (int i = 0; i < 4; i++) vectors[1][i] += i;
    return sum;
}
static void by_blocks(void) {
    const long all = 640 * THREADS;
    long i;
    upc_forall (i = 0; i < all; i++; &longs[i]) others[i] = longs[i] = i;
    upc_barrier;
    upc_forall (i = 1; i < all - 1; i++; &others[i]) {
        others[i] += longs[i - 1];
        if (i % 3 == 0) others[i] -= longs[i + 1];
    }
    upc_barrier;
    for (i = MYTHREAD; i < all; i += THREADS)
        CHECK(others[i] == (i == 0 || i == all - 1 ? i : i % 3 == 0 ? i - 2 : 2 * i - 1));
    upc_barrier;
    if (MYTHREAD == 0) {
        for (i = 1; i < all; i++) longs[i] = longs[i] + longs[i - 1];
        for (i = 0; i < all; i++) CHECK(longs[i] == i * (i + 1) / 2);
        CHECK(not_evaluated(NULL, 10, 0, -1) == 80);
        CHECK(vectors[1][3] == 3 && longs[9] == 46);
    }
    upc_barrier;
}

int main(void) {
    const int right = (MYTHREAD + 1) % THREADS;
    int i, k, z;
    double sum;
    by_blocks();
    for (k = 0; k < ROWS; k++) lines[MYTHREAD * ROWS + k] = upc_alloc(N * sizeof(double));
    numbers[MYTHREAD] = upc_alloc(N * sizeof(complex_t));
    lists[MYTHREAD] = (list_t*)upc_alloc(N * sizeof(list_t));
    matrices[MYTHREAD] = (shared [] double (*)[N])upc_alloc(ROWS * N * sizeof(double));
    upc_barrier;
    for (k = 0; k < ROWS; k++) {
        all[k] = lines[MYTHREAD * ROWS + k];
        for (i = 0; i < N; i++) all[k][i] = 100 * k + i;
    }
    /* Through private arrays and structures of pointers. */
    for (z = 0; z < 2; z++) {
        grids[z].n = N;
        for (k = 0; k < ROWS; k++) grids[z].at[k] = lines[(z == 0 ? MYTHREAD : right) * ROWS + k];
        grids[z].numbers = numbers[z == 0 ? MYTHREAD : right];
    }
    upc_barrier;
    for (z = 0; z < 2; z++)
        for (k = 0; k < ROWS; k++) {
            for (sum = 0, i = 0; i < grids[z].n; i++) sum += grids[z].at[k][i];
            CHECK(sum == 100. * k * N + N * (N - 1) / 2.);
            for (sum = 0, i = 0; i < N; i += 2) sum += grids[z].at[k][N - 1 - i] - grids[z].at[k][N - 2 - i];
            CHECK(sum == N / 2);
        }
    upc_barrier;
    /* Near and far, over each other. */
    copy(lines[right * ROWS], lines[MYTHREAD * ROWS + 1], N);
    upc_barrier;
    CHECK(all[0][3] == 103);
    copy(all[1], lines[right * ROWS + 2], N);
    CHECK(all[1][3] == 203 && all[1][N - 1] == 200 + N - 1);
    upc_barrier;
    copy(lines[right * ROWS + 3], lines[right * ROWS + 2], N); /* both far, of one thread */
    upc_barrier;
    CHECK(all[3][99] == 299);
    upc_barrier;
    copy(lines[right * ROWS + 4] + 1, lines[right * ROWS + 4], N - 1); /* over itself */
    upc_barrier;
    for (i = 0; i < N; i++) CHECK(all[4][i] == 400);
    shift_down(all[3], N);
    CHECK(all[3][0] == 200 && all[3][1] == 200 && all[3][N - 1] == 200 + N - 2);
    upc_barrier;
    shift_down(lines[right * ROWS + 3], N);
    upc_barrier;
    CHECK(all[3][2] == 200 && all[3][N - 1] == 200 + N - 3);
    for (i = 0; i < N; i++) all[0][i] = 1;
    for (i = 0; i < N; i++) all[1][i] = i;
    CHECK(smooth(all[0], all[1], N) > 0 && all[0][1] == 2 && all[0][98] == 99 && all[0][99] == 1);
    upc_barrier;
    for (i = 0; i < N; i++) lines[right * ROWS][i] = 1;
    CHECK(smooth(lines[right * ROWS], lines[right * ROWS + 1], N) > 0);
    upc_barrier;
    CHECK(all[0][1] == 2 && all[0][98] == 99);
    /* Structures, their members, and functions that are called. */
    for (i = 0; i < N; i++) {
        numbers[MYTHREAD][i].re = i;
        numbers[MYTHREAD][i].im = half(i);
    }
    upc_barrier;
    for (z = 0; z < 2; z++) {
        shared [] complex_t* const c = grids[z].numbers;
        for (sum = 0, i = 0; i < N; i++) {
            const complex_t one = c[i];
            sum += one.re - 2 * c[i].im;
            sum += (*(c + i)).re - c->re - one.re;
        }
        CHECK(sum == 0);
    }
    upc_barrier;
    for (i = 0; i < N; i++) {
        grids[1].numbers[i].re *= 2;
        grids[1].numbers[i].im++;
    }
    upc_barrier;
    for (sum = 0, i = 0; i < N; i++) sum += grids[0].numbers[i].re - 4 * (grids[0].numbers[i].im - 1);
    CHECK(sum == 0);
    upc_barrier;
    for (z = 0; z < 2; z++) {
        list_t* const p = lists[z == 0 ? MYTHREAD : right];
        for (i = 0; i < N; i++) {
            p[i].key = 3 * i;
            p[i].u.i = i;
            p[i].b[1] = (short)i;
            p[i].next = i + 1 < N ? &p[i + 1] : 0;
        }
        upc_barrier;
        CHECK(find(p, N, 27) == 9 && find(p, N, 28) == -1);
        for (sum = 0, i = 0; i < N; i++) {
            if (p[i].next == 0) break;
            sum += p[i].next->key - p[i].key - p[i].b[1] + p[i].u.i;
        }
        CHECK(sum == 3. * (N - 1) && i == N - 1);
        upc_barrier;
    }
    /* Rows within one block, by MYTHREAD or another number. */
    for (i = 0; i < N; i++) own_rows[MYTHREAD][i] = MYTHREAD + i;
    for (k = 0; k < ROWS; k++)
        for (i = 0; i < N; i++) planes[MYTHREAD][k][i] = k;
    for (i = 0; i < N; i++) own_rows[MYTHREAD][i % 7] += half(2);
    upc_barrier;
    for (sum = 0, i = 0; i < N; i++) sum += own_rows[right][i];
    CHECK(sum == N * (double)right + N * (N - 1) / 2. + N);
    for (k = 0; k < ROWS; k++)
        for (i = 0; i < N; i++) CHECK(planes[right][k][i] == k);
    for (i = 0; i < N; i++) table[i][MYTHREAD] = i;
    upc_forall (i = 0; i < N * THREADS; i++; i) table[i / THREADS][MYTHREAD] += 1;
    upc_barrier;
    for (sum = 0, i = 0; i < N; i++) sum += table[i][right] - 1;
    CHECK(sum == N * (N - 1) / 2.);
    if (MYTHREAD == 0)
        for (i = 0; i < ROWS; i++) totals[i] = i;
    upc_barrier;
    for (sum = 0, i = 0; i < ROWS; i++) sum += totals[i];
    CHECK(sum == 10);
    for (z = 0; z < 2; z++) {
        shared [] double (*const m)[N] = matrices[z == 0 ? MYTHREAD : right];
        for (k = 0; k < ROWS; k++)
            for (i = 0; i < N; i++) m[k][i] = k * i;
        upc_barrier;
        for (sum = 0, i = 0; i < ROWS; i++) sum += m[i][2] + m[ROWS - 1 - i][N - 1];
        CHECK(sum == 20 + 10. * (N - 1));
        upc_barrier;
    }
    {
        const grid_t* grid = 0;
        for (i = 0; i < 3; i++) {
            if (grid == 0) break;
            grid->at[1][i] = 1;
        }
        for (i = 0; i < 3; i++) {
            if (leaves(grid == 0)) continue;
            grid->at[1][i] = 1;
        }
    }
    /* A pointer that is not valid where no iteration comes to it. */
    {
        row_t none = 0, *nowhere = 0;
        for (i = 0; i < 0; i++) none[i] = 1;
        for (i = 5; i < 5; i++) nowhere[i][0] = 1;
        for (i = 0; i < 3; i++)
            if (nowhere != 0) nowhere[2][i] = 1;
    }
    /* Pointers that walk. */
    for (z = 0; z < 2; z++) {
        row_t p = lines[(z == 0 ? MYTHREAD : right) * ROWS];
        row_t q = lines[(z == 0 ? MYTHREAD : right) * ROWS + 1];
        shared [] complex_t* c = numbers[z == 0 ? MYTHREAD : right];
        const row_t begin = p;
        for (i = 0; i < N; i++) *p++ = i;
        CHECK(p == begin + N && *(p - 1) == N - 1);
        for (p = begin, i = 0; i < N; i++, p++) {
            if (i == 7) continue;
            *p = *p + 1;
            *q = *p;
            ++q;
        }
        CHECK(p - begin == N && begin[7] == 7 && begin[8] == 9 && q[-1] == N);
        for (p = begin, sum = 0, i = 0; i < N; i += 2) {
            sum += p[1] - p[0];
            p += 2;
            if (i == 50) break;
        }
        CHECK(p == begin + 52 && sum == 25); /* element 7 is as element 6 */
        for (i = 0; i < N; i++) {
            c->re = i;
            c++->im = -i;
        }
        c -= 10;
        CHECK(c->re == N - 10 && c[9].im == 1 - N);
        for (p = begin + N, i = N - 1; i >= 0; i--) *--p = 0;
        CHECK(p == begin && *p == 0 && p[N - 1] == 0);
        for (i = 0; i < N; i++) {
            row_t before = p;
            *p = p - before; /* also used otherwise */
            p++;
        }
        CHECK(p == begin + N);
        upc_barrier;
    }
    /* Through the rows of several threads, as through one array. */
    for (i = 0; i < N; i++) own_rows[MYTHREAD][i] = i + N * MYTHREAD;
    upc_barrier;
    for (sum = 0, i = 0; i < N * THREADS; i++) sum += own_rows[0][i];
    CHECK(sum == N * THREADS * (N * THREADS - 1.) / 2);
    /* Another member of the union that the pointer is in. */
    {
        union {
            row_t pointer;
            long words[2];
        } one, other;
        one.pointer = all[1];
        other.pointer = all[2];
        for (i = 0; i < N; i++) {
            all[1][i] = 1;
            all[2][i] = 2;
        }
        for (sum = 0, i = 0; i < N; i++) {
            sum += one.pointer[i];
            if (i == 9) {
                one.words[0] = other.words[0];
                one.words[1] = other.words[1];
            }
        }
        CHECK(sum == 10 + 2 * (N - 10));
    }
    /* A label of the switch around. */
    i = N - 2;
    k = 3;
    sum = 0;
    switch (k)
        for (; i < N; i++) {
        case 3:
            sum += all[2][i];
        }
    CHECK(sum == 4);
    /* A wait that ends at some time; not with the cache, which may keep what it has. */
    upc_barrier;
    if (MYTHREAD == 0) totals[0] = 0;
    upc_barrier;
    if (MYTHREAD == THREADS - 1) totals[0] = 1;
    if (getenv("LAPWING_CACHE") == 0) {
        long long turns;
        for (turns = 0; turns < 1000000000000; turns++)
            if (totals[0] != 0) break;
        CHECK(turns < 1000000000000);
    }
    upc_barrier;
    /* A bound that goes with the index. */
    all[0][0] = 1;
    for (k = 0, i = 0; i < 10 - i; i++) k += (int)all[0][0];
    CHECK(k == 5);
    upc_barrier;
    return 0;
}
