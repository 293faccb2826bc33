/* UPC optional library specification 1.3, section 7.4.1 and following: atomic operations. */
#include <upc.h> /* which may include this */
#ifndef LAPWING_UPCC_UPC_ATOMIC_H
#define LAPWING_UPCC_UPC_ATOMIC_H

#include <upc_types.h>

#define UPC_GET (1ul << 11)
#define UPC_SET (1ul << 12)
#define UPC_CSWAP (1ul << 13)
#define UPC_SUB (1ul << 14)
#define UPC_INC (1ul << 15)
#define UPC_DEC (1ul << 16)

typedef shared struct upc_atomicdomain_struct upc_atomicdomain_t;
typedef int upc_atomichint_t;
#define UPC_ATOMIC_HINT_DEFAULT 0
#define UPC_ATOMIC_HINT_LATENCY 1
#define UPC_ATOMIC_HINT_THROUGHPUT 2

extern upc_atomicdomain_t*
upc_all_atomicdomain_alloc(upc_type_t type, upc_op_t ops,
                           upc_atomichint_t hints) __asm__("lapwing_upcc_all_atomicdomain_alloc");
extern void upc_all_atomicdomain_free(upc_atomicdomain_t* ptr) __asm__("lapwing_upcc_all_atomicdomain_free");
extern void upc_atomic_strict(upc_atomicdomain_t* domain, void* restrict fetch_ptr, upc_op_t op,
                              shared void* restrict target, const void* restrict operand1,
                              const void* restrict operand2) __asm__("lapwing_upcc_atomic_strict");
extern void upc_atomic_relaxed(upc_atomicdomain_t* domain, void* restrict fetch_ptr, upc_op_t op,
                               shared void* restrict target, const void* restrict operand1,
                               const void* restrict operand2) __asm__("lapwing_upcc_atomic_relaxed");
#define UPC_ATOMIC_PERFORMANCE_NOT_FAST 0
#define UPC_ATOMIC_PERFORMANCE_FAST 1
extern int upc_atomic_isfast(upc_type_t type, upc_op_t ops, shared void* addr) __asm__("lapwing_upc_atomic_isfast");

#endif
