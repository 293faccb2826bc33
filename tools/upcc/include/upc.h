/* UPC language specification 1.3, section 7: the functions of the language, under their names in Lapwing. */
#ifndef LAPWING_UPCC_UPC_H
#define LAPWING_UPCC_UPC_H

#include <stddef.h>
/* Programs of other compilers have these from upc.h. None of C's headers, which the program's macros are still to
 * choose. */
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
#ifndef ushort
typedef unsigned short ushort;
#endif
#ifndef uint
typedef unsigned int uint;
#endif
#ifndef ulong
typedef unsigned long ulong;
#endif
typedef long clock_t;
typedef long off_t;
typedef __PTRDIFF_TYPE__ ssize_t;
typedef long time_t;

/* Shared memory. */
extern shared void* upc_global_alloc(size_t nblocks, size_t nbytes) __asm__("lapwing_upc_global_alloc");
extern shared void* upc_all_alloc(size_t nblocks, size_t nbytes) __asm__("lapwing_upc_all_alloc");
extern shared void* upc_alloc(size_t nbytes) __asm__("lapwing_upc_alloc");
extern void upc_free(shared void* ptr) __asm__("lapwing_upc_free");
extern void upc_all_free(shared void* ptr) __asm__("lapwing_upc_all_free");
/* Of UPC 1.1. */
extern shared void* upc_local_alloc(size_t nblocks, size_t nbytes) __asm__("lapwing_upcc_local_alloc");

/* Pointers-to-shared. */
extern size_t upc_threadof(shared const volatile void* ptr) __asm__("lapwing_upc_threadof");
extern size_t upc_phaseof(shared const volatile void* ptr) __asm__("lapwing_upc_phaseof");
extern shared void* upc_resetphase(shared void* ptr) __asm__("lapwing_upc_resetphase");
extern size_t upc_addrfield(shared const volatile void* ptr) __asm__("lapwing_upc_addrfield");
extern size_t upc_affinitysize(size_t totalsize, size_t nbytes, size_t threadid) __asm__("lapwing_upc_affinitysize");

/* Locks. */
typedef shared struct upc_lock_struct upc_lock_t;
extern upc_lock_t* upc_global_lock_alloc(void) __asm__("lapwing_upc_global_lock_alloc");
extern upc_lock_t* upc_all_lock_alloc(void) __asm__("lapwing_upc_all_lock_alloc");
extern void upc_lock_free(upc_lock_t* ptr) __asm__("lapwing_upc_lock_free");
extern void upc_all_lock_free(upc_lock_t* ptr) __asm__("lapwing_upc_all_lock_free");
extern void upc_lock(upc_lock_t* ptr) __asm__("lapwing_upc_lock");
extern int upc_lock_attempt(upc_lock_t* ptr) __asm__("lapwing_upc_lock_attempt");
extern void upc_unlock(upc_lock_t* ptr) __asm__("lapwing_upc_unlock");

/* Bytes. */
extern void upc_memcpy(shared void* dst, shared const void* src, size_t n) __asm__("lapwing_upc_memcpy");
extern void upc_memget(void* dst, shared const void* src, size_t n) __asm__("lapwing_upc_memget");
extern void upc_memput(shared void* dst, const void* src, size_t n) __asm__("lapwing_upc_memput");
extern void upc_memset(shared void* dst, int c, size_t n) __asm__("lapwing_upc_memset");

extern void upc_global_exit(int status) __asm__("lapwing_upcc_global_exit") __attribute__((noreturn));

/* Of Berkeley UPC and GNU UPC: sees what others have written, and lets them go on. */
static inline void upc_poll(void) { upc_fence; }

#endif

#ifdef BUPC_USE_UPC_NAMESPACE
#include <bupc_names.h>
#endif
