/* A matrix product whose right factor is read element by element, as upc/matmul of benchmarks/upc. The rows of a and c
 * are the threads' own, the columns of b are dealt to them. LAPWING_CACHE=epoch caches what threads of other nodes
 * have. */
#include "bench.h"

#ifndef N
#define N 96
#endif

/* With any number of threads, one dimension is a multiple of THREADS: rows and columns beyond N are not used. */
shared [N] float a[N * THREADS][N], c[N * THREADS][N];
shared float b[N][N * THREADS];

/* The values make each element of the product known and exact in a float. */
static float left(int i) { return i % 7; }
static float right(int j) { return j % 5; }

/* Each column of b is used for one row of a, and read again for the next. */
static void naive(void) {
    int i, j, k;
    upc_forall (i = 0; i < N; i++; &a[i][0])
        for (j = 0; j < N; j++) {
            c[i][j] = 0;
            for (k = 0; k < N; k++) c[i][j] += a[i][k] * b[k][j];
        }
}
/* Each element of b is used for all own rows of a. */
static void temporal(void) {
    int i, j, k;
    upc_forall (i = 0; i < N; i++; &a[i][0])
        for (j = 0; j < N; j++) c[i][j] = 0;
    for (j = 0; j < N; j++)
        for (k = 0; k < N; k++)
            upc_forall (i = 0; i < N; i++; &a[i][0]) c[i][j] += a[i][k] * b[k][j];
}

static void measure(const char* name, void (*product)(void)) {
    int i, j;
    double begin;
    upc_forall (i = 0; i < N; i++; &c[i][0])
        for (j = 0; j < N; j++) c[i][j] = -1;
    upc_barrier;
    begin = now();
    product();
    upc_barrier;
    report(name, now() - begin, 1);
    upc_forall (i = 0; i < N; i++; &c[i][0])
        for (j = 0; j < N; j++) expect(name, c[i][j], N * left(i) * right(j));
}

int main(void) {
    int i, j, k;
    upc_forall (i = 0; i < N; i++; &a[i][0])
        for (k = 0; k < N; k++) a[i][k] = left(i);
    for (k = 0; k < N; k++)
        upc_forall (j = 0; j < N; j++; &b[k][j]) b[k][j] = right(j);
    upc_barrier;
    measure("naive", naive);
    measure("temporal", temporal);
    return wrong;
}
