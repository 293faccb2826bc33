// Room: bindings
/*
 * The own block of an array with what lies around it.
 */
#ifndef LAPWING_C_HALO_H
#define LAPWING_C_HALO_H

#include <lapwing/c/array.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a stencil reads: the own block, and `depth` elements deep on every side and at the corners those of other
/// ranks, in one block of memory. Elements beyond the array's edges are the program's: zero at first; in periodic
/// dimensions they are those of the other side. The array must not be freed, resized or redistributed while it has
/// halos. For one thread.
typedef struct lapwing_halo lapwing_halo;

/// Local. `periodic`: a number a dimension, not 0 where it goes on behind its last index with its first; null: nowhere.
/// LAPWING_ERR_USAGE where the calling rank owns several domains, or one with strides; LAPWING_ERR_RANGE for a depth
/// below 0, or above the extent of a periodic dimension.
int lapwing_halo_create(lapwing_array* array, int64_t depth, const int* periodic, lapwing_halo** halo);
/// Local. Makes `*halo` null.
int lapwing_halo_free(lapwing_halo** halo);
/// Collective: a barrier, lapwing_halo_fetch(), a barrier.
int lapwing_halo_exchange(lapwing_halo* halo);
/// Local: own block and halo as they are. Cost: a copy of the own block, and for each neighbour on another node a
/// planned transfer.
int lapwing_halo_fetch(lapwing_halo* halo);
/// The same without waiting: the memory must not be used until the completion says so.
int lapwing_halo_start_fetch(lapwing_halo* halo, lapwing_completion** completion);
/// Local: the own block, but no halo, back to the array.
int lapwing_halo_store(lapwing_halo* halo);
/// The memory: its first element, how many elements lie from one to the next in each dimension, and which indices it
/// has. A rank that owns nothing has a null pointer and empty ranges. Each may be null. Local.
int lapwing_halo_memory(const lapwing_halo* halo, void** memory, int64_t* strides, lapwing_range* ranges);

#ifdef __cplusplus
}
#endif

#endif
