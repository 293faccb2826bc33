// Room: bindings
/*
 * Loops over single elements, and over small calls, at the speed of lists.
 */
#ifndef LAPWING_C_AGGREGATOR_H
#define LAPWING_C_AGGREGATOR_H

#include <lapwing/c/array.h>
#include <lapwing/c/runtime.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Gathers what a loop reads, writes, adds and posts element by element, and sends it, hundreds in a message to each
/// rank, when a message is full, by flush, by a release of the same thread, and when it is freed. For one thread.
/// Before flush nothing is known: a get may see what is written after it, and accesses that do not go through the
/// aggregator may pass those that do. What was written, added and posted is complete at the next release, as a put; an
/// add is a function at the owner. Memory: up to 1 MiB, and 16 bytes for each rank.
typedef struct lapwing_aggregator lapwing_aggregator;

/// Local, one thread. For arrays and ranks of this runtime. Arrays that were accessed must be open until the next flush
/// or release.
int lapwing_aggregator_create(lapwing_runtime* runtime, lapwing_aggregator** aggregator);
/// Local, one thread. As flush; frees the aggregator and sets `*aggregator` to null, also if that has failed. Does
/// nothing for a null pointer.
int lapwing_aggregator_free(lapwing_aggregator** aggregator);

/// Local, one thread. `*value`, which must exist until flush, becomes the element's, on return of flush.
/// LAPWING_ERR_RANGE, LAPWING_ERR_USAGE for a replicated array.
int lapwing_aggregator_get(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index, void* value);
/// Local, one thread. The element becomes `*value`, which may be reused on return.
int lapwing_aggregator_put(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                           const void* value);
/// Local, one thread. `*value` is added to the element by its owner: what aggregators and functions add is not lost.
/// LAPWING_ERR_USAGE for elements that are no numbers.
int lapwing_aggregator_add(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                           const void* value);
/// Local, one thread. The same for `count` elements, whose indices follow each other, as do their values; `one_value`
/// not 0: the first is for all.
int lapwing_aggregator_get_list(lapwing_aggregator* aggregator, lapwing_array* array, size_t count,
                                const int64_t* indices, void* values);
int lapwing_aggregator_put_list(lapwing_aggregator* aggregator, lapwing_array* array, size_t count,
                                const int64_t* indices, const void* values, int one_value);
int lapwing_aggregator_add_list(lapwing_aggregator* aggregator, lapwing_array* array, size_t count,
                                const int64_t* indices, const void* values, int one_value);
/// Local, one thread. As lapwing_runtime_post() with LAPWING_WHERE_PROGRESS.
int lapwing_aggregator_post(lapwing_aggregator* aggregator, int rank, const char* name, const void* argument,
                            uint64_t argument_bytes);
/// Local, one thread. Sends everything, and waits for what is read. LAPWING_ERR_PEER_LEFT.
int lapwing_aggregator_flush(lapwing_aggregator* aggregator);

#ifdef __cplusplus
}
#endif

#endif
