/* Plain C, whose macro has the name of a keyword of UPC. */
#include <stdio.h>
#ifndef THREADS
#define THREADS 7
#endif
int main(void) {
    printf("THREADS is %d\n", THREADS);
    return 0;
}
