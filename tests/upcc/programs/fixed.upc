/* Compiled for three threads: THREADS is a constant. */
#include "check.h"
#if THREADS != 3 || !defined(__UPC_STATIC_THREADS__) || defined(__UPC_DYNAMIC_THREADS__) || __UPC__ != 1 || __UPC_VERSION__ != 201311L
#error THREADS
#endif
shared[10] int a[100];
shared[THREADS] int b[THREADS + 1][5];
shared int c[7];
int in_private[THREADS] = {1, 2, 3};
enum { twice = 2 * THREADS };
shared[*] int even[10];

int main(void) {
    int i, n = 0;
    switch (MYTHREAD) {
    case THREADS: CHECK(0);
    case THREADS - 1: n = 1;
    }
    upc_forall (i = 0; i < 100; i++; &a[i]) a[i] = i;
    upc_forall (i = 0; i < 7; i++; &c[i]) c[i] = i;
    upc_barrier;
    for (i = 0; i < 100; i++) CHECK(a[i] == i && (int)upc_threadof(&a[i]) == i / 10 % 3);
    for (i = 0; i < 7; i++) CHECK(c[i] == i);
    CHECK((int)upc_threadof(&b[1][4]) == 9 / 3 % 3 && upc_localsizeof(c) == 3 * sizeof(int) && twice == 6 && in_private[2] == 3);
    CHECK(upc_localsizeof(a) == 40 * sizeof(int) && (int)upc_threadof(&even[4]) == 1 && upc_blocksizeof(even) == 4);
    return n < 0;
}
