/* UPC required library specification 1.3, section 7.3: collectives. */
#ifndef LAPWING_UPCC_UPC_COLLECTIVE_H
#define LAPWING_UPCC_UPC_COLLECTIVE_H

#include <upc.h>
#include <upc_types.h>

#define UPC_FUNC (1ul << 7)
#define UPC_NONCOMM_FUNC (1ul << 8)

extern void upc_all_broadcast(shared void* dst, shared const void* src, size_t nbytes,
                              upc_flag_t flags) __asm__("lapwing_upc_all_broadcast");
extern void upc_all_scatter(shared void* dst, shared const void* src, size_t nbytes,
                            upc_flag_t flags) __asm__("lapwing_upc_all_scatter");
extern void upc_all_gather(shared void* dst, shared const void* src, size_t nbytes,
                           upc_flag_t flags) __asm__("lapwing_upc_all_gather");
extern void upc_all_gather_all(shared void* dst, shared const void* src, size_t nbytes,
                               upc_flag_t flags) __asm__("lapwing_upc_all_gather_all");
extern void upc_all_exchange(shared void* dst, shared const void* src, size_t nbytes,
                             upc_flag_t flags) __asm__("lapwing_upc_all_exchange");
extern void upc_all_permute(shared void* dst, shared const void* src, shared const int* perm, size_t nbytes,
                            upc_flag_t flags) __asm__("lapwing_upc_all_permute");

#define LAPWING_UPCC_REDUCTIONS(suffix, type)                                                                       \
    extern void upc_all_reduce##suffix(shared void* dst, shared const void* src, upc_op_t op, size_t nelems,        \
                                       size_t blk_size, type (*func)(type, type),                                   \
                                       upc_flag_t flags) __asm__("lapwing_upc_all_reduce" #suffix);                 \
    extern void upc_all_prefix_reduce##suffix(shared void* dst, shared const void* src, upc_op_t op, size_t nelems, \
                                              size_t blk_size, type (*func)(type, type),                            \
                                              upc_flag_t flags) __asm__("lapwing_upc_all_prefix_reduce" #suffix);   \
    /* Berkeley UPC's: each thread's element of dst gets the result. */                                             \
    static inline void bupc_all_reduce_all##suffix(shared void* dst, shared const void* src, upc_op_t op,           \
                                                   size_t nelems, size_t blk_size, type (*func)(type, type),        \
                                                   upc_flag_t flags) {                                              \
        shared type* const result = (shared type*)dst;                                                              \
        upc_all_reduce##suffix(dst, src, op, nelems, blk_size, func, flags);                                        \
        upc_barrier;                                                                                                \
        if (MYTHREAD != (int)upc_threadof(dst)) result[MYTHREAD - (int)upc_threadof(dst)] = *result;                \
        upc_barrier;                                                                                                \
    }
LAPWING_UPCC_REDUCTIONS(C, signed char)
LAPWING_UPCC_REDUCTIONS(UC, unsigned char)
LAPWING_UPCC_REDUCTIONS(S, signed short)
LAPWING_UPCC_REDUCTIONS(US, unsigned short)
LAPWING_UPCC_REDUCTIONS(I, signed int)
LAPWING_UPCC_REDUCTIONS(UI, unsigned int)
LAPWING_UPCC_REDUCTIONS(L, signed long)
LAPWING_UPCC_REDUCTIONS(UL, unsigned long)
LAPWING_UPCC_REDUCTIONS(F, float)
LAPWING_UPCC_REDUCTIONS(D, double)
LAPWING_UPCC_REDUCTIONS(LD, long double)
#undef LAPWING_UPCC_REDUCTIONS

/* Of the reference implementation and of other compilers. */
extern void upc_all_sort(shared void* array, size_t elem_size, size_t nelems, size_t blk_size,
                         int (*func)(shared void*, shared void*), upc_flag_t flags) __asm__("lapwing_upcc_all_sort");

#endif
