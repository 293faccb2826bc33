/* exit() of every thread with what main returns elsewhere, from another function. */
#include <stdlib.h>
#include "check.h"
static void leave(void) {
    printf("thread %d leaves\n", MYTHREAD);
    exit(0);
}
void main(argc, argv) int argc; char **argv; {
    upc_barrier;
    if (argc > 1 && argv[1][0] == 'g') {
        if (MYTHREAD == THREADS - 1) upc_global_exit(0);
        for (;;) ;
    }
    leave();
}
