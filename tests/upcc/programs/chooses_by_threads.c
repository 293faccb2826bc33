/* THREADS is a constant of the preprocessor where the number of threads is fixed. */
#include <stdio.h>
#if defined(__UPC_STATIC_THREADS__) && THREADS == 2
static const int number = THREADS;
#else
static const int number = 7;
#endif
int main(void) {
    printf("THREADS is %d\n", number);
    return 0;
}
