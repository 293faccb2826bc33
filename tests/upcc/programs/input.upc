/* Thread 0 has the program's standard input, and the others have none. */
#include <stdio.h>
#include <upc.h>
#include "check.h"

shared int sum;

int main(void) {
    int a = 0, b = 0;
    const int read = scanf("%d %d", &a, &b);
    CHECK(read == (MYTHREAD == 0 ? 2 : EOF));
    if (MYTHREAD == 0) sum = a + b;
    upc_barrier;
    if (MYTHREAD == THREADS - 1) printf("the sum is %d\n", sum);
    return 0;
}
