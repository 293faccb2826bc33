#include "check.h"
shared int parts[THREADS];
int upc_part(int argc) {
    parts[(MYTHREAD + 1) % THREADS] = argc;
    upc_barrier;
    CHECK(parts[MYTHREAD] == 2);
    return 0;
}
