/* Berkeley UPC's copies between memory in pieces ("Proposal for Extending the UPC Memory Copy Library Functions",
 * version 2.0): lists of ranges (vlist), of addresses of equally long pieces (ilist), equal distances (fstrided), and
 * sections of arrays of any dimension (strided: count[0] bytes, count[1] times, strides[0] bytes apart, and so on).
 * Sizes and strides are in bytes. What is asynchronous may be complete when it returns. */
#ifndef LAPWING_UPCC_BUPC_MEMORY_H
#define LAPWING_UPCC_BUPC_MEMORY_H

#include <stddef.h>
#include <upc_nb.h>

typedef struct bupc_pmemvec {
    void* addr;
    size_t len;
} bupc_pmemvec_t;
typedef struct bupc_smemvec {
    shared void* addr;
    size_t len;
} bupc_smemvec_t;

#define LAPWING_UPCC_COPIES(kind, to, from, to_vec, from_vec)                                                        \
    extern void bupc_##kind##_vlist(size_t dstcount, const to_vec dstlist[], size_t srccount,                        \
                                    const from_vec srclist[]) __asm__("lapwing_upcc_" #kind "_vlist");               \
    extern void bupc_##kind##_ilist(size_t dstcount, to void* const dstlist[], size_t dstlen, size_t srccount,       \
                                    from const void* const srclist[],                                                \
                                    size_t srclen) __asm__("lapwing_upcc_" #kind "_ilist");                          \
    extern void bupc_##kind##_fstrided(                                                                              \
        to void* dstaddr, size_t dstchunklen, size_t dstchunkstride, size_t dstchunkcount, from const void* srcaddr, \
        size_t srcchunklen, size_t srcchunkstride, size_t srcchunkcount) __asm__("lapwing_upcc_" #kind "_fstrided"); \
    extern void bupc_##kind##_strided(to void* dstaddr, const size_t dststrides[], from const void* srcaddr,         \
                                      const size_t srcstrides[], const size_t count[],                               \
                                      size_t stridelevels) __asm__("lapwing_upcc_" #kind "_strided");                \
    static inline upc_handle_t bupc_##kind##_vlist_async(size_t dstcount, const to_vec dstlist[], size_t srccount,   \
                                                         const from_vec srclist[]) {                                 \
        bupc_##kind##_vlist(dstcount, dstlist, srccount, srclist);                                                   \
        return UPC_COMPLETE_HANDLE;                                                                                  \
    }                                                                                                                \
    static inline upc_handle_t bupc_##kind##_ilist_async(size_t dstcount, to void* const dstlist[], size_t dstlen,   \
                                                         size_t srccount, from const void* const srclist[],          \
                                                         size_t srclen) {                                            \
        bupc_##kind##_ilist(dstcount, dstlist, dstlen, srccount, srclist, srclen);                                   \
        return UPC_COMPLETE_HANDLE;                                                                                  \
    }                                                                                                                \
    static inline upc_handle_t bupc_##kind##_fstrided_async(                                                         \
        to void* dstaddr, size_t dstchunklen, size_t dstchunkstride, size_t dstchunkcount, from const void* srcaddr, \
        size_t srcchunklen, size_t srcchunkstride, size_t srcchunkcount) {                                           \
        bupc_##kind##_fstrided(dstaddr, dstchunklen, dstchunkstride, dstchunkcount, srcaddr, srcchunklen,            \
                               srcchunkstride, srcchunkcount);                                                       \
        return UPC_COMPLETE_HANDLE;                                                                                  \
    }                                                                                                                \
    static inline upc_handle_t bupc_##kind##_strided_async(to void* dstaddr, const size_t dststrides[],              \
                                                           from const void* srcaddr, const size_t srcstrides[],      \
                                                           const size_t count[], size_t stridelevels) {              \
        bupc_##kind##_strided(dstaddr, dststrides, srcaddr, srcstrides, count, stridelevels);                        \
        return UPC_COMPLETE_HANDLE;                                                                                  \
    }
LAPWING_UPCC_COPIES(memcpy, shared, shared, bupc_smemvec_t, bupc_smemvec_t)
LAPWING_UPCC_COPIES(memput, shared, , bupc_smemvec_t, bupc_pmemvec_t)
LAPWING_UPCC_COPIES(memget, , shared, bupc_pmemvec_t, bupc_smemvec_t)
#undef LAPWING_UPCC_COPIES

#endif
