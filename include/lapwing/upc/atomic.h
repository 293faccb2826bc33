// Room: upc
/* UPC's atomics (upc_atomic.h of the UPC optional library specification 1.3): operations that no other of the same
 * domain comes between. */
#ifndef LAPWING_UPC_ATOMIC_H
#define LAPWING_UPC_ATOMIC_H

#include <lapwing/upc/pointer.h>
#include <lapwing/upc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* upc_atomicdomain_t: a type and the operations on it that may meet at one object. Accesses that are no atomics of a
 * domain of that type must not meet them between two synchronisations. */
typedef struct lapwing_upc_atomicdomain lapwing_upc_atomicdomain;

/* upc_all_atomicdomain_alloc and upc_all_atomicdomain_free: collective; all threads pass the same. `type` is one of
 * INT, UINT, LONG, ULONG, INT32, UINT32, INT64, UINT64, FLOAT, DOUBLE, PTS; `ops` one or more of GET, SET, CSWAP (all
 * types), AND, OR, XOR (integers), ADD, SUB, MULT, INC, DEC, MIN, MAX (numbers). All hints of UPC are accepted, and
 * change nothing. */
lapwing_upc_atomicdomain* lapwing_upc_all_atomicdomain_alloc(lapwing_upc_type type, int ops, int hints);
void lapwing_upc_all_atomicdomain_free(lapwing_upc_atomicdomain* domain);

/* upc_atomic_relaxed and upc_atomic_strict, which has a fence on both sides: `op` on the object at `target`, whose
 * address is a multiple of its size. The value from before goes to fetch_ptr unless that is null. Operands: none for
 * GET, INC and DEC; CSWAP writes operand2 if the value is operand1 (bit by bit; pointers whatever their phase); else
 * operand1. Errors: an operation that the domain has not, operands that are missing or too many, a target that is null
 * or misplaced. Cost: between nodes a round trip; without a result, and not of SET and CSWAP, a share of a message,
 * complete at the next fence; MULT at least two round trips, pointers a lock of the target's thread, with a fence on
 * both sides. */
void lapwing_upc_atomic_relaxed(lapwing_upc_atomicdomain* domain, void* fetch_ptr, lapwing_upc_op op,
                                lapwing_upc_pointer target, const void* operand1, const void* operand2);
void lapwing_upc_atomic_strict(lapwing_upc_atomicdomain* domain, void* fetch_ptr, lapwing_upc_op op,
                               lapwing_upc_pointer target, const void* operand1, const void* operand2);
/* upc_atomic_isfast: whether all these operations on the object take one round trip at most. */
int lapwing_upc_atomic_isfast(lapwing_upc_type type, int ops, lapwing_upc_pointer target);

#ifdef __cplusplus
}
#endif

#endif /* LAPWING_UPC_ATOMIC_H */
