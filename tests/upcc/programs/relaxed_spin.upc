/* Section 5.1.2.3: a loop that waits for a relaxed flag ends. */
#include <upc_relaxed.h>
#include "check.h"
shared int flag[THREADS], word[THREADS];
strict shared int *shared strict_pointer;
shared struct { int none; int x; } s;
static void wait_for(volatile shared int *f) { while (*f == 0) ; }
int main(void) {
    int next = (MYTHREAD + 1) % THREADS;
    word[next] = 17;
    upc_fence;
    flag[next] = 1;
    while (flag[MYTHREAD] != 1) ;
    upc_fence;
    CHECK(word[MYTHREAD] == 17);
    upc_barrier;
    flag[next] = 0;
    upc_barrier;
    if (MYTHREAD == 0) { flag[0] = 1; strict_pointer = (strict shared int *)&flag[0]; }
    wait_for(&flag[0]);
    upc_barrier;
    CHECK(*strict_pointer == 1);
    { /* strict by cast */
        *(strict shared int *)&word[MYTHREAD] = 3;
        CHECK(*(relaxed shared int *)&word[MYTHREAD] == 3);
    }
    return 0;
}
