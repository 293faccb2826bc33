// Room: upc
/* UPC's atomics (upc_atomic.h of the UPC optional library specification 1.3): operations that are atomic with respect
 * to all others of the same domain. */
#ifndef LAPWING_UPC_ATOMIC_H
#define LAPWING_UPC_ATOMIC_H

#include <lapwing/upc/pointer.h>
#include <lapwing/upc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* upc_atomicdomain_t: a type and the operations on it that may access one object concurrently. Other accesses must be
 * separated from them by synchronisation. */
typedef struct lapwing_upc_atomicdomain lapwing_upc_atomicdomain;

/* upc_all_atomicdomain_alloc and upc_all_atomicdomain_free: collective; all threads pass the same. `type` is one of
 * INT, UINT, LONG, ULONG, INT32, UINT32, INT64, UINT64, FLOAT, DOUBLE, PTS; `ops` one or more of GET, SET, CSWAP (all
 * types), AND, OR, XOR (integers), ADD, SUB, MULT, INC, DEC, MIN, MAX (numbers). All hints of UPC are accepted, and
 * have no effect. */
lapwing_upc_atomicdomain* lapwing_upc_all_atomicdomain_alloc(lapwing_upc_type type, int ops, int hints);
void lapwing_upc_all_atomicdomain_free(lapwing_upc_atomicdomain* domain);

/* upc_atomic_relaxed and upc_atomic_strict, which has a fence on both sides: applies `op` to the object at `target`,
 * whose address must be a multiple of its size. The previous value goes to fetch_ptr unless that is null. Operands:
 * none for GET, INC and DEC; CSWAP writes operand2 if the value equals operand1 (bit by bit; pointers whatever their
 * phase); otherwise operand1. Errors: an operation that the domain does not have, missing or superfluous operands, a
 * target that is null or misaligned. Cost: between nodes a round trip; without a result, except SET and CSWAP, a share
 * of a message, complete at the next fence; MULT at least two round trips; for pointers a lock of the target's thread,
 * with a fence on both sides. */
void lapwing_upc_atomic_relaxed(lapwing_upc_atomicdomain* domain, void* fetch_ptr, lapwing_upc_op op,
                                lapwing_upc_pointer target, const void* operand1, const void* operand2);
void lapwing_upc_atomic_strict(lapwing_upc_atomicdomain* domain, void* fetch_ptr, lapwing_upc_op op,
                               lapwing_upc_pointer target, const void* operand1, const void* operand2);
/* upc_atomic_isfast: whether all these operations on the object take at most one round trip. */
int lapwing_upc_atomic_isfast(lapwing_upc_type type, int ops, lapwing_upc_pointer target);

#ifdef __cplusplus
}
#endif

#endif /* LAPWING_UPC_ATOMIC_H */
