#include <upc.h>
extern shared int table[10 * THREADS];
int first(void) { return table[0]; }
