// Room: bindings
/*
 * Slices of arrays, assignments between them whatever the distributions, and checkpoints.
 */
#ifndef LAPWING_C_SLICE_H
#define LAPWING_C_SLICE_H

#include <lapwing/c/array.h>
#include <lapwing/c/completion.h>
#include <lapwing/c/runtime.h>
#include <lapwing/c/type.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Part of an array, in any order, seen as an array with positions starting at 0. Making a slice moves nothing. It is
/// valid until the array is freed, resized or redistributed: then LAPWING_ERR_USAGE. Immutable: several threads may use
/// it.
typedef struct lapwing_slice lapwing_slice;

/// What a slice keeps of a dimension.
enum {
    LAPWING_PART_ALL = 0,   ///< all of it
    LAPWING_PART_RANGE = 1, ///< `size` indices starting at `first`, `stride` apart, which may be negative
    LAPWING_PART_INDEX = 2  ///< index `first`; the slice does not have this dimension
};
typedef struct lapwing_part {
    int kind;
    int64_t first;
    uint64_t size;
    int64_t stride;
} lapwing_part;

/// Part of an array, by its indices: one part for each dimension, or null for all. LAPWING_ERR_RANGE, and _USAGE if no
/// dimension is left. Local, any thread.
int lapwing_slice_create(const lapwing_array* array, const lapwing_part* parts, lapwing_slice** slice);
/// Part of a slice, by its positions. LAPWING_ERR_RANGE, and _USAGE if no dimension is left. Local, any thread.
int lapwing_slice_cut(const lapwing_slice* slice, const lapwing_part* parts, lapwing_slice** part);
/// Dimension d of the result is dimension order[d]; null: the reverse order, a transposition. LAPWING_ERR_RANGE unless
/// each occurs exactly once. Local, any thread.
int lapwing_slice_permute(const lapwing_slice* slice, const int* order, lapwing_slice** permuted);
/// Frees it and sets `*slice` to null. Local, any thread.
int lapwing_slice_free(lapwing_slice** slice);
/// Number of dimensions, and positions in each. Either may be null. Local, any thread.
int lapwing_slice_shape(const lapwing_slice* slice, int* dimensions, int64_t* extents);

/// One-sided: copies the elements to or from a buffer, in which neighbours are `strides` elements apart, of any size
/// and sign; null: row-major and contiguous. Complete as lapwing_array_get() and _put(). LAPWING_ERR_USAGE. Local, any
/// thread. Cost: a planned transfer an owner.
int lapwing_slice_get(const lapwing_slice* slice, void* buffer, const int64_t* strides);
int lapwing_slice_put(const lapwing_slice* slice, const void* buffer, const int64_t* strides);
/// The same without waiting: until the completion is done, the buffer of a get must not be touched, nor that of a put
/// changed. Local, any thread.
int lapwing_slice_start_get(const lapwing_slice* slice, void* buffer, const int64_t* strides,
                            lapwing_completion** completion);
int lapwing_slice_start_put(const lapwing_slice* slice, const void* buffer, const int64_t* strides,
                            lapwing_completion** completion);
/// One-sided: copies the elements of another slice of the same type and extents, through 4 MiB of this rank's memory.
/// LAPWING_ERR_RANGE, LAPWING_ERR_USAGE. Local, any thread.
int lapwing_slice_copy(const lapwing_slice* target, const lapwing_slice* source);

/// Operations of an assignment beside LAPWING_REPLACE, LAPWING_ADD, LAPWING_MIN and LAPWING_MAX.
enum { LAPWING_SUBTRACT = 8, LAPWING_MULTIPLY = 9 };
/// Computes an element of the target from that and one of the source.
typedef void (*lapwing_apply_function)(void* context, void* target, const void* source);

/// Collective over the arrays' ranks, one thread: the same slices on all. target = source, += and so on, as if the
/// source were copied first; each element is changed by its owner. LAPWING_REPLACE converts numbers of different types
/// as C does, and copies bytes of one size; the other operations are for numbers of one type. A barrier before and
/// after. LAPWING_ERR_RANGE if the extents differ, LAPWING_ERR_USAGE if types or ranks do not fit; where that is so on
/// some ranks, LAPWING_ERR_USAGE on the others. Cost: planning, and one transfer for each pair of ranks; a
/// lapwing_assignment keeps the plans.
int lapwing_slice_assign(const lapwing_slice* target, const lapwing_slice* source, int operation);
/// The same by a function, for slices of any types. Collective, one thread.
int lapwing_slice_apply(const lapwing_slice* target, const lapwing_slice* source, lapwing_apply_function apply,
                        void* context);
/// Computes an element of the target from one element of each source, in the order of the sources.
typedef void (*lapwing_compute_function)(void* context, void* target, const void* const* sources);
/// Collective over the arrays' ranks, one thread: each element of the target becomes what `compute` makes of the
/// elements at its place in `count` sources, at least 1, of any types and distributions, with the same extents. Its
/// owner calls the function once for each. The target may be a source. Otherwise as lapwing_slice_assign(). Cost: for
/// the rank's part of the target, piece by piece, one transfer for each source and rank; 16 MiB, and memory for all
/// values if a source overlaps the target with other elements.
int lapwing_slice_compute(const lapwing_slice* target, int count, const lapwing_slice* const* sources,
                          lapwing_compute_function compute, void* context);
/// Collective, one thread: sets each element to `*value`.
int lapwing_slice_fill(const lapwing_slice* target, const void* value);

/// Assignments that are carried out together, as often as needed. They keep their slices.
typedef struct lapwing_assignment lapwing_assignment;
/// An empty assignment. Local, any thread; the object is for one thread at a time.
int lapwing_assignment_create(lapwing_assignment** assignment);
/// Frees it and sets `*assignment` to null. Local; one thread at a time for each assignment.
int lapwing_assignment_free(lapwing_assignment** assignment);
/// Adds an assignment; nothing is moved yet. The assignments of one object are unordered: the target of one must not be
/// in another. As lapwing_slice_assign() and the like. Local; one thread at a time for each assignment.
int lapwing_assignment_add(lapwing_assignment* assignment, const lapwing_slice* target, const lapwing_slice* source,
                           int operation);
int lapwing_assignment_add_apply(lapwing_assignment* assignment, const lapwing_slice* target,
                                 const lapwing_slice* source, lapwing_apply_function apply, void* context);
int lapwing_assignment_add_compute(lapwing_assignment* assignment, const lapwing_slice* target, int count,
                                   const lapwing_slice* const* sources, lapwing_compute_function compute,
                                   void* context);
int lapwing_assignment_add_fill(lapwing_assignment* assignment, const lapwing_slice* target, const void* value);
/// Collective, one thread: carries out all of them. `compare` nonzero: first checks that all ranks have the same
/// slices. LAPWING_ERR_USAGE for arrays that no longer exist, _MISMATCH, _PEER_LEFT, _MPI.
int lapwing_assignment_execute(lapwing_assignment* assignment, int compare);
/// The same in two halves, for work on other arrays in between: the barrier at the start, and transfers that are
/// started. lapwing_completion_wait() on all ranks, one thread, is the other half. Between them no rank may write to a
/// source, nor touch a target, nor execute, start or extend the assignment. lapwing_completion_test() makes progress,
/// and never finds it complete. Errors as lapwing_assignment_execute(); those of transfers and functions come from the
/// wait. Collective, one thread.
int lapwing_assignment_start(lapwing_assignment* assignment, int compare, lapwing_completion** completion);
/// This rank's transfers to other nodes in each execution, and their bytes; a description as text. Local; one thread at
/// a time for each assignment.
int lapwing_assignment_transfers(const lapwing_assignment* assignment, uint64_t* transfers, uint64_t* bytes);
int lapwing_assignment_explain(const lapwing_assignment* assignment, const char** text);

/// Called on rank 0 with the bytes that are done, and the total; a nonzero result ends the call on all ranks, on rank 0
/// with LAPWING_ERR_USAGE and on the others with LAPWING_ERR_FILE.
typedef int (*lapwing_progress_function)(void* context, uint64_t done, uint64_t all);
/// Collective, one thread: writes the elements to a file, which replaces `path` once it is complete; reads them from a
/// file of the same type and extents, whatever the distribution and the number of ranks. `progress` may be null.
/// LAPWING_ERR_FILE, and the old file stays.
int lapwing_array_save(const lapwing_array* array, const char* path, lapwing_progress_function progress, void* context);
int lapwing_array_load(lapwing_array* array, const char* path, lapwing_progress_function progress, void* context);
/// The same for slices, in their own order. Collective, one thread.
int lapwing_slice_save(const lapwing_slice* slice, const char* path, lapwing_progress_function progress, void* context);
int lapwing_slice_load(const lapwing_slice* slice, const char* path, lapwing_progress_function progress, void* context);
/// Collective, one thread: the extents of a file with elements of this type in this many dimensions. LAPWING_ERR_FILE
/// for other files.
int lapwing_checkpoint_extents(lapwing_runtime* runtime, const char* path, lapwing_type type, int dimensions,
                               int64_t* extents);

#ifdef __cplusplus
}
#endif

#endif
