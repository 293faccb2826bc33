// Room: bindings
/*
 * The order of ranks in which most elements stay where they are under another distribution.
 */
#ifndef LAPWING_C_RELABELLING_H
#define LAPWING_C_RELABELLING_H

#include <lapwing/c/array.h>
#include <lapwing/c/runtime.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An order of the ranks of an array for another distribution of it.
typedef struct lapwing_relabelling lapwing_relabelling;
/// What an order changes.
typedef struct lapwing_relabelling_info {
    int rank;                       ///< the calling rank's number in the order
    int changes;                    ///< whether any rank has another number than before
    uint64_t bytes_moved;           ///< what all ranks together get from others, in this order
    uint64_t bytes_moved_unordered; ///< the same in the order of the array's ranks
    uint64_t bytes;                 ///< of the whole array
} lapwing_relabelling_info;

/// Collective, one thread: the same arguments on all ranks. Finds the order in which most elements of the array stay
/// where they are under `distribution`. Nothing is moved. LAPWING_ERR_RANGE if the distribution does not fit. Cost:
/// that of planning an assignment, and a few collectives.
int lapwing_relabelling_create(lapwing_array* array, const lapwing_distribution* distribution,
                               lapwing_relabelling** relabelling);
/// Collective if lapwing_relabelling_runtime() or lapwing_array_redistribute_ordered() was called, one thread. Arrays
/// that were redistributed in the order keep its runtime. LAPWING_ERR_USAGE if objects are open on that runtime. Sets
/// `*relabelling` to null.
int lapwing_relabelling_free(lapwing_relabelling** relabelling);
/// Local, any thread.
int lapwing_relabelling_query(const lapwing_relabelling* relabelling, lapwing_relabelling_info* info);
/// A runtime of the same ranks in the new order; the first call makes it, and is collective. It is freed with the
/// relabelling. One thread.
int lapwing_relabelling_runtime(lapwing_relabelling* relabelling, lapwing_runtime** runtime);
/// Collective, one thread: another distribution, as lapwing_array_redistribute(), over the ranks in the order of
/// `relabelling`. From then on they are the array's ranks. LAPWING_ERR_USAGE unless it is an order of the same ranks.
int lapwing_array_redistribute_ordered(lapwing_array* array, const lapwing_distribution* distribution,
                                       lapwing_relabelling* relabelling);

#ifdef __cplusplus
}
#endif

#endif
