// An error of the running program names the line.
#include <upc_relaxed.h>
shared int *nothing;

static int read_it(void) {
    return *nothing;
}
int main(void) {
    if (MYTHREAD == 1) return read_it();
    upc_barrier;
    return 0;
}
