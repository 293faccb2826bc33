// Room: bindings
/*
 * Global arrays: elements, patches, lists, parts, collective calls.
 */
#ifndef LAPWING_C_ARRAY_H
#define LAPWING_C_ARRAY_H

#include <lapwing/c/completion.h>
#include <lapwing/c/layout.h>
#include <lapwing/c/runtime.h>
#include <lapwing/c/statistics.h>
#include <lapwing/c/type.h>
#include <lapwing/c/window.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The largest number of dimensions.
#define LAPWING_MAX_DIMENSIONS 8

/// Elements of one type in 1 to 8 dimensions, spread over the ranks by a distribution; all bytes are zero at the start.
/// Elements that are neighbours in the last dimension are neighbours in memory. Indices are those that the array was
/// created with: from 0 or from lower bounds on, and a stride apart if it has strides. They are always checked:
/// LAPWING_ERR_RANGE, and nothing is moved.
typedef struct lapwing_array lapwing_array;

/// How elements are distributed.
enum {
    LAPWING_BLOCK = 0,            ///< one block of ceil(extent / processes) indices per process in each dimension
    LAPWING_CYCLIC = 1,           ///< index i of a dimension with P processes belongs to process i mod P
    LAPWING_BLOCK_CYCLIC = 2,     ///< blocks of block[d] indices, assigned to the processes in turn
    LAPWING_REPLICATED = 3,       ///< every rank has all elements; writes go to every copy
    LAPWING_OWN_DISTRIBUTION = 4, ///< user-defined, by functions
    LAPWING_ALIGNED = 5,          ///< as part of an index space that is distributed as a whole
    LAPWING_ON_RANKS = 6,         ///< by another distribution, over some of the ranks
    LAPWING_BLOCKS = 7            ///< one block per process in each dimension, each of a length of its own
};
/// What a user-defined distribution is asked about: the array, and the number of ranks.
typedef struct lapwing_shape {
    int dimensions;
    int ranks;
    const int64_t* extents;
} lapwing_shape;
/// Where an element is.
typedef struct lapwing_place {
    int owner;           ///< -1: the distribution does not store the element
    uint64_t offset;     ///< place in the owner's part, in elements
    uint64_t contiguous; ///< how many elements, starting with this one, are contiguous there as the last index
                         ///< increases; at least 1
} lapwing_place;
/// A user-defined distribution: the functions must return the same results on every rank. Indices are counted from 0,
/// whatever the array's lower bounds. Any thread that uses the array may call the functions, as long as the array
/// exists.
typedef struct lapwing_distribution_functions {
    void (*locate)(void* context, const lapwing_shape* shape, const int64_t* index, lapwing_place* place);
    uint64_t (*capacity)(void* context, const lapwing_shape* shape); ///< elements to allocate at each rank
    uint64_t (*domain_count)(void* context, const lapwing_shape* shape,
                             int rank); ///< number of disjoint domains that a rank owns
    void (*domain)(void* context, const lapwing_shape* shape, int rank, uint64_t k,
                   lapwing_range* ranges); ///< the k-th of these domains
    int replicated;                        ///< whether every rank holds what is placed on rank 0
} lapwing_distribution_functions;
/// A distribution; where one is expected, null means LAPWING_BLOCK. Everything it points to is copied, except
/// `context`.
typedef struct lapwing_distribution {
    int kind; ///< LAPWING_BLOCK and so on
    /// Processes in each dimension, 0: choose, so that the product is the number of ranks; null: choose all. Of
    /// LAPWING_BLOCKS: how many of the lengths are those of each dimension, 0: it is not divided; null: all are those
    /// of the first one, and the others are not divided.
    const int* grid;
    /// Of LAPWING_BLOCK_CYCLIC: one size per dimension. Of LAPWING_BLOCKS: `block_count` lengths, which may be 0, those
    /// of the first dimension first. There is a block for each rank, and the lengths of a dimension make up its extent.
    const int64_t* block;
    const lapwing_distribution_functions* functions; ///< of LAPWING_OWN_DISTRIBUTION
    void* context;                                   ///< passed to the functions
    /// Of LAPWING_ALIGNED: the index space, one range for each dimension, which has all indices of the array; elements
    /// with the same index are on the same rank, whichever array over the space they belong to. Each array stores its
    /// own elements only, and keeps its extents.
    const lapwing_range* space;
    /// Of LAPWING_ALIGNED: how the space is distributed, by any other kind. Of LAPWING_ON_RANKS: how the array is, over
    /// `rank_count` processes, by LAPWING_BLOCK, _CYCLIC, _BLOCK_CYCLIC, _BLOCKS or _OWN_DISTRIBUTION. Null:
    /// LAPWING_BLOCK.
    const struct lapwing_distribution* whole;
    /// Of LAPWING_ON_RANKS: the ranks that have elements, in any order, each once; process p is ranks[p]. The others
    /// have none, allocate as much, and take part in collective calls. Such arrays are treated as those with
    /// user-defined distributions.
    const int* ranks;
    int rank_count;      ///< of LAPWING_ON_RANKS: how many there are, at least 1
    int64_t block_count; ///< of LAPWING_BLOCKS: how many lengths `block` has; 8 bytes each at every rank
} lapwing_distribution;

/// Options of an array besides its extents: start with lapwing_array_options_default().
typedef struct lapwing_array_options {
    const char* name;            ///< for messages and statistics; null: none
    const int64_t* lower;        ///< lower bound of each dimension; null: 0
    lapwing_cache_options cache; ///< for elements on other nodes; the same on all ranks
    int64_t halo;                ///< depth of the space for copies around the local block; LAPWING_BLOCK only
    const int64_t* stride;       ///< distance of neighbouring indices in each dimension, at least 1: the array then has
                                 ///< the indices lower, lower + stride, and so on; null: 1
} lapwing_array_options;
/// The options that null means. Returns no error code. Local, any thread.
lapwing_array_options lapwing_array_options_default(void);

/// Collective, one thread: the same arguments on all ranks. `distribution` and `options` may be null. LAPWING_ERR_RANGE
/// for sizes that cannot be allocated and grids that do not fit, _USAGE, _MISMATCH, _MPI.
int lapwing_array_create(lapwing_runtime* runtime, lapwing_type type, int dimensions, const int64_t* extents,
                         const lapwing_distribution* distribution, const lapwing_array_options* options,
                         lapwing_array** array);
/// Collective, one thread. Completes all operations of all ranks, frees the memory and sets `*array` to null.
int lapwing_array_free(lapwing_array** array);
/// Local, one thread. Frees it without waiting for other ranks, before lapwing_runtime_leave().
int lapwing_array_leave(lapwing_array** array);
/// Collective, one thread: changes the extents under the same distribution. Elements within both the old and the new
/// extents keep their values; the others are zero. Pointers into the array, its window, slices and completions must no
/// longer be used. After an error the array is unchanged. Cost: a window, and the cost of an assignment.
int lapwing_array_resize(lapwing_array* array, const int64_t* extents);
/// Collective, one thread: another distribution; values, extents and lower bounds stay. Otherwise as above.
int lapwing_array_redistribute(lapwing_array* array, const lapwing_distribution* distribution);

/// The type and shape of an array. Any of the pointers may be null; `extents` and `lower` receive one number for each
/// dimension. Local, any thread.
int lapwing_array_shape(const lapwing_array* array, lapwing_type* type, int* dimensions, int64_t* extents,
                        int64_t* lower);
/// The distance of neighbouring indices in each dimension, as in the options. Local, any thread.
int lapwing_array_stride(const lapwing_array* array, int64_t* stride);
/// Number of elements; the name; the depth of the halo. Local, any thread.
int lapwing_array_size(const lapwing_array* array, uint64_t* elements);
int lapwing_array_name(const lapwing_array* array, const char** text);
int lapwing_array_halo(const lapwing_array* array, int64_t* depth);
/// The array's window. It is valid until the array is freed, resized or redistributed. Local, one thread.
int lapwing_array_window(lapwing_array* array, lapwing_window** window);

/// The rank that owns an element (of a replicated array: the calling rank), and whether the calling rank does.
/// LAPWING_ERR_RANGE. Local, any thread.
int lapwing_array_owner(const lapwing_array* array, const int64_t* index, int* rank);
int lapwing_array_is_local(const lapwing_array* array, const int64_t* index, int* local);
/// The disjoint domains that a rank owns: their number, and the k-th, one range for each dimension. LAPWING_ERR_RANGE.
/// Local, any thread.
int lapwing_array_domain_count(const lapwing_array* array, int rank, uint64_t* count);
int lapwing_array_domain(const lapwing_array* array, int rank, uint64_t k, lapwing_range* ranges);
/// The local part as memory: its first element, the extents, and the distance in elements between neighbours in each
/// dimension. With a block distribution the first element is the first of the local domain. LAPWING_ERR_USAGE for a
/// user-defined distribution. Any of the pointers may be null. Local, any thread.
int lapwing_array_local(const lapwing_array* array, void** memory, int64_t* extents, int64_t* strides);

/// One element, whoever owns it; a put is complete locally on return. LAPWING_ERR_RANGE. Local, any thread. Cost: a
/// load or store on the node, otherwise a round trip, or a cache hit.
int lapwing_array_get_element(const lapwing_array* array, const int64_t* index, void* value);
int lapwing_array_put_element(lapwing_array* array, const int64_t* index, const void* value);
/// The same for programs that know the type, which is checked: LAPWING_ERR_USAGE. Local, any thread.
int lapwing_array_get_typed(const lapwing_array* array, lapwing_type type, const int64_t* index, void* value);
int lapwing_array_put_typed(lapwing_array* array, lapwing_type type, const int64_t* index, const void* value);
/// A hint that the calling thread will soon read the element. LAPWING_ERR_RANGE. Local, any thread.
int lapwing_array_prefetch_element(const lapwing_array* array, const int64_t* index);

/// Patches: `ranges` has one range for each dimension. `strides`: distance in elements of the buffer between neighbours
/// in each dimension, increasing from the last, which is 1, to the first; null: the elements are contiguous in the
/// buffer, the last dimension fastest. On return a get is complete, a put complete locally. LAPWING_ERR_RANGE. Local,
/// any thread. Cost: copies on the node, otherwise a planned transfer for each owner; all are started before the first
/// is waited for.
int lapwing_array_get(const lapwing_array* array, const lapwing_range* ranges, void* buffer, const int64_t* strides);
int lapwing_array_put(lapwing_array* array, const lapwing_range* ranges, const void* buffer, const int64_t* strides);
/// Non-blocking: the buffer must remain valid until the completion is done. Errors as above. Local, any thread.
int lapwing_array_start_get(const lapwing_array* array, const lapwing_range* ranges, void* buffer,
                            const int64_t* strides, lapwing_completion** completion);
int lapwing_array_start_put(lapwing_array* array, const lapwing_range* ranges, const void* buffer,
                            const int64_t* strides, lapwing_completion** completion);

/// Lists: `indices` holds `count` indices, each with one number for each dimension; `values` holds `count` elements.
/// If an element is written twice, the last value counts. LAPWING_ERR_RANGE before anything moves. Local, any thread.
/// Cost: one message holding thousands for each owner on another node.
int lapwing_array_gather(const lapwing_array* array, size_t count, const int64_t* indices, void* values);
int lapwing_array_scatter(lapwing_array* array, size_t count, const int64_t* indices, const void* values);
int lapwing_array_start_gather(const lapwing_array* array, size_t count, const int64_t* indices, void* values,
                               lapwing_completion** completion);
int lapwing_array_start_scatter(lapwing_array* array, size_t count, const int64_t* indices, const void* values,
                                lapwing_completion** completion);

/// Atomics on elements, as those of windows; the type is the element's. LAPWING_ERR_USAGE for replicated arrays. Local,
/// any thread.
int lapwing_array_fetch(lapwing_array* array, int operation, const int64_t* index, const void* operand, void* before,
                        int order);
int lapwing_array_compare_swap(lapwing_array* array, const int64_t* index, const void* expected, const void* desired,
                               void* before, int order);
int lapwing_array_update(lapwing_array* array, int operation, const int64_t* index, const void* operand);
int lapwing_array_fetch_list(lapwing_array* array, int operation, size_t count, const int64_t* indices,
                             const void* operands, int one_operand, void* before);
int lapwing_array_compare_swap_list(lapwing_array* array, size_t count, const int64_t* indices, const void* expected,
                                    int one_expected, const void* desired, int one_desired, void* before);
/// The lists, non-blocking: `operands`, `expected`, `desired` and `before` must remain valid until the completion is
/// done. With a null `before` the call waits. Errors as above. Local, any thread.
int lapwing_array_start_fetch_list(lapwing_array* array, int operation, size_t count, const int64_t* indices,
                                   const void* operands, int one_operand, void* before,
                                   lapwing_completion** completion);
int lapwing_array_start_compare_swap_list(lapwing_array* array, size_t count, const int64_t* indices,
                                          const void* expected, int one_expected, const void* desired, int one_desired,
                                          void* before, lapwing_completion** completion);

/// As those of windows, for this array. Local, any thread.
int lapwing_array_flush(lapwing_array* array, int rank);
int lapwing_array_flush_all(lapwing_array* array);
int lapwing_array_release(lapwing_array* array);
int lapwing_array_acquire(lapwing_array* array);
int lapwing_array_fence(lapwing_array* array);
int lapwing_array_invalidate_cache(lapwing_array* array);
/// Collective, one thread: the runtime's barrier.
int lapwing_array_barrier(lapwing_array* array);
/// This rank's counters; and, collective, one thread, the sum over all ranks. Local, any thread.
int lapwing_array_statistics(const lapwing_array* array, lapwing_statistics* statistics);
int lapwing_array_total_statistics(lapwing_array* array, lapwing_statistics* statistics);

/// Collective, one thread: sets every element to `*value`. A barrier before and after.
int lapwing_array_fill(lapwing_array* array, const void* value);
/// Collective, one thread: copies the elements of another array of the same type and extents, whatever its
/// distribution.
int lapwing_array_copy(lapwing_array* target, const lapwing_array* source);
/// Collective, one thread, for replicated arrays: every copy becomes that of `root`.
int lapwing_array_broadcast(lapwing_array* array, int root);
/// Collective, one thread. The sum of all elements as double, int64_t or uint64_t (modulo 2^64), depending on the kind
/// of the elements; the smallest and the largest element, in the elements' type, with the index of the first of them
/// (`index` may be null). NaNs are ignored. LAPWING_ERR_USAGE for elements that are not real numbers, and for min and
/// max if there are no elements or only NaNs.
int lapwing_array_sum(const lapwing_array* array, void* sum);
int lapwing_array_min(const lapwing_array* array, void* value, int64_t* index);
int lapwing_array_max(const lapwing_array* array, void* value, int64_t* index);
/// Accumulates an element into `value`.
typedef void (*lapwing_accumulate_function)(void* context, void* value, const int64_t* index, const void* element);
/// Collective, one thread. Any reduction: `*value`, of `bytes` bytes, must be neutral at the start. Each rank calls
/// `accumulate` for its own elements, domain after domain, the last index fastest; then the ranks' values are combined
/// in the order of the ranks, and the result is in `value` on all.
int lapwing_array_reduce(const lapwing_array* array, void* value, uint64_t bytes,
                         lapwing_accumulate_function accumulate, lapwing_combine_function combine, void* context);

/// Internal: one dimension of what inline functions reach. Not for programs.
typedef struct lapwing_array_axis {
    int64_t lower;
    uint64_t extent; ///< 0: nothing can be reached
    uint64_t stride; ///< in bytes
} lapwing_array_axis;
/// Internal: the start of an array, read by inline functions. Not for programs.
typedef struct lapwing_array_head {
    uint64_t mark;
    lapwing_type type;
    unsigned char* base;                     ///< address of the first element that inline functions can reach
    int64_t lower[LAPWING_MAX_DIMENSIONS];   ///< its indices
    uint64_t extent[LAPWING_MAX_DIMENSIONS]; ///< 0: none can be reached
    uint64_t stride[LAPWING_MAX_DIMENSIONS]; ///< in bytes
    int dimensions;
    int writable; ///< 0: writes must also go elsewhere
    /// The same for arrays of one dimension, in the first place, of two, in the next two, and of three, in the last
    /// three. Those of other numbers have extent 0, so that no access compares the number of dimensions.
    lapwing_array_axis axes[6];
    /// `base` for reads and for writes of int32, int64, float and double, if that is the type and the element may be
    /// read or written there; otherwise null.
    unsigned char* reads[4];
    unsigned char* writes[4];
} lapwing_array_head;

/// The address of an element in one, two or three dimensions, if the calling rank can load it and find it quickly: most
/// local elements and, if the array is in blocks of rows, those of its node. Otherwise, and if the array has another
/// number of dimensions or indices with strides, null. For a replicated array it is the address of the local copy. Not
/// for null handles. Local, any thread. Cost: a comparison for each dimension.
static inline void* lapwing_array_address_1(const lapwing_array* array, int64_t i) {
    const lapwing_array_head* const head = (const lapwing_array_head*)(const void*)array;
    const lapwing_array_axis* const axis = &head->axes[0];
    const uint64_t p = (uint64_t)i - (uint64_t)axis[0].lower;
    if (p >= axis[0].extent) return NULL;
    return head->base + p * axis[0].stride;
}
static inline void* lapwing_array_address_2(const lapwing_array* array, int64_t i, int64_t j) {
    const lapwing_array_head* const head = (const lapwing_array_head*)(const void*)array;
    const lapwing_array_axis* const axis = &head->axes[1];
    const uint64_t p = (uint64_t)i - (uint64_t)axis[0].lower;
    const uint64_t q = (uint64_t)j - (uint64_t)axis[1].lower;
    if (p >= axis[0].extent || q >= axis[1].extent) return NULL;
    return head->base + p * axis[0].stride + q * axis[1].stride;
}
static inline void* lapwing_array_address_3(const lapwing_array* array, int64_t i, int64_t j, int64_t k) {
    const lapwing_array_head* const head = (const lapwing_array_head*)(const void*)array;
    const lapwing_array_axis* const axis = &head->axes[3];
    const uint64_t p = (uint64_t)i - (uint64_t)axis[0].lower;
    const uint64_t q = (uint64_t)j - (uint64_t)axis[1].lower;
    const uint64_t r = (uint64_t)k - (uint64_t)axis[2].lower;
    if (p >= axis[0].extent || q >= axis[1].extent || r >= axis[2].extent) return NULL;
    return head->base + p * axis[0].stride + q * axis[1].stride + r * axis[2].stride;
}

/// The same in any number of dimensions, which must be the array's, with the index as an array: null if it is another.
/// With it elements of any type are read and written inline. Not for null handles. Local, any thread. Cost: as above.
static inline void* lapwing_array_address(const lapwing_array* array, int dimensions, const int64_t* index) {
    const lapwing_array_head* const head = (const lapwing_array_head*)(const void*)array;
    uint64_t place = 0;
    int d;
    if (dimensions != head->dimensions) return NULL;
    for (d = 0; d < dimensions; ++d)
        if ((uint64_t)index[d] - (uint64_t)head->lower[d] >= head->extent[d]) return NULL;
        else place += ((uint64_t)index[d] - (uint64_t)head->lower[d]) * head->stride[d];
    return head->base + place;
}

/* Not for programs: what inline functions cannot reach, as lapwing_array_get_typed() and lapwing_array_put_typed() with
   the number of dimensions checked. Values go by register, so that those of callers need no memory. */
typedef struct lapwing_far_value {
    int code;
    uint64_t bits;
} lapwing_far_value;
lapwing_far_value lapwing_array_get_far_(const lapwing_array* array, lapwing_type type, int dimensions, int64_t i,
                                         int64_t j, int64_t k);
int lapwing_array_put_far_(lapwing_array* array, lapwing_type type, int dimensions, int64_t i, int64_t j, int64_t k,
                           uint64_t bits);
#define LAPWING_UNPACK_(...) __VA_ARGS__

/// Inline access to elements of arrays of one, two and three dimensions, as lapwing_array_get_typed() and
/// lapwing_array_put_typed(): lapwing_array_get_double_2(array, i, j, &x), lapwing_array_put_int64_1(array, i, x) and
/// so on, for int8 to int64, uint8 to uint64, float, double, float_complex and double_complex (these two not in C++).
/// Not for null handles. Local, any thread.
#define LAPWING_ELEMENT_FUNCTIONS_(name, ctype, type_, number, n, first, parameters, all, near, place)                \
    static inline int lapwing_array_get_##name##_##n(const lapwing_array* array, LAPWING_UNPACK_ parameters,          \
                                                     ctype* value) {                                                  \
        const lapwing_array_head* const head = (const lapwing_array_head*)(const void*)array;                         \
        const lapwing_array_axis* const axis = &head->axes[first];                                                    \
        const unsigned char* const base = head->reads[number];                                                        \
        if (near && base != NULL) {                                                                                   \
            *value = ((const ctype*)(const void*)(base + (place)))[LAPWING_LAST_##n##_];                              \
            return 0;                                                                                                 \
        } else {                                                                                                      \
            const lapwing_far_value far = lapwing_array_get_far_(array, type_, n, LAPWING_UNPACK_ all);               \
            if (far.code == 0) memcpy(value, &far.bits, sizeof *value);                                               \
            return far.code;                                                                                          \
        }                                                                                                             \
    }                                                                                                                 \
    static inline int lapwing_array_put_##name##_##n(lapwing_array* array, LAPWING_UNPACK_ parameters, ctype value) { \
        const lapwing_array_head* const head = (const lapwing_array_head*)(const void*)array;                         \
        const lapwing_array_axis* const axis = &head->axes[first];                                                    \
        unsigned char* const base = head->writes[number];                                                             \
        if (near && base != NULL) {                                                                                   \
            ((ctype*)(void*)(base + (place)))[LAPWING_LAST_##n##_] = value;                                           \
            return 0;                                                                                                 \
        } else {                                                                                                      \
            uint64_t bits = 0;                                                                                        \
            memcpy(&bits, &value, sizeof value);                                                                      \
            return lapwing_array_put_far_(array, type_, n, LAPWING_UNPACK_ all, bits);                                \
        }                                                                                                             \
    }
/* The place of index `index` in dimension d of what is in reach. */
#define LAPWING_PLACE_(index, d) ((uint64_t)(index) - (uint64_t)axis[d].lower)
#define LAPWING_LAST_1_ LAPWING_PLACE_(i, 0)
#define LAPWING_LAST_2_ LAPWING_PLACE_(j, 1)
#define LAPWING_LAST_3_ LAPWING_PLACE_(k, 2)
#define LAPWING_ELEMENT_FUNCTIONS_OF_TYPE_(name, ctype, code, number)                                            \
    LAPWING_ELEMENT_FUNCTIONS_(name, ctype, code, number, 1, 0, (int64_t i), (i, 0, 0),                          \
                               LAPWING_PLACE_(i, 0) < axis[0].extent, 0)                                         \
    LAPWING_ELEMENT_FUNCTIONS_(name, ctype, code, number, 2, 1, (int64_t i, int64_t j), (i, j, 0),               \
                               LAPWING_PLACE_(i, 0) < axis[0].extent && LAPWING_PLACE_(j, 1) < axis[1].extent,   \
                               LAPWING_PLACE_(i, 0) * axis[0].stride)                                            \
    LAPWING_ELEMENT_FUNCTIONS_(name, ctype, code, number, 3, 3, (int64_t i, int64_t j, int64_t k), (i, j, k),    \
                               LAPWING_PLACE_(i, 0) < axis[0].extent && LAPWING_PLACE_(j, 1) < axis[1].extent && \
                                   LAPWING_PLACE_(k, 2) < axis[2].extent,                                        \
                               LAPWING_PLACE_(i, 0) * axis[0].stride + LAPWING_PLACE_(j, 1) * axis[1].stride)
LAPWING_ELEMENT_FUNCTIONS_OF_TYPE_(int32, int32_t, LAPWING_INT32, 0)
LAPWING_ELEMENT_FUNCTIONS_OF_TYPE_(int64, int64_t, LAPWING_INT64, 1)
LAPWING_ELEMENT_FUNCTIONS_OF_TYPE_(float, float, LAPWING_FLOAT, 2)
LAPWING_ELEMENT_FUNCTIONS_OF_TYPE_(double, double, LAPWING_DOUBLE, 3)
/* For types without an address of their own in the head: one more comparison. */
#define LAPWING_OTHER_ELEMENT_FUNCTIONS_(name, ctype, type_, n, parameters, indices, all)                             \
    static inline int lapwing_array_get_##name##_##n(const lapwing_array* array, LAPWING_UNPACK_ parameters,          \
                                                     ctype* value) {                                                  \
        const lapwing_array_head* const head = (const lapwing_array_head*)(const void*)array;                         \
        const void* const memory =                                                                                    \
            head->type == type_ ? lapwing_array_address_##n(array, LAPWING_UNPACK_ indices) : NULL;                   \
        if (memory != NULL) {                                                                                         \
            memcpy(value, memory, sizeof *value);                                                                     \
            return 0;                                                                                                 \
        } else if (head->dimensions != n) {                                                                           \
            return lapwing_array_get_far_(array, type_, n, LAPWING_UNPACK_ all).code;                                 \
        } else {                                                                                                      \
            const int64_t index[] = {LAPWING_UNPACK_ indices};                                                        \
            return lapwing_array_get_typed(array, type_, index, value);                                               \
        }                                                                                                             \
    }                                                                                                                 \
    static inline int lapwing_array_put_##name##_##n(lapwing_array* array, LAPWING_UNPACK_ parameters, ctype value) { \
        const lapwing_array_head* const head = (const lapwing_array_head*)(const void*)array;                         \
        void* const memory =                                                                                          \
            head->type == type_ && head->writable ? lapwing_array_address_##n(array, LAPWING_UNPACK_ indices) : NULL; \
        if (memory != NULL) {                                                                                         \
            memcpy(memory, &value, sizeof value);                                                                     \
            return 0;                                                                                                 \
        } else if (head->dimensions != n) {                                                                           \
            return lapwing_array_put_far_(array, type_, n, LAPWING_UNPACK_ all, 0);                                   \
        } else {                                                                                                      \
            const int64_t index[] = {LAPWING_UNPACK_ indices};                                                        \
            return lapwing_array_put_typed(array, type_, index, &value);                                              \
        }                                                                                                             \
    }
#define LAPWING_OTHER_ELEMENT_FUNCTIONS_OF_TYPE_(name, ctype, code)                                   \
    LAPWING_OTHER_ELEMENT_FUNCTIONS_(name, ctype, code, 1, (int64_t i), (i), (i, 0, 0))               \
    LAPWING_OTHER_ELEMENT_FUNCTIONS_(name, ctype, code, 2, (int64_t i, int64_t j), (i, j), (i, j, 0)) \
    LAPWING_OTHER_ELEMENT_FUNCTIONS_(name, ctype, code, 3, (int64_t i, int64_t j, int64_t k), (i, j, k), (i, j, k))
LAPWING_OTHER_ELEMENT_FUNCTIONS_OF_TYPE_(int8, int8_t, LAPWING_INT8)
LAPWING_OTHER_ELEMENT_FUNCTIONS_OF_TYPE_(int16, int16_t, LAPWING_INT16)
LAPWING_OTHER_ELEMENT_FUNCTIONS_OF_TYPE_(uint8, uint8_t, LAPWING_UINT8)
LAPWING_OTHER_ELEMENT_FUNCTIONS_OF_TYPE_(uint16, uint16_t, LAPWING_UINT16)
LAPWING_OTHER_ELEMENT_FUNCTIONS_OF_TYPE_(uint32, uint32_t, LAPWING_UINT32)
LAPWING_OTHER_ELEMENT_FUNCTIONS_OF_TYPE_(uint64, uint64_t, LAPWING_UINT64)
/* C++ has no such types. */
#ifndef __cplusplus
LAPWING_OTHER_ELEMENT_FUNCTIONS_OF_TYPE_(float_complex, float _Complex, LAPWING_FLOAT_COMPLEX)
LAPWING_OTHER_ELEMENT_FUNCTIONS_OF_TYPE_(double_complex, double _Complex, LAPWING_DOUBLE_COMPLEX)
#endif

#ifdef __cplusplus
}
#endif

#endif
