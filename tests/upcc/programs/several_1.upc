/* Shared objects and functions of several sources, one of them plain C, one C++. */
#include "check.h"
#include "several_common.h"

shared int defined_here = 3;
shared[2] int tentative[4 * THREADS];
static shared int private_name;
shared int *pointer_here = &defined_here;
int plain;
int words_in_cpp(const char *line);

int main(int argc, char *argv[]) {
    private_name = 1;
    upc_barrier;
    tentative[MYTHREAD] = 5;
    upc_barrier;
    CHECK(defined_there == 4 && there(&tentative[0]) == 3 + 4 + 5 && plain_c(argc, argv) == 1 && pointer_there == &defined_here && *pointer_there == 3);
    CHECK(nested() == THREADS && words_in_cpp("one two  three") == 3);
    {
        int i;
        upc_forall (i = 0; i < THREADS; i++; i) CHECK(nested() == THREADS * THREADS);
    }
    return 0;
}
