#include "several_common.h"
#include <upc_strict.h>

shared int defined_there = 4;
shared[2] int tentative[4 * THREADS];
shared int *pointer_there = &defined_here;
static shared int private_name = 9;
int plain;

int there(shared[2] int *p) { return defined_here + defined_there + *p + private_name - 9; }
int nested(void) {
    int i, j, n = 0;
    upc_forall (i = 0; i < THREADS; i++; &tentative[2 * i]) upc_forall (j = 0; j < THREADS; j++; j) n++;
    return n;
}
