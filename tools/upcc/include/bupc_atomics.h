/* Berkeley UPC's atomics: bupc_atomic{I64, U64, I32, U32, I, UI, L, UL}_{read, set, swap, cswap, fetchadd, fetchand,
 * fetchor, fetchxor, fetchnot, mswap}_{relaxed, strict, private}, and of F and D read, set, swap, cswap and fetchadd.
 * Each returns the value before, set nothing. The private ones are of memory of the thread's own process. */
#ifndef LAPWING_UPCC_EARLY
#include <stdint.h>
#endif
#ifndef LAPWING_UPCC_BUPC_ATOMICS_H
#define LAPWING_UPCC_BUPC_ATOMICS_H

#include <upc_atomic.h>

extern void lapwing_upcc_atomic(int type, int operation, int is_strict, void* before, shared void* target,
                                const void* first, const void* second);

#define LAPWING_UPCC_ATOMIC_FETCH(code, type, name, order, number, operation, is_strict)             \
    static inline type bupc_atomic##code##_##name##_##order(shared void* target, type value) {       \
        type before;                                                                                 \
        lapwing_upcc_atomic(number, (int)(operation), is_strict, &before, target, &value, (void*)0); \
        return before;                                                                               \
    }
#define LAPWING_UPCC_ATOMIC_VALUES(code, type, order, number, is_strict)                                        \
    static inline type bupc_atomic##code##_read_##order(shared void* target) {                                  \
        type before;                                                                                            \
        lapwing_upcc_atomic(number, (int)UPC_GET, is_strict, &before, target, (void*)0, (void*)0);              \
        return before;                                                                                          \
    }                                                                                                           \
    static inline void bupc_atomic##code##_set_##order(shared void* target, type value) {                       \
        lapwing_upcc_atomic(number, (int)UPC_SET, is_strict, (void*)0, target, &value, (void*)0);               \
    }                                                                                                           \
    static inline type bupc_atomic##code##_cswap_##order(shared void* target, type old_value, type new_value) { \
        type before;                                                                                            \
        lapwing_upcc_atomic(number, (int)UPC_CSWAP, is_strict, &before, target, &old_value, &new_value);        \
        return before;                                                                                          \
    }                                                                                                           \
    LAPWING_UPCC_ATOMIC_FETCH(code, type, swap, order, number, UPC_SET, is_strict)                              \
    LAPWING_UPCC_ATOMIC_FETCH(code, type, fetchadd, order, number, UPC_ADD, is_strict)
#define LAPWING_UPCC_ATOMIC_BITS(code, type, order, number, is_strict)                                           \
    LAPWING_UPCC_ATOMIC_VALUES(code, type, order, number, is_strict)                                             \
    LAPWING_UPCC_ATOMIC_FETCH(code, type, fetchand, order, number, UPC_AND, is_strict)                           \
    LAPWING_UPCC_ATOMIC_FETCH(code, type, fetchor, order, number, UPC_OR, is_strict)                             \
    LAPWING_UPCC_ATOMIC_FETCH(code, type, fetchxor, order, number, UPC_XOR, is_strict)                           \
    static inline type bupc_atomic##code##_fetchnot_##order(shared void* target) {                               \
        return bupc_atomic##code##_fetchxor_##order(target, ~(type)0);                                           \
    }                                                                                                            \
    static inline type bupc_atomic##code##_mswap_##order(shared void* target, type mask, type value) {           \
        type before = bupc_atomic##code##_read_##order(target), seen;                                            \
        for (;; before = seen) {                                                                                 \
            seen = bupc_atomic##code##_cswap_##order(target, before, (type)((before & ~mask) | (value & mask))); \
            if (seen == before) return before;                                                                   \
        }                                                                                                        \
    }
#define LAPWING_UPCC_ATOMIC_PRIVATE_VALUES(code, type)                                                           \
    static inline type bupc_atomic##code##_read_private(void* target) {                                          \
        lapwing_upc_require_private(__func__, target, sizeof(type));                                             \
        type value;                                                                                              \
        __atomic_load((type*)target, &value, __ATOMIC_SEQ_CST);                                                  \
        return value;                                                                                            \
    }                                                                                                            \
    static inline void bupc_atomic##code##_set_private(void* target, type value) {                               \
        lapwing_upc_require_private(__func__, target, sizeof(type));                                             \
        __atomic_store((type*)target, &value, __ATOMIC_SEQ_CST);                                                 \
    }                                                                                                            \
    static inline type bupc_atomic##code##_swap_private(void* target, type value) {                              \
        lapwing_upc_require_private(__func__, target, sizeof(type));                                             \
        type before;                                                                                             \
        __atomic_exchange((type*)target, &value, &before, __ATOMIC_SEQ_CST);                                     \
        return before;                                                                                           \
    }                                                                                                            \
    static inline type bupc_atomic##code##_cswap_private(void* target, type old_value, type new_value) {         \
        lapwing_upc_require_private(__func__, target, sizeof(type));                                             \
        __atomic_compare_exchange((type*)target, &old_value, &new_value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return old_value;                                                                                        \
    }                                                                                                            \
    static inline type bupc_atomic##code##_fetchadd_private(void* target, type value) {                          \
        type before = bupc_atomic##code##_read_private(target), sum;                                             \
        do sum = before + value;                                                                                 \
        while (!__atomic_compare_exchange((type*)target, &before, &sum, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
        return before;                                                                                           \
    }
#define LAPWING_UPCC_ATOMIC_PRIVATE_BITS(code, type)                                                               \
    LAPWING_UPCC_ATOMIC_PRIVATE_VALUES(code, type)                                                                 \
    static inline type bupc_atomic##code##_fetchand_private(void* target, type value) {                            \
        lapwing_upc_require_private(__func__, target, sizeof(type));                                               \
        return __atomic_fetch_and((type*)target, value, __ATOMIC_SEQ_CST);                                         \
    }                                                                                                              \
    static inline type bupc_atomic##code##_fetchor_private(void* target, type value) {                             \
        lapwing_upc_require_private(__func__, target, sizeof(type));                                               \
        return __atomic_fetch_or((type*)target, value, __ATOMIC_SEQ_CST);                                          \
    }                                                                                                              \
    static inline type bupc_atomic##code##_fetchxor_private(void* target, type value) {                            \
        lapwing_upc_require_private(__func__, target, sizeof(type));                                               \
        return __atomic_fetch_xor((type*)target, value, __ATOMIC_SEQ_CST);                                         \
    }                                                                                                              \
    static inline type bupc_atomic##code##_fetchnot_private(void* target) {                                        \
        return bupc_atomic##code##_fetchxor_private(target, ~(type)0);                                             \
    }                                                                                                              \
    static inline type bupc_atomic##code##_mswap_private(void* target, type mask, type value) {                    \
        type before = bupc_atomic##code##_read_private(target), after;                                             \
        do after = (before & ~mask) | (value & mask);                                                              \
        while (!__atomic_compare_exchange((type*)target, &before, &after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
        return before;                                                                                             \
    }
#define LAPWING_UPCC_ATOMICS(kind, code, type, number)         \
    LAPWING_UPCC_ATOMIC_##kind(code, type, relaxed, number, 0) \
        LAPWING_UPCC_ATOMIC_##kind(code, type, strict, number, 1) LAPWING_UPCC_ATOMIC_PRIVATE_##kind(code, type)
LAPWING_UPCC_ATOMICS(BITS, I64, __INT64_TYPE__, UPC_INT64)
LAPWING_UPCC_ATOMICS(BITS, U64, __UINT64_TYPE__, UPC_UINT64)
LAPWING_UPCC_ATOMICS(BITS, I32, __INT32_TYPE__, UPC_INT32)
LAPWING_UPCC_ATOMICS(BITS, U32, __UINT32_TYPE__, UPC_UINT32)
LAPWING_UPCC_ATOMICS(BITS, I, int, UPC_INT)
LAPWING_UPCC_ATOMICS(BITS, UI, unsigned int, UPC_UINT)
LAPWING_UPCC_ATOMICS(BITS, L, long, UPC_LONG)
LAPWING_UPCC_ATOMICS(BITS, UL, unsigned long, UPC_ULONG)
LAPWING_UPCC_ATOMICS(VALUES, F, float, UPC_FLOAT)
LAPWING_UPCC_ATOMICS(VALUES, D, double, UPC_DOUBLE)

#endif
