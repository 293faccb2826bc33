// Room: bindings
/*
 * Reductions of arrays along one dimension.
 */
#ifndef LAPWING_C_REDUCTION_H
#define LAPWING_C_REDUCTION_H

#include <lapwing/c/array.h>
#include <lapwing/c/slice.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Collective, one thread: the same arguments on all ranks. The sum, the smallest or the largest element along one
/// dimension: if `dimension` is 1, element (i, k) of the target becomes that of the elements (i, j, k) for all j. The
/// array has two dimensions or more, and any distribution; the target is a slice of another array with the other
/// dimensions in their order, of any distribution over the same ranks. Sums are computed as double, int64_t or uint64_t
/// (modulo 2^64), or in the elements' type if that is complex; then results are converted to the target's type as C
/// does. Of no elements, the minimum is infinity or the type's largest value, and the maximum the opposite; both ignore
/// NaNs. Elements that the distribution does not store are left out.
///
/// It includes what any rank wrote to the array before; on return all ranks see the target. LAPWING_ERR_RANGE for
/// dimensions and extents that do not fit, LAPWING_ERR_USAGE for elements that are not numbers, and for the minimum or
/// maximum of complex ones. Cost: a window, and that of a lapwing_reduction.
int lapwing_array_sum_along(lapwing_array* array, int dimension, const lapwing_slice* target);
int lapwing_array_min_along(lapwing_array* array, int dimension, const lapwing_slice* target);
int lapwing_array_max_along(lapwing_array* array, int dimension, const lapwing_slice* target);
/// The same by functions, for elements of any type: results have `bytes` bytes, as many as an element of the target,
/// and start as `*identity`, which must be neutral. `accumulate` is called for each element by its owner, and `combine`
/// with the results of two processes, by one of them; both in ascending order of the dimension's indices if each
/// process has one block of it. Collective, one thread.
int lapwing_array_reduce_along(lapwing_array* array, int dimension, const lapwing_slice* target, const void* identity,
                               uint64_t bytes, lapwing_accumulate_function accumulate, lapwing_combine_function combine,
                               void* context);

/// A reduction along one dimension that is carried out as often as needed. It is valid until its array or the target's
/// is freed, resized or redistributed: then LAPWING_ERR_USAGE.
typedef struct lapwing_reduction lapwing_reduction;
/// Collective, one thread. As above, by LAPWING_ADD, LAPWING_MULTIPLY, LAPWING_MIN or LAPWING_MAX; products are
/// computed in the types of sums. Nothing is computed yet. Memory: an array with a result for each row and each process
/// of the dimension.
int lapwing_reduction_create(lapwing_array* array, int dimension, const lapwing_slice* target, int operation,
                             lapwing_reduction** reduction);
/// Collective, one thread: by functions.
int lapwing_reduction_create_function(lapwing_array* array, int dimension, const lapwing_slice* target,
                                      const void* identity, uint64_t bytes, lapwing_accumulate_function accumulate,
                                      lapwing_combine_function combine, void* context, lapwing_reduction** reduction);
/// Collective, one thread. Cost: each process computes the results of its own elements, and sends at most that many in
/// each of log2(processes of the dimension) steps; then an assignment to the target. Two barriers for each step, and
/// two for the assignment.
int lapwing_reduction_execute(lapwing_reduction* reduction);
/// Collective, one thread. Sets `*reduction` to null.
int lapwing_reduction_free(lapwing_reduction** reduction);
/// Local, one thread. Frees it without waiting for other ranks, before lapwing_runtime_leave().
int lapwing_reduction_leave(lapwing_reduction** reduction);

#ifdef __cplusplus
}
#endif

#endif
