/* What programs use of Cray's compiler: its atomic operations on words of 64 bits, and the libraries that this header
 * of Cray's declares. Its pragmas have no effect. */
#ifndef LAPWING_UPCC_UPC_CRAY_H
#define LAPWING_UPCC_UPC_CRAY_H

#include <bupc_atomics.h>
#include <upc_castable.h>
#include <upc_collective.h>
#include <upc_nb.h>
#include <upc_tick.h>

#define _amo_aadd_upc(target, value) ((void)bupc_atomicL_fetchadd_relaxed((target), (value)))
#define _amo_afadd_upc(target, value) bupc_atomicL_fetchadd_relaxed((target), (value))
#define _amo_acswap_upc(target, old_value, new_value) bupc_atomicL_cswap_relaxed((target), (old_value), (new_value))
#define _amo_afax_upc(target, and_mask, xor_mask) lapwing_upcc_fetch_and_xor((target), (and_mask), (xor_mask))
#define _amo_aax_upc(target, and_mask, xor_mask) ((void)lapwing_upcc_fetch_and_xor((target), (and_mask), (xor_mask)))
#define _amo_aadd _amo_aadd_upc
#define _amo_afadd _amo_afadd_upc
#define _amo_acswap _amo_acswap_upc
#define _amo_afax _amo_afax_upc
#define _amo_aax _amo_aax_upc
static inline long lapwing_upcc_fetch_and_xor(shared void* target, long and_mask, long xor_mask) {
    long before = bupc_atomicL_read_relaxed(target), seen;
    for (;; before = seen) {
        seen = bupc_atomicL_cswap_relaxed(target, before, (before & and_mask) ^ xor_mask);
        if (seen == before) return before;
    }
}

#endif
