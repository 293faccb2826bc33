/* Loops that wait for others by relaxed reads of own and near memory: more threads than processors take turns. */
#include "check.h"
#include <upc_relaxed.h>

shared int turns[THREADS];
shared struct {
    int go;
} flags[THREADS];

int main(void) {
    const int next = (MYTHREAD + 1) % THREADS;
    volatile int *own = (volatile int *)&turns[MYTHREAD];
    for (int round = 1; round <= 50; round++) {
        if (MYTHREAD == 0) turns[next] = round;
        if (round % 2)
            while (turns[MYTHREAD] != round);
        else
            while (*own != round);
        if (MYTHREAD != 0) turns[next] = round;
    }
    upc_barrier;
    flags[next].go = 1;
    upc_fence;
    int looks = 0;
    do looks++;
    while (!flags[MYTHREAD].go);
    while (1)
        if (flags[MYTHREAD].go) break;
    int left = 3;
    while (left > turns[MYTHREAD] - 50) left--; /* no waiting */
    CHECK(looks > 0 && left == 0);
    return 0;
}
