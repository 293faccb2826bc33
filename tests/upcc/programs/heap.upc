/* More than LAPWING_UPC_LOCAL_HEAP is by itself: -shared-heap is for upc_alloc as well. */
#include <upc.h>
int main(void) {
    shared [] char* p = upc_alloc((size_t)270 << 20);
    p[MYTHREAD] = 1;
    upc_barrier;
    upc_free(p);
    return 0;
}
