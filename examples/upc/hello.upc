/* Every thread fills its part of an array, and thread 0 adds all of it.
 *
 *     lapwing-upcc -O2 -o hello hello.upc && lapwing-upcrun -n 4 ./hello */
#include <stdio.h>
#include <upc.h>

#define N 1000

shared double a[N * THREADS];

int main(void) {
    int i;
    upc_forall (i = 0; i < N * THREADS; i++; &a[i]) a[i] = i / 2.0;
    upc_barrier;
    if (MYTHREAD == 0) {
        double sum = 0;
        for (i = 0; i < N * THREADS; i++) sum += a[i];
        printf("%d threads: a[999] is %g, with thread %d; the sum %g\n", THREADS, a[999], (int)upc_threadof(&a[999]), sum);
    }
    return 0;
}
