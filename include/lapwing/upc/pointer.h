// Room: upc
#ifndef LAPWING_UPC_POINTER_H
#define LAPWING_UPC_POINTER_H

#include <stdint.h>

/* A pointer-to-shared: opaque, 16 bytes, to be copied freely, also into shared memory. All zero is the null pointer. */
typedef struct lapwing_upc_pointer {
    uint64_t address; /* bytes from the start of the thread's part */
    uint32_t thread;
    uint32_t phase; /* elements from the start of the block */
} lapwing_upc_pointer;

#endif /* LAPWING_UPC_POINTER_H */
