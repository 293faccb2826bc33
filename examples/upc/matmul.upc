/* The product of two matrices: rows of A and C are with one thread each, the elements of B with all in turn.
 *
 *     lapwing-upcc -O2 -o matmul matmul.upc -lm && lapwing-upcrun -n 4 ./matmul */
#include <math.h>
#include <stdio.h>
#include <upc.h>

#define N 60

/* With any number of threads, one dimension is a multiple of THREADS: rows beyond N are not used. */
shared [N] double a[N * THREADS][N];
shared double b[N][N * THREADS];
shared [N] double c[N * THREADS][N];
shared int wrong[THREADS];

int main(void) {
    int i, j, k;
    upc_forall (i = 0; i < N; i++; &a[i][0])
        for (j = 0; j < N; j++) a[i][j] = 1.0 / (i + j + 1);
    upc_forall (i = 0; i < N; i++; i)
        for (j = 0; j < N; j++) b[i][j] = i == j ? 2.0 : 0.0;
    upc_barrier;

    upc_forall (i = 0; i < N; i++; &a[i][0])
        for (j = 0; j < N; j++) {
            c[i][j] = 0;
            for (k = 0; k < N; k++) c[i][j] += a[i][k] * b[k][j];
        }
    upc_barrier;

    for (i = 0; i < N; i++)
        for (j = 0; j < N; j++)
            if (fabs(c[i][j] - 2.0 / (i + j + 1)) >= 1e-15) wrong[MYTHREAD] = 1;
    if (MYTHREAD == 0) printf("%d threads: C is %s\n", THREADS, wrong[0] ? "wrong" : "2 A");
    return wrong[MYTHREAD];
}
