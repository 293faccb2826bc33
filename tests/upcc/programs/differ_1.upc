#include <upc.h>
shared [5] int table[10 * THREADS];
int first(void);
int main(void) { return first(); }
