/* Berkeley UPC's header for the parts of a program in C and C++. bupc_init does nothing more here, since UPC starts
 * before main, and ends after it. Memory of bupc_extern_alloc and bupc_extern_all_alloc is that of upc_alloc and
 * upc_all_alloc: bupc_local_to_shared gives UPC its pointer-to-shared. */
#ifndef LAPWING_UPCC_BUPC_EXTERN_H
#define LAPWING_UPCC_BUPC_EXTERN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern void bupc_init(int* argc, char*** argv);
extern void bupc_init_reentrant(int* argc, char*** argv, int (*program)(int, char**));
extern void bupc_exit(int status);

extern int bupc_extern_mythread(void);
extern int bupc_extern_threads(void);
extern char* bupc_extern_getenv(const char* name);
extern void bupc_extern_notify(int name);
extern void bupc_extern_wait(int name);
extern void bupc_extern_barrier(int name);
extern void* bupc_extern_alloc(size_t bytes);
extern void* bupc_extern_all_alloc(size_t blocks, size_t bytes);
extern void bupc_extern_free(void* ptr, int thread);
extern void bupc_extern_all_free(void* ptr, int thread);

#ifdef __cplusplus
}
#endif

#endif
