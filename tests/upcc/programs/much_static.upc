/* Much static shared memory leaves the heap's default as it is, which is fitted to the node. */
#include "check.h"
shared double values[THREADS * 4260096ull];
int main(void) {
    values[MYTHREAD] = MYTHREAD;
    upc_barrier;
    CHECK(values[(MYTHREAD + 1) % THREADS] == (MYTHREAD + 1) % THREADS);
    CHECK(upc_all_alloc(THREADS, 16 << 20) != NULL);
    return 0;
}
