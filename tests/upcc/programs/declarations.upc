/* Section 6.5: declarations in the forms that C has. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <upc_relaxed.h>
#include "check.h"

#define BLOCK 4
typedef shared int sint;
typedef shared[BLOCK] int *block_pointer;
typedef shared[] struct tree *tree_pointer;
typedef struct tree { int key; tree_pointer left, right; } tree;
typedef struct { shared int *p; int n; } holder;
typedef struct vector { double x[3]; } vector;
typedef shared[] double *row;
typedef shared void *any;
typedef int (*compare)(shared const int *, shared const int *);

sint counter, *counter_pointer = &counter;
shared int a[2 * THREADS], *p = a, *shared q, **pp = &p, *table[3];
int shared b[THREADS];
int const shared *cp = a;
static shared[BLOCK] vector vectors[BLOCK * THREADS], *vector_pointer = vectors + 1;
shared[] row rows[2];
row shared distributed[THREADS];
holder held = {a, 2}, several[2] = {{a, 1}, {&a[1], 2}};
shared holder holders[THREADS];
union either { shared int *s; int *p; uintptr_t u[4]; } either;
struct deep { struct { shared int *inner; int k; } in[2]; union { shared double *d; long l; }; } deep;
shared[BLOCK] int (*matrix)[BLOCK];
int (*function)(shared int *, int);
shared int *(*returns)(int);
enum { few = 3 };
extern shared int a[];
double private_matrix[few][few];
char sized[sizeof(struct deep)];

static int apply(int (*f)(shared int *, int), shared int *x) { return f(x, 1); }
static int nth(shared int *x, int n) { return x[n]; }
static shared int *same(int n) { return &a[n]; }
static int order(shared const int *x, shared const int *y) { return *x < *y ? -1 : *x > *y; }
static inline __attribute__((noinline)) double norm(shared[BLOCK] vector *v) { return sqrt(v->x[0] * v->x[0] + v->x[1] * v->x[1]); }
static tree_pointer insert(tree_pointer t, int key) {
    if (t == NULL) {
        t = (tree_pointer)upc_alloc(sizeof(tree));
        t->key = key;
        t->left = t->right = NULL;
    } else if (key < t->key) t->left = insert(t->left, key);
    else t->right = insert(t->right, key);
    return t;
}
static int size(tree_pointer t) { return t ? 1 + size(t->left) + size(t->right) : 0; }
static int sum_all(int n, ...) {
    va_list list;
    int sum = 0;
    va_start(list, n);
    while (n-- > 0) sum += *va_arg(list, shared int *);
    va_end(list);
    return sum;
}
static void fill(n, to) int n; shared[] double *to; { while (n--) to[n] = n; }
static int variable_length(int n) {
    int v[n], w[THREADS], s = 0;
    shared int *ps[n];
    for (int i = 0; i < n; i++) { v[i] = i; ps[i] = a + i % 2; }
    for (int i = 0; i < THREADS; i++) w[i] = 1;
    for (int i = 0; i < THREADS; i++) s += w[i];
    return s + v[n - 1] + (int)(ps[n - 1] - a);
}
static any pass(any x) { return x; }

int main(void) {
    int i, j, local = 5, *lp = &local;
    char text[100];
    shared int *x = a, *y = &a[1], *const z = a;
    const shared int *cx = x;
    for (shared int *k = a, *end = a + 2 * THREADS; k < end; k++) if (upc_threadof(k) == MYTHREAD) *k = 7;
    upc_barrier;
    for (const int *k = lp; k; k = NULL) CHECK(*k == 5);
    CHECK(*p == 7 && **pp == 7 && pp[0][1] == 7 && held.p[0] == 7 && several[1].p == &a[1] && held.n == 2 && *cp == 7 && *cx == 7 && *z == 7);
    *counter_pointer = counter; q = 0;
    table[2] = y;
    CHECK(table[2] == &a[1] && table[0] == NULL && sizeof(table) == 3 * sizeof(shared int *) && sizeof(x) == sizeof(p));
    vectors[BLOCK * MYTHREAD].x[0] = 3;
    vectors[BLOCK * MYTHREAD].x[1] = 4;
    CHECK(norm(&vectors[BLOCK * MYTHREAD]) == 5 && vector_pointer - vectors == 1);
    if (MYTHREAD == 0) rows[1] = (row)upc_alloc(few * sizeof(double));
    distributed[MYTHREAD] = (row)upc_alloc(few * sizeof(double));
    fill(few, distributed[MYTHREAD]);
    upc_barrier;
    rows[1][2] = 2.5;
    for (i = 0; i < THREADS; i++) CHECK(distributed[i][2] == 2 && upc_threadof(distributed[i]) == i);
    CHECK(rows[1][2] == 2.5);
    holders[MYTHREAD] = held;
    holders[MYTHREAD].n++;
    holders[MYTHREAD].p++;
    CHECK(holders[MYTHREAD].p == &a[1] && holders[MYTHREAD].n == 3 && *holders[MYTHREAD].p == 7);
    either.s = y;
    deep.in[1].inner = x;
    deep.d = NULL;
    CHECK(*either.s == 7 && *deep.in[1].inner++ == 7 && deep.in[1].inner == y && !deep.d && sizeof(sized) == sizeof(deep));
    matrix = (shared[BLOCK] int (*)[BLOCK])upc_all_alloc(THREADS, BLOCK * sizeof(int));
    for (j = 0; j < BLOCK; j++) matrix[MYTHREAD][j] = MYTHREAD * 10 + j;
    upc_barrier;
    for (i = 0; i < THREADS; i++) for (j = 0; j < BLOCK; j++) CHECK(matrix[i][j] == i * 10 + j && upc_threadof(&matrix[i][j]) == i && *(*(matrix + i) + j) == matrix[i][j]);
    function = nth;
    returns = &same;
    compare by = order;
    CHECK(function(x, 1) == 7 && (*function)(x, 0) == 7 && apply(nth, x) == 7 && returns(1) == y && by(x, y) == 0);
    tree_pointer root = NULL;
    for (i = 0; i < 20; i++) root = insert(root, (i * 7) % 20);
    CHECK(size(root) == 20 && root->right->left != root && root->key == 0);
    CHECK(sum_all(3, x, y, a) == 21 && variable_length(4) == THREADS + 3 + 1);
    CHECK((shared int *)pass(y) == y && pass(NULL) == NULL && (x == y ? x : pass(y)) == pass(y));
    snprintf(text, sizeof text, "%p %d %s", (void *)lp, a[0], a[1] == 7 ? "seven" : "else");
    CHECK(strstr(text, " 7 seven") != NULL);
    snprintf(text, sizeof text, "%p|%d", x, 12);
    CHECK(strstr(text, "|12") != NULL);
    CHECK(abs(-a[0]) == 7 && (double)a[0] / 2 == 3.5 && (char)a[0] == 7 && -a[0] < 0 && ~a[0] == ~7 && !a[0] == 0);
    i = a[0] > 5 && a[1] > 5 ? a[0] : a[1];
    i += a[0] << 1, i -= a[1];
    CHECK(i == 14 && (a[0], i) == 14);
    { sint *s = (sint *)x; block_pointer bp = (block_pointer)x; CHECK(s == x && *bp == 7); }
    do i--; while (i > a[0]);
    CHECK(i == 7);
    private_matrix[1][a[0] - 6] = b[MYTHREAD];
    if (a[0]) goto end;
    CHECK(0);
end:
    upc_barrier;
    return 0;
}
