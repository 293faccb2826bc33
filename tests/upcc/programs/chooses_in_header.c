#include "chooses_in_header.h"
#include <stdio.h>
int main(void) {
    printf("THREADS is %d\n", number);
    return 0;
}
