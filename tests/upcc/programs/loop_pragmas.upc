/* Loops after pragmas are optimised as others; the pragmas are then those of what they become. */
#include "check.h"
#define N 8
shared [N] int a[N * THREADS];
shared int cyclic[N * THREADS];
shared [N] int copies[N * THREADS];
static int sum_of(int from) {
    int s = 0, i, k;
#pragma unroll 4
    for (i = 0; i < N; i++) s += a[from + i];
    for (k = 0; k < 2; k++)
#pragma clang loop unroll_count(2)
#pragma clang loop vectorize(enable)
        for (i = 0; i < N; i++) s += a[from + i];
    if (s > 0)
#pragma nounroll
        for (i = 0; i < N; i++) s += a[from + i];
    else
        _Pragma("GCC unroll 3") for (i = 0; i < N; i++) s -= a[from + i];
#pragma unroll
    for (shared [N] int* p = a + from; p < a + from + N; p++) s += *p;
    return s;
}
int main(void) {
    int i, next = N * ((MYTHREAD + 1) % THREADS);
#pragma unroll 2
    upc_forall (i = 0; i < N * THREADS; i++; &a[i]) a[i] = i;
    /* Each element of a block. */
#pragma GCC unroll 4
    upc_forall (i = 0; i < N * THREADS; ++i; i) cyclic[i] = 2 * i;
    upc_barrier;
    CHECK(i == N * THREADS && sum_of(next) == 5 * (N * next + N * (N - 1) / 2));
#pragma unroll(2)
    for (i = 0; i < N; i++) copies[next + i] = a[next + i] + 1;
    upc_barrier;
    for (i = 0; i < N * THREADS; i++) CHECK(copies[i] == i + 1 && cyclic[i] == 2 * i);
    switch (THREADS) {
    case 1:
#pragma unroll
        for (i = 0; i < N; i++) CHECK(a[i] == i);
    default: break;
    }
    return 0;
}
