/* For the programs here: the first condition that does not hold ends the run. */
#include <stdio.h>
#include <upc.h>
#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) {                                                                                \
            fprintf(stderr, "%s:%d: thread %d of %d: not so: %s\n", __FILE__, __LINE__, MYTHREAD, THREADS, \
                    #condition);                                                                           \
            upc_global_exit(1);                                                                            \
        }                                                                                                  \
    } while (0)
