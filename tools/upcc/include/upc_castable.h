/* UPC optional library specification 1.3: casts of pointers-to-shared to what the calling thread can load and store. */
#include <upc.h> /* which may include this */
#ifndef LAPWING_UPCC_UPC_CASTABLE_H
#define LAPWING_UPCC_UPC_CASTABLE_H

#define UPC_CASTABLE_ALL_ALLOC 1
#define UPC_CASTABLE_GLOBAL_ALLOC 2
#define UPC_CASTABLE_ALLOC 4
#define UPC_CASTABLE_STATIC 8
#define UPC_CASTABLE_ALL 15
typedef struct upc_thread_info {
    int guaranteedCastable;
    int probablyCastable;
} upc_thread_info_t;

extern void* upc_cast(shared const volatile void* ptr) __asm__("lapwing_upc_cast");
extern upc_thread_info_t upc_thread_info(size_t threadId) __asm__("lapwing_upc_thread_info");

#endif
