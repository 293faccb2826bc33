/* Plain C, as its variable's name shows; its macro is that of a header, or of the command line. */
#ifdef HEADER
#include HEADER
#endif
#include <stdio.h>
int main(void) {
#ifdef THREADS
    int shared = THREADS;
#else
    int shared = 0;
#endif
    printf("THREADS is %d\n", shared);
    return 0;
}
