// Room: bindings
/*
 * The local block of an array together with the elements around it.
 */
#ifndef LAPWING_C_HALO_H
#define LAPWING_C_HALO_H

#include <lapwing/c/array.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a stencil reads: the local block, and `depth` elements deep on every side and at the corners those of other
/// ranks, in one block of memory. Elements beyond the array's edges belong to the program: zero at first; in periodic
/// dimensions they are those of the other side. The array must not be freed, resized or redistributed while it has
/// halos. For one thread.
typedef struct lapwing_halo lapwing_halo;

/// Local, one thread. `periodic`: one number for each dimension, nonzero if it wraps around; null: none does.
/// LAPWING_ERR_USAGE if the calling rank owns several domains, or one with strides; LAPWING_ERR_RANGE for a depth below
/// 0, or one that needs more than 2^62 bytes. A depth above the extent of a periodic dimension goes around several
/// times.
int lapwing_halo_create(lapwing_array* array, int64_t depth, const int* periodic, lapwing_halo** halo);
/// Local, one thread. Sets `*halo` to null.
int lapwing_halo_free(lapwing_halo** halo);
/// Collective, one thread: a barrier, lapwing_halo_fetch(), a barrier.
int lapwing_halo_exchange(lapwing_halo* halo);
/// Fetches the current local block and halo. Local; one thread at a time for each halo. Cost: a copy of the local
/// block, and for each neighbour on another node a planned transfer.
int lapwing_halo_fetch(lapwing_halo* halo);
/// Non-blocking: the memory must not be used until the completion is done. Local; one thread at a time for each halo.
int lapwing_halo_start_fetch(lapwing_halo* halo, lapwing_completion** completion);
/// Copies the local block, but not the halo, back to the array. Local; one thread at a time for each halo.
int lapwing_halo_store(lapwing_halo* halo);
/// The memory: its first element, the distance in elements between neighbours in each dimension, and the indices it
/// covers. A rank that owns nothing gets a null pointer and empty ranges. Each pointer may be null. The memory is the
/// halo's own: it stays when the array is resized or freed. Local, any thread.
int lapwing_halo_memory(const lapwing_halo* halo, void** memory, int64_t* strides, lapwing_range* ranges);

#ifdef __cplusplus
}
#endif

#endif
