// Room: bindings
/*
 * What the Fortran module calls beside the C interface: functions that take descriptors of Fortran's, of any type,
 * shape and stride, and MPI's handles as integers. Not for programs. They return codes as the C interface does, and
 * their texts go the same way. generate.py reads this file.
 *
 * `index` and `ranges` are in the order of C already, the last dimension first in Fortran; lists with a count beside
 * them are in the order of Fortran.
 */
#ifndef LAPWING_BINDINGS_FORTRAN_SHIM_H
#define LAPWING_BINDINGS_FORTRAN_SHIM_H

#include <lapwing/lapwing.h>

#include <ISO_Fortran_binding.h>

#ifdef __cplusplus
extern "C" {
#endif

/// LAPWING_ERR_USAGE unless the handle is null: what it stands for would be lost.
int lapwing_fortran_require_new(void* handle, const char* object);
/// One number a dimension of the array, reversed. LAPWING_ERR_RANGE for another count.
int lapwing_fortran_index(const lapwing_array* array, int64_t count, const int64_t* values, const char* name,
                          int64_t* index);
/// LAPWING_ERR_RANGE unless the array has so many dimensions.
int lapwing_fortran_require_count(const lapwing_array* array, int64_t count, const char* name);
/// Lower to upper, with a stride or that of the array's indices: ranges of the array in the order of C.
int lapwing_fortran_ranges(const lapwing_array* array, int64_t lower_count, const int64_t* lower, int64_t upper_count,
                           const int64_t* upper, int64_t stride_count, const int64_t* strides, lapwing_range* ranges);
/// The same of an array or a slice of so many dimensions; where `drop` is not 0 the dimension is left out.
int lapwing_fortran_parts(int64_t dimensions, int64_t lower_count, const int64_t* lower, int64_t upper_count,
                          const int64_t* upper, int64_t stride_count, const int64_t* strides, int64_t drop_count,
                          const int* drop, lapwing_part* parts);
/// LAPWING_ERR_RANGE for a negative value, which is none where C counts.
int lapwing_fortran_require_count_of(int64_t value, const char* name);
/// The type of what a descriptor describes: as the element type of an array.
int lapwing_fortran_type_of(const CFI_cdesc_t* value, lapwing_type* type);
int lapwing_fortran_type_from_mpi(int datatype, lapwing_type* type);
/// The name of a setting, from 1 on; it stays until the program ends.
int lapwing_fortran_settings_name(int64_t number, const char** name);

/// `world` is what Fortran has for MPI_COMM_WORLD, which may be passed before MPI is initialised.
int lapwing_fortran_runtime_create(int communicator, int world, const lapwing_settings* settings,
                                   lapwing_runtime** runtime);
int lapwing_fortran_runtime_progress(lapwing_runtime* runtime, int* moved);
int lapwing_fortran_runtime_wait_request(lapwing_runtime* runtime, int* request);
int lapwing_fortran_runtime_sum(lapwing_runtime* runtime, CFI_cdesc_t* values);
int lapwing_fortran_runtime_min(lapwing_runtime* runtime, CFI_cdesc_t* values);
int lapwing_fortran_runtime_max(lapwing_runtime* runtime, CFI_cdesc_t* values);
int lapwing_fortran_runtime_all_reduce(lapwing_runtime* runtime, CFI_cdesc_t* values, int datatype, int operation);
int lapwing_fortran_runtime_broadcast(lapwing_runtime* runtime, CFI_cdesc_t* values, int root);
int lapwing_fortran_runtime_combine(lapwing_runtime* runtime, CFI_cdesc_t* value, lapwing_combine_function combine,
                                    void* context);
int lapwing_fortran_runtime_combine_before(lapwing_runtime* runtime, const CFI_cdesc_t* value, CFI_cdesc_t* before,
                                           lapwing_combine_function combine, void* context, int* has_before);
int lapwing_fortran_runtime_all_gather(lapwing_runtime* runtime, const CFI_cdesc_t* value, CFI_cdesc_t* all);
int lapwing_fortran_runtime_all_gather_varying(lapwing_runtime* runtime, const CFI_cdesc_t* value, CFI_cdesc_t* all,
                                               CFI_cdesc_t* counts);
int lapwing_fortran_runtime_require_same(lapwing_runtime* runtime, const int64_t* values, int64_t count, void* what);

/// Arguments, results and `result_bytes` as in C; a descriptor that is null: nothing.
int lapwing_fortran_runtime_call(lapwing_runtime* runtime, int rank, const char* name, const CFI_cdesc_t* argument,
                                 CFI_cdesc_t* result, int where);
int lapwing_fortran_runtime_start_call(lapwing_runtime* runtime, int rank, const char* name,
                                       const CFI_cdesc_t* argument, int result_bytes, lapwing_future** future,
                                       int where);
int lapwing_fortran_runtime_post(lapwing_runtime* runtime, int rank, const char* name, const CFI_cdesc_t* argument,
                                 int where);
int lapwing_fortran_array_apply(lapwing_array* array, const int64_t* index, const char* name,
                                const CFI_cdesc_t* argument, CFI_cdesc_t* result);
int lapwing_fortran_array_start_apply(lapwing_array* array, const int64_t* index, const char* name,
                                      const CFI_cdesc_t* argument, int result_bytes, lapwing_future** future);
int lapwing_fortran_array_post(lapwing_array* array, const int64_t* index, const char* name,
                               const CFI_cdesc_t* argument);
int lapwing_fortran_array_apply_list(lapwing_array* array, int64_t count, const int64_t* indices, const char* name,
                                     const CFI_cdesc_t* arguments, CFI_cdesc_t* results);
int lapwing_fortran_array_post_list(lapwing_array* array, int64_t count, const int64_t* indices, const char* name,
                                    const CFI_cdesc_t* arguments);
/// Zeros where the result is shorter.
int lapwing_fortran_future_get(lapwing_future** future, CFI_cdesc_t* result);
/// Values are of the type of the elements; of a list, a scalar is for all that are written.
int lapwing_fortran_aggregator_get(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                                   CFI_cdesc_t* value);
int lapwing_fortran_aggregator_put(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                                   const CFI_cdesc_t* value);
int lapwing_fortran_aggregator_add(lapwing_aggregator* aggregator, lapwing_array* array, const int64_t* index,
                                   const CFI_cdesc_t* value);
int lapwing_fortran_aggregator_get_list(lapwing_aggregator* aggregator, lapwing_array* array, int64_t count,
                                        const int64_t* indices, CFI_cdesc_t* values);
int lapwing_fortran_aggregator_put_list(lapwing_aggregator* aggregator, lapwing_array* array, int64_t count,
                                        const int64_t* indices, const CFI_cdesc_t* values);
int lapwing_fortran_aggregator_add_list(lapwing_aggregator* aggregator, lapwing_array* array, int64_t count,
                                        const int64_t* indices, const CFI_cdesc_t* values);
int lapwing_fortran_aggregator_post(lapwing_aggregator* aggregator, int rank, const char* name,
                                    const CFI_cdesc_t* argument);

int lapwing_fortran_layout_create_nested(int64_t levels, const int64_t* counts, int64_t stride_count,
                                         const int64_t* strides, int64_t block_bytes, int64_t offset,
                                         lapwing_layout** layout);
int lapwing_fortran_layout_create_list(int64_t count, const int64_t* offsets, int64_t size_count, const int64_t* sizes,
                                       lapwing_layout** layout);
int lapwing_fortran_layout_create_concatenated(const lapwing_layout* first, const lapwing_layout* second,
                                               lapwing_layout** layout);
/// Elements lower to upper of an array of Fortran's with these extents, whose indices begin with 1.
int lapwing_fortran_layout_create_section(int64_t dimensions, const int64_t* extents, int64_t lower_count,
                                          const int64_t* lower, int64_t upper_count, const int64_t* upper,
                                          const int64_t* strides, int64_t stride_count, int64_t element_bytes,
                                          lapwing_layout** layout);
/// Relative to the first element of what is described.
int lapwing_fortran_layout_create_of(const CFI_cdesc_t* buffer, lapwing_layout** layout);
int lapwing_fortran_layout_create_mpi(int datatype, int64_t count, lapwing_layout** layout);
int lapwing_fortran_layout_to_mpi(const lapwing_layout* layout, int* datatype);

/// `zeroed_bytes` below 0: all.
int lapwing_fortran_window_create(lapwing_runtime* runtime, int64_t bytes, void* name, int notification_counters,
                                  int alignment, int64_t zeroed_bytes, int64_t identity, void* identity_name,
                                  const lapwing_cache_options* cache, lapwing_window** window);
int lapwing_fortran_window_adopt(lapwing_runtime* runtime, int mpi_window, int locked, void* name,
                                 int notification_counters, const lapwing_cache_options* cache,
                                 lapwing_window** window);
int lapwing_fortran_window_get(lapwing_window* window, int rank, int64_t offset, CFI_cdesc_t* buffer);
int lapwing_fortran_window_put(lapwing_window* window, int rank, int64_t offset, const CFI_cdesc_t* buffer);
int lapwing_fortran_window_start_get(lapwing_window* window, int rank, int64_t offset, CFI_cdesc_t* buffer,
                                     lapwing_completion** completion);
int lapwing_fortran_window_start_put(lapwing_window* window, int rank, int64_t offset, const CFI_cdesc_t* buffer,
                                     lapwing_completion** completion);
/// `here` null: that of the descriptor.
int lapwing_fortran_window_get_layout(lapwing_window* window, int rank, int64_t offset, const lapwing_layout* there,
                                      CFI_cdesc_t* buffer, const lapwing_layout* here);
int lapwing_fortran_window_put_layout(lapwing_window* window, int rank, int64_t offset, const lapwing_layout* there,
                                      const CFI_cdesc_t* buffer, const lapwing_layout* here);
int lapwing_fortran_window_start_get_layout(lapwing_window* window, int rank, int64_t offset,
                                            const lapwing_layout* there, CFI_cdesc_t* buffer,
                                            const lapwing_layout* here, lapwing_completion** completion);
int lapwing_fortran_window_start_put_layout(lapwing_window* window, int rank, int64_t offset,
                                            const lapwing_layout* there, const CFI_cdesc_t* buffer,
                                            const lapwing_layout* here, lapwing_completion** completion);
int lapwing_fortran_window_get_mpi(lapwing_window* window, CFI_cdesc_t* buffer, int64_t count, int datatype, int rank,
                                   int64_t displacement, int64_t target_count, int target_datatype);
int lapwing_fortran_window_put_mpi(lapwing_window* window, const CFI_cdesc_t* buffer, int64_t count, int datatype,
                                   int rank, int64_t displacement, int64_t target_count, int target_datatype);
int lapwing_fortran_window_start_get_mpi(lapwing_window* window, CFI_cdesc_t* buffer, int64_t count, int datatype,
                                         int rank, int64_t displacement, int64_t target_count, int target_datatype,
                                         lapwing_completion** completion);
int lapwing_fortran_window_start_put_mpi(lapwing_window* window, const CFI_cdesc_t* buffer, int64_t count, int datatype,
                                         int rank, int64_t displacement, int64_t target_count, int target_datatype,
                                         lapwing_completion** completion);
/// `type`: of a structure, which its descriptor does not say; 0: what the operand is.
int lapwing_fortran_window_fetch(lapwing_window* window, int operation, int rank, int64_t offset,
                                 const CFI_cdesc_t* operand, CFI_cdesc_t* before, int order, lapwing_type type);
int lapwing_fortran_window_compare_swap(lapwing_window* window, int rank, int64_t offset, const CFI_cdesc_t* expected,
                                        const CFI_cdesc_t* desired, CFI_cdesc_t* before, int order);
int lapwing_fortran_window_update(lapwing_window* window, int operation, int rank, int64_t offset,
                                  const CFI_cdesc_t* operand, lapwing_type type);
int lapwing_fortran_window_fetch_list(lapwing_window* window, int operation, int rank, int64_t count,
                                      const int64_t* offsets, const CFI_cdesc_t* operands, CFI_cdesc_t* before);
int lapwing_fortran_window_start_fetch_list(lapwing_window* window, int operation, int rank, int64_t count,
                                            const int64_t* offsets, const CFI_cdesc_t* operands, CFI_cdesc_t* before,
                                            lapwing_completion** completion);
int lapwing_fortran_window_compare_swap_list(lapwing_window* window, int rank, int64_t count, const int64_t* offsets,
                                             const CFI_cdesc_t* expected, const CFI_cdesc_t* desired,
                                             CFI_cdesc_t* before);
int lapwing_fortran_window_start_compare_swap_list(lapwing_window* window, int rank, int64_t count,
                                                   const int64_t* offsets, const CFI_cdesc_t* expected,
                                                   const CFI_cdesc_t* desired, CFI_cdesc_t* before,
                                                   lapwing_completion** completion);
int lapwing_fortran_window_put_notify(lapwing_window* window, int rank, int64_t offset, const CFI_cdesc_t* buffer,
                                      int counter);
int lapwing_fortran_window_put_notify_layout(lapwing_window* window, int rank, int64_t offset,
                                             const lapwing_layout* there, const CFI_cdesc_t* buffer,
                                             const lapwing_layout* here, int counter);

/// The functions of a program's own distribution: dimensions are in the order of Fortran, and indices count from 1. All
/// but `context` is copied.
typedef struct lapwing_distribution_procedures {
    /// Where the element of an index is: its owner, or -1; its place in the owner's part, from 0; and how many elements
    /// lie one after another there as the first index grows.
    void (*locate)(void* context, int dimensions, int ranks, const int64_t* extents, const int64_t* index, int* owner,
                   int64_t* offset, int64_t* contiguous);
    int64_t (*capacity)(void* context, int dimensions, int ranks, const int64_t* extents);
    int64_t (*domain_count)(void* context, int dimensions, int ranks, const int64_t* extents, int rank);
    /// The k-th domain, from 0 on.
    void (*domain)(void* context, int dimensions, int ranks, const int64_t* extents, int rank, int64_t k,
                   int64_t* lower, int64_t* upper, int64_t* stride);
    void* context;
    int replicated;
} lapwing_distribution_procedures;
/// With `space_lower` and `space_upper` the distribution is that of the space between them, of which the array is part;
/// with `ranks` it is over those.
int lapwing_fortran_array_create(lapwing_runtime* runtime, lapwing_type type, int64_t dimensions,
                                 const int64_t* extents, const int64_t* lower, int64_t lower_count, int distribution,
                                 const int64_t* grid, int64_t grid_count, const int64_t* block, int64_t block_count,
                                 int64_t halo, void* name, const lapwing_cache_options* cache, const int64_t* stride,
                                 int64_t stride_count, const int64_t* space_lower, int64_t space_lower_count,
                                 const int64_t* space_upper, int64_t space_upper_count, const int64_t* ranks,
                                 int64_t rank_count, lapwing_array** array);
int lapwing_fortran_array_create_own(lapwing_runtime* runtime, lapwing_type type, int64_t dimensions,
                                     const int64_t* extents, const int64_t* lower, int64_t lower_count,
                                     const lapwing_distribution_procedures* functions, void* name,
                                     const lapwing_cache_options* cache, const int64_t* stride, int64_t stride_count,
                                     const int64_t* space_lower, int64_t space_lower_count, const int64_t* space_upper,
                                     int64_t space_upper_count, const int64_t* ranks, int64_t rank_count,
                                     lapwing_array** array);
int lapwing_fortran_array_redistribute(lapwing_array* array, int distribution, const int64_t* grid, int64_t grid_count,
                                       const int64_t* block, int64_t block_count, const int64_t* ranks,
                                       int64_t rank_count);
int lapwing_fortran_array_redistribute_own(lapwing_array* array, const lapwing_distribution_procedures* functions,
                                           const int64_t* ranks, int64_t rank_count);
/// As lapwing_array_prefetch(): `periodic` in the order of Fortran; or one domain, ranges in the order of C.
int lapwing_fortran_array_prefetch_pattern(lapwing_array* array, int pattern, int depth, int corners,
                                           const int* periodic, int64_t count, int consistent, int static_domain,
                                           int storage);
int lapwing_fortran_array_prefetch_patch(lapwing_array* array, const lapwing_range* ranges, int consistent,
                                         int static_domain, int storage);
/// Names, by lapwing_needed_add(), what the rank reads because it owns the indices from `lower` to `upper`, of which
/// there are none where `upper` is below `lower`. In the order of Fortran. Returns 0, or a number that ends the call.
typedef int (*lapwing_needed_function)(void* context, int dimensions, const int64_t* lower, const int64_t* upper,
                                       const int64_t* stride, void* needed);
int lapwing_fortran_array_prefetch_function(lapwing_array* array, lapwing_needed_function function, void* context,
                                            int consistent, int static_domain, int storage);
int lapwing_fortran_needed_add(void* needed, int64_t dimensions, const int64_t* lower, int64_t upper_count,
                               const int64_t* upper, int64_t stride_count, const int64_t* strides);
int lapwing_fortran_array_redistribute_ordered(lapwing_array* array, int distribution, const int64_t* grid,
                                               int64_t grid_count, const int64_t* block, int64_t block_count,
                                               const int64_t* ranks, int64_t rank_count, lapwing_relabelling* order);
int lapwing_fortran_relabelling_create(lapwing_array* array, int distribution, const int64_t* grid, int64_t grid_count,
                                       const int64_t* block, int64_t block_count, const int64_t* ranks,
                                       int64_t rank_count, lapwing_relabelling** relabelling);
int lapwing_fortran_relabelling_query(const lapwing_relabelling* relabelling, int* number, int* changes,
                                      int64_t* bytes_moved, int64_t* bytes_moved_unordered, int64_t* bytes);
int lapwing_fortran_prefetch_create(lapwing_window* window, int consistent, lapwing_prefetch** prefetch);
/// `slice` is the number of a request.
int lapwing_fortran_prefetch_access(lapwing_prefetch* prefetch, int64_t slice, CFI_cdesc_t* buffer);
/// The k-th value, from 1 on.
int lapwing_fortran_prefetch_read(lapwing_prefetch* prefetch, int64_t slice, int64_t k, CFI_cdesc_t* value);
/// In the order of Fortran; 8 numbers are written.
int lapwing_fortran_array_extents(const lapwing_array* array, int64_t* extents, int64_t* count);
int lapwing_fortran_array_lower(const lapwing_array* array, int64_t* lower, int64_t* count);
int lapwing_fortran_array_upper(const lapwing_array* array, int64_t* upper, int64_t* count);
int lapwing_fortran_array_stride(const lapwing_array* array, int64_t* strides, int64_t* count);
int lapwing_fortran_array_dimensions(const lapwing_array* array, int* dimensions);
int lapwing_fortran_array_type(const lapwing_array* array, int64_t* type);
int lapwing_fortran_array_halo_depth(const lapwing_array* array, int64_t* depth);
/// In the order of C, as the indices of lists are.
int lapwing_fortran_array_domain(const lapwing_array* array, int rank, int64_t k, int64_t* lower, int64_t* upper,
                                 int64_t* strides);
/// The own part for a Fortran pointer to elements of `type` in `rank` dimensions: where it begins, its extents, what it
/// lies in, and its first index, in the order of Fortran. Without indices that follow each other the first one is 1.
int lapwing_fortran_array_local(const lapwing_array* array, lapwing_type type, int rank, void** memory,
                                int64_t* extents, int64_t* allocated, int64_t* lower);
/// The local block and the copies around it, in the same way.
int lapwing_fortran_array_halo_view(const lapwing_array* array, lapwing_type type, int rank, void** memory,
                                    int64_t* extents, int64_t* allocated, int64_t* lower);
int lapwing_fortran_array_get_element(lapwing_array* array, const int64_t* index, CFI_cdesc_t* value);
int lapwing_fortran_array_put_element(lapwing_array* array, const int64_t* index, const CFI_cdesc_t* value);
int lapwing_fortran_array_get(lapwing_array* array, const lapwing_range* ranges, CFI_cdesc_t* buffer);
int lapwing_fortran_array_put(lapwing_array* array, const lapwing_range* ranges, const CFI_cdesc_t* buffer);
int lapwing_fortran_array_start_get(lapwing_array* array, const lapwing_range* ranges, CFI_cdesc_t* buffer,
                                    lapwing_completion** completion);
int lapwing_fortran_array_start_put(lapwing_array* array, const lapwing_range* ranges, const CFI_cdesc_t* buffer,
                                    lapwing_completion** completion);
int lapwing_fortran_array_gather(lapwing_array* array, int64_t count, const int64_t* indices, CFI_cdesc_t* values);
int lapwing_fortran_array_scatter(lapwing_array* array, int64_t count, const int64_t* indices,
                                  const CFI_cdesc_t* values);
int lapwing_fortran_array_start_gather(lapwing_array* array, int64_t count, const int64_t* indices, CFI_cdesc_t* values,
                                       lapwing_completion** completion);
int lapwing_fortran_array_start_scatter(lapwing_array* array, int64_t count, const int64_t* indices,
                                        const CFI_cdesc_t* values, lapwing_completion** completion);
int lapwing_fortran_array_fetch(lapwing_array* array, int operation, const int64_t* index, const CFI_cdesc_t* operand,
                                CFI_cdesc_t* before, int order);
int lapwing_fortran_array_compare_swap(lapwing_array* array, const int64_t* index, const CFI_cdesc_t* expected,
                                       const CFI_cdesc_t* desired, CFI_cdesc_t* before, int order);
int lapwing_fortran_array_update(lapwing_array* array, int operation, const int64_t* index, const CFI_cdesc_t* operand);
int lapwing_fortran_array_fetch_list(lapwing_array* array, int operation, int64_t count, const int64_t* indices,
                                     const CFI_cdesc_t* operands, CFI_cdesc_t* before);
int lapwing_fortran_array_compare_swap_list(lapwing_array* array, int64_t count, const int64_t* indices,
                                            const CFI_cdesc_t* expected, const CFI_cdesc_t* desired,
                                            CFI_cdesc_t* before);
int lapwing_fortran_array_start_fetch_list(lapwing_array* array, int operation, int64_t count, const int64_t* indices,
                                           const CFI_cdesc_t* operands, CFI_cdesc_t* before,
                                           lapwing_completion** completion);
int lapwing_fortran_array_start_compare_swap_list(lapwing_array* array, int64_t count, const int64_t* indices,
                                                  const CFI_cdesc_t* expected, const CFI_cdesc_t* desired,
                                                  CFI_cdesc_t* before, lapwing_completion** completion);
int lapwing_fortran_array_fill(lapwing_array* array, const CFI_cdesc_t* value);
int lapwing_fortran_array_sum(lapwing_array* array, CFI_cdesc_t* sum);
int lapwing_fortran_array_min(lapwing_array* array, CFI_cdesc_t* value, int64_t* index);
int lapwing_fortran_array_max(lapwing_array* array, CFI_cdesc_t* value, int64_t* index);
int lapwing_fortran_array_reduce(lapwing_array* array, CFI_cdesc_t* value, lapwing_accumulate_function accumulate,
                                 lapwing_combine_function combine, void* context);
/// `dimension` counts as in Fortran.
int lapwing_fortran_array_sum_along(lapwing_array* array, int dimension, const lapwing_slice* target);
int lapwing_fortran_array_min_along(lapwing_array* array, int dimension, const lapwing_slice* target);
int lapwing_fortran_array_max_along(lapwing_array* array, int dimension, const lapwing_slice* target);
int lapwing_fortran_array_reduce_along(lapwing_array* array, int dimension, const lapwing_slice* target,
                                       const CFI_cdesc_t* identity, lapwing_accumulate_function accumulate,
                                       lapwing_combine_function combine, void* context);
int lapwing_fortran_reduction_create(lapwing_array* array, int dimension, const lapwing_slice* target, int operation,
                                     lapwing_reduction** reduction);
int lapwing_fortran_checkpoint_extents(lapwing_runtime* runtime, void* path, lapwing_type type, int64_t dimensions,
                                       int64_t* extents);

int lapwing_fortran_slice_permute(const lapwing_slice* slice, const int64_t* order, int64_t count,
                                  lapwing_slice** permuted);
int lapwing_fortran_slice_extents(const lapwing_slice* slice, int64_t* extents, int64_t* count);
int lapwing_fortran_slice_dimensions(const lapwing_slice* slice, int* dimensions);
int lapwing_fortran_slice_get(const lapwing_slice* slice, lapwing_type type, CFI_cdesc_t* buffer);
int lapwing_fortran_slice_put(const lapwing_slice* slice, lapwing_type type, const CFI_cdesc_t* buffer);
int lapwing_fortran_slice_start_get(const lapwing_slice* slice, lapwing_type type, CFI_cdesc_t* buffer,
                                    lapwing_completion** completion);
int lapwing_fortran_slice_start_put(const lapwing_slice* slice, lapwing_type type, const CFI_cdesc_t* buffer,
                                    lapwing_completion** completion);
int lapwing_fortran_slice_fill(const lapwing_slice* slice, lapwing_type type, const CFI_cdesc_t* value);
int lapwing_fortran_assignment_add_fill(lapwing_assignment* assignment, const lapwing_slice* target, lapwing_type type,
                                        const CFI_cdesc_t* value);

int lapwing_fortran_halo_create(lapwing_array* array, int64_t depth, const int* periodic, int64_t count,
                                lapwing_halo** halo);
/// As lapwing_fortran_array_local(); the halo has `dimensions` dimensions and elements of `own_type`.
int lapwing_fortran_halo_local(const lapwing_halo* halo, int dimensions, lapwing_type own_type, lapwing_type type,
                               int rank, void** memory, int64_t* extents, int64_t* allocated, int64_t* lower);
/// As lapwing_mapped_create(): `periodic` in the order of Fortran; or what a procedure names, which is asked at once.
int lapwing_fortran_mapped_create(const lapwing_array* array, int pattern, int depth, int corners, const int* periodic,
                                  int64_t count, lapwing_mapped** mapped);
int lapwing_fortran_mapped_create_function(const lapwing_array* array, lapwing_needed_function function, void* context,
                                           lapwing_mapped** mapped);
/// As lapwing_fortran_halo_local(), of the whole array.
int lapwing_fortran_mapped_view(const lapwing_mapped* mapped, int dimensions, lapwing_type own_type, lapwing_type type,
                                int rank, void** memory, int64_t* extents, int64_t* allocated, int64_t* lower);
/// A rank's part of a window as elements of `type`; null and 0 where it cannot be loaded.
int lapwing_fortran_window_memory(const lapwing_window* window, int rank, lapwing_type type, void** memory,
                                  int64_t* count);

int lapwing_fortran_plan_execute(lapwing_plan* plan, CFI_cdesc_t* buffer);
int lapwing_fortran_plan_execute_put(lapwing_plan* plan, const CFI_cdesc_t* buffer);
int lapwing_fortran_plan_execute_notify(lapwing_plan* plan, const CFI_cdesc_t* buffer, int counter);
int lapwing_fortran_plan_start(lapwing_plan* plan, CFI_cdesc_t* buffer, lapwing_completion** completion);
int lapwing_fortran_plan_produce(lapwing_plan* plan, const CFI_cdesc_t* buffer, lapwing_production** production);
int lapwing_fortran_recording_put(lapwing_recording* recording, int rank, int64_t offset, const CFI_cdesc_t* buffer);

#ifdef __cplusplus
}
#endif

#endif
