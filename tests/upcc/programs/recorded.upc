/* Writes 100 own elements and reads 50 of the next thread's, and 8 bytes in a call: LAPWING_UPC_RECORD counts them. */
#include <upc_relaxed.h>

shared [100] long a[100 * THREADS];

int main(void) {
    const int next = 100 * ((MYTHREAD + 1) % THREADS);
    long sum = 0, first;
    for (int i = 0; i < 100; i++) a[100 * MYTHREAD + i] = i;
    upc_barrier;
    for (int i = 0; i < 50; i++) sum += a[next + i];
    upc_memget(&first, &a[next], sizeof first);
    return sum != 49 * 50 / 2 || first != 0;
}
