/* Arguments that are wrong, of the functions that the other tests call with right ones. */
#include "job.h"

#include <stdint.h>

#define NULL_HANDLE(call) FAILS(LAPWING_ERR_USAGE, "is a null pointer", call)
#define NULL_ARGUMENT(name, call) FAILS(LAPWING_ERR_USAGE, "'" name "' is a null pointer", call)

static void atomics_of_arrays(lapwing_array* a) {
    const int64_t inside = 3, outside = 16;
    int64_t one = 1, before[2] = {-5, -5};
    const int64_t list[2] = {1, 16}, good[2] = {1, 2};
    lapwing_completion* completion = NULL;
    FAILS(LAPWING_ERR_RANGE, "index 16", lapwing_array_compare_swap(a, &outside, &one, &one, before, 0));
    FAILS(LAPWING_ERR_RANGE, "'order' is 5", lapwing_array_compare_swap(a, &inside, &one, &one, before, 5));
    NULL_ARGUMENT("expected", lapwing_array_compare_swap(a, &inside, NULL, &one, before, 0));
    NULL_ARGUMENT("desired", lapwing_array_compare_swap(a, &inside, &one, NULL, before, 0));
    FAILS(LAPWING_ERR_RANGE, "'operation' is 6", lapwing_array_update(a, LAPWING_REPLACE, &inside, &one));
    FAILS(LAPWING_ERR_RANGE, "index 16", lapwing_array_update(a, LAPWING_ADD, &outside, &one));
    NULL_ARGUMENT("operand", lapwing_array_update(a, LAPWING_ADD, &inside, NULL));
    FAILS(LAPWING_ERR_RANGE, "index 16", lapwing_array_compare_swap_list(a, 2, list, &one, 1, &one, 1, before));
    NULL_ARGUMENT("desired", lapwing_array_compare_swap_list(a, 2, good, &one, 1, NULL, 1, before));
    NULL_ARGUMENT("expected", lapwing_array_compare_swap_list(a, 2, good, NULL, 1, &one, 1, before));
    NULL_ARGUMENT("indices", lapwing_array_compare_swap_list(a, 2, NULL, &one, 1, &one, 1, before));
    FAILS(LAPWING_ERR_RANGE, "index 16",
          lapwing_array_start_fetch_list(a, LAPWING_ADD, 2, list, &one, 1, before, &completion));
    FAILS(LAPWING_ERR_RANGE, "'operation' is 8",
          lapwing_array_start_fetch_list(a, 8, 2, good, &one, 1, before, &completion));
    NULL_ARGUMENT("completion", lapwing_array_start_fetch_list(a, LAPWING_ADD, 2, good, &one, 1, before, NULL));
    NULL_ARGUMENT("operands", lapwing_array_start_fetch_list(a, LAPWING_ADD, 2, good, NULL, 0, before, &completion));
    FAILS(LAPWING_ERR_RANGE, "index 16",
          lapwing_array_start_compare_swap_list(a, 2, list, &one, 1, &one, 1, before, &completion));
    NULL_ARGUMENT("completion", lapwing_array_start_compare_swap_list(a, 2, good, &one, 1, &one, 1, before, NULL));
    CHECK(before[0] == -5 && before[1] == -5 && completion == NULL);
}

static void elements(lapwing_array* a) {
    const int64_t inside = 3, outside = 16;
    const lapwing_range some = {0, 4, 1}, beyond = {14, 4, 1};
    int64_t values[4] = {0, 0, 0, 0};
    int number = 0;
    uint64_t count = 0;
    lapwing_window* window = NULL;
    lapwing_completion* completion = NULL;
    NULL_ARGUMENT("completion", lapwing_array_start_gather(a, 1, &inside, values, NULL));
    FAILS(LAPWING_ERR_RANGE, "index 16", lapwing_array_start_gather(a, 1, &outside, values, &completion));
    NULL_ARGUMENT("completion", lapwing_array_start_scatter(a, 1, &inside, values, NULL));
    NULL_ARGUMENT("values", lapwing_array_start_scatter(a, 1, &inside, NULL, &completion));
    NULL_ARGUMENT("completion", lapwing_array_start_put(a, &some, values, NULL, NULL));
    FAILS(LAPWING_ERR_RANGE, "[14, 18)", lapwing_array_start_put(a, &beyond, values, NULL, &completion));
    FAILS(LAPWING_ERR_RANGE, "index 16", lapwing_array_prefetch_element(a, &outside));
    FAILS(LAPWING_ERR_RANGE, "index 16", lapwing_array_is_local(a, &outside, &number));
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_array_domain_count(a, -1, &count));
    NULL_ARGUMENT("count", lapwing_array_domain_count(a, 0, NULL));
    NULL_ARGUMENT("window", lapwing_array_window(a, NULL));
    NULL_HANDLE(lapwing_array_window(NULL, &window));
    NULL_ARGUMENT("elements", lapwing_array_size(a, NULL));
    NULL_ARGUMENT("text", lapwing_array_name(a, NULL));
    NULL_ARGUMENT("depth", lapwing_array_halo(a, NULL));
    NULL_ARGUMENT("statistics", lapwing_array_statistics(a, NULL));
    NULL_ARGUMENT("statistics", lapwing_array_total_statistics(a, NULL));
}

static void collectives(lapwing_array* a) {
    const int64_t length = 16;
    double value = 0;
    lapwing_array* bytes = NULL;
    lapwing_distribution distribution;
    lapwing_relabelling* order = NULL;
    memset(&distribution, 0, sizeof distribution);
    OK(lapwing_array_create(runtime, LAPWING_BYTES(8), 1, &length, NULL, NULL, &bytes));
    FAILS(LAPWING_ERR_USAGE, "8 bytes", lapwing_array_min(bytes, &value, NULL));
    FAILS(LAPWING_ERR_USAGE, "8 bytes", lapwing_array_max(bytes, &value, NULL));
    NULL_ARGUMENT("value", lapwing_array_min(a, NULL, NULL));
    NULL_ARGUMENT("value", lapwing_array_max(a, NULL, NULL));
    distribution.kind = 8;
    FAILS(LAPWING_ERR_RANGE, "'distribution.kind' is 8", lapwing_array_redistribute(a, &distribution));
    distribution.kind = LAPWING_BLOCK_CYCLIC;
    NULL_ARGUMENT("distribution.block", lapwing_array_redistribute(a, &distribution));
    NULL_HANDLE(lapwing_array_redistribute_ordered(a, NULL, order));
    NULL_HANDLE(lapwing_relabelling_runtime(order, NULL));
    OK(lapwing_array_free(&bytes));
}

static void slices(lapwing_array* a) {
    lapwing_slice* all = NULL;
    lapwing_assignment* assignment = NULL;
    lapwing_completion* completion = NULL;
    uint64_t number = 0;
    const char* text = NULL;
    int64_t values[16];
    memset(values, 0, sizeof values);
    OK(lapwing_slice_create(a, NULL, &all));
    NULL_ARGUMENT("buffer", lapwing_slice_put(all, NULL, NULL));
    NULL_HANDLE(lapwing_slice_put(NULL, values, NULL));
    NULL_ARGUMENT("completion", lapwing_slice_start_put(all, values, NULL, NULL));
    NULL_ARGUMENT("buffer", lapwing_slice_start_put(all, NULL, NULL, &completion));
    NULL_ARGUMENT("path", lapwing_slice_save(all, NULL, NULL, NULL));
    FAILS(LAPWING_ERR_FILE, "no-such-directory", lapwing_slice_save(all, "/no-such-directory/file", NULL, NULL));
    NULL_ARGUMENT("path", lapwing_slice_load(all, NULL, NULL, NULL));
    FAILS(LAPWING_ERR_FILE, "no-such-file", lapwing_slice_load(all, "/no-such-file", NULL, NULL));
    NULL_HANDLE(lapwing_slice_shape(NULL, NULL, NULL));
    NULL_ARGUMENT("assignment", lapwing_assignment_create(NULL));
    OK(lapwing_assignment_create(&assignment));
    NULL_ARGUMENT("apply", lapwing_assignment_add_apply(assignment, all, all, NULL, NULL));
    NULL_ARGUMENT("value", lapwing_assignment_add_fill(assignment, all, NULL));
    NULL_HANDLE(lapwing_assignment_transfers(NULL, &number, &number));
    NULL_ARGUMENT("text", lapwing_assignment_explain(assignment, NULL));
    NULL_HANDLE(lapwing_assignment_explain(NULL, &text));
    OK(lapwing_assignment_free(&assignment));
    NULL_ARGUMENT("slice", lapwing_slice_free(NULL));
    OK(lapwing_slice_free(&all));
}

static void windows(lapwing_window* window) {
    lapwing_layout* dense = NULL;
    lapwing_completion* completion = NULL;
    const uint64_t good = 0, beyond = 60, odd = 4;
    int64_t values[2] = {0, 0}, before = -5;
    OK(lapwing_layout_create_contiguous(16, 0, &dense));
    FAILS(LAPWING_ERR_RANGE, "counter", lapwing_window_put_notify_layout(window, rank, 0, dense, values, dense, 5000));
    FAILS(LAPWING_ERR_RANGE, "64", lapwing_window_put_notify_layout(window, rank, 60, dense, values, dense, 0));
    NULL_ARGUMENT("base", lapwing_window_put_notify_layout(window, rank, 0, dense, NULL, dense, 0));
    FAILS(LAPWING_ERR_RANGE, "64",
          lapwing_window_start_get_layout(window, rank, 60, dense, values, dense, &completion));
    NULL_ARGUMENT("completion", lapwing_window_start_get_layout(window, rank, 0, dense, values, dense, NULL));
    FAILS(LAPWING_ERR_RANGE, "64",
          lapwing_window_start_put_layout(window, rank, 60, dense, values, dense, &completion));
    NULL_ARGUMENT("completion", lapwing_window_start_put_layout(window, rank, 0, dense, values, dense, NULL));
    FAILS(LAPWING_ERR_USAGE, "MPI_DATATYPE_NULL",
          lapwing_window_start_get_mpi(window, values, 1, MPI_DATATYPE_NULL, rank, 0, 1, MPI_DOUBLE, &completion));
    NULL_ARGUMENT("completion",
                  lapwing_window_start_get_mpi(window, values, 1, MPI_DOUBLE, rank, 0, 1, MPI_DOUBLE, NULL));
    FAILS(LAPWING_ERR_RANGE, "-1",
          lapwing_window_start_put_mpi(window, values, -1, MPI_DOUBLE, rank, 0, 1, MPI_DOUBLE, &completion));
    NULL_ARGUMENT("completion",
                  lapwing_window_start_put_mpi(window, values, 1, MPI_DOUBLE, rank, 0, 1, MPI_DOUBLE, NULL));
    FAILS(LAPWING_ERR_RANGE, "64",
          lapwing_window_start_fetch_list(window, LAPWING_ADD, LAPWING_INT64, rank, 1, &beyond, values, 1, &before,
                                          &completion));
    FAILS(LAPWING_ERR_RANGE, "multiple",
          lapwing_window_start_fetch_list(window, LAPWING_ADD, LAPWING_INT64, rank, 1, &odd, values, 1, &before,
                                          &completion));
    NULL_ARGUMENT("offsets", lapwing_window_start_fetch_list(window, LAPWING_ADD, LAPWING_INT64, rank, 1, NULL, values,
                                                             1, &before, &completion));
    FAILS(LAPWING_ERR_RANGE, "rank",
          lapwing_window_start_compare_swap_list(window, LAPWING_INT64, size, 1, &good, values, 1, values, 1, &before,
                                                 &completion));
    NULL_ARGUMENT("expected", lapwing_window_start_compare_swap_list(window, LAPWING_INT64, rank, 1, &good, NULL, 1,
                                                                     values, 1, &before, &completion));
    NULL_ARGUMENT("desired", lapwing_window_start_compare_swap_list(window, LAPWING_INT64, rank, 1, &good, values, 1,
                                                                    NULL, 1, &before, &completion));
    CHECK(before == -5 && completion == NULL);
    OK(lapwing_layout_free(&dense));
}

static void about_windows(lapwing_window* window) {
    int number = 0;
    void* memory = NULL;
    const char* text = NULL;
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_window_memory(window, size, &memory, NULL));
    NULL_HANDLE(lapwing_window_local(NULL, &memory, NULL));
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_window_path(window, -1, &number));
    NULL_ARGUMENT("text", lapwing_window_name(window, NULL));
    NULL_HANDLE(lapwing_window_name(NULL, &text));
    NULL_ARGUMENT("statistics", lapwing_window_statistics(window, NULL));
    NULL_ARGUMENT("statistics", lapwing_window_total_statistics(window, NULL));
    NULL_HANDLE(lapwing_window_release(NULL));
    NULL_HANDLE(lapwing_window_acquire(NULL));
    NULL_HANDLE(lapwing_window_fence(NULL));
    NULL_HANDLE(lapwing_window_invalidate_cache(NULL));
    NULL_ARGUMENT("window", lapwing_window_leave(NULL));
}

static void layouts(void) {
    lapwing_layout *dense = NULL, *made = NULL;
    const lapwing_level levels[1] = {{UINT64_MAX, 8}};
    const int64_t offsets[1] = {0};
    const lapwing_layout* parts[2] = {NULL, NULL};
    MPI_Datatype type;
    const char* text = NULL;
    int flag = 0;
    OK(lapwing_layout_create_contiguous(16, 0, &dense));
    FAILS(LAPWING_ERR_RANGE, "2^63 - 1", lapwing_layout_create_strided(UINT64_MAX, 8, 16, 0, &made));
    FAILS(LAPWING_ERR_RANGE, "2^63 - 1", lapwing_layout_create_nested(1, levels, 8, 0, &made));
    NULL_ARGUMENT("level", lapwing_layout_create_nested(1, NULL, 8, 0, &made));
    FAILS(LAPWING_ERR_RANGE, "2^63 - 1", lapwing_layout_create_indexed(1, offsets, UINT64_MAX, &made));
    NULL_ARGUMENT("offsets", lapwing_layout_create_indexed(1, NULL, 8, &made));
    NULL_HANDLE(lapwing_layout_create_concatenated(2, parts, &made));
    NULL_ARGUMENT("parts", lapwing_layout_create_concatenated(2, NULL, &made));
    FAILS(LAPWING_ERR_RANGE, "64 bits", lapwing_layout_shift(dense, INT64_MAX, &made));
    FAILS(LAPWING_ERR_RANGE, "2^63 - 1", lapwing_layout_repeat(dense, UINT64_MAX, 16, &made));
    NULL_ARGUMENT("offsets", lapwing_layout_repeat_at(dense, 1, NULL, &made));
    NULL_ARGUMENT("part", lapwing_layout_intersect(dense, 0, 8, NULL));
    NULL_ARGUMENT("shifted", lapwing_layout_shift(dense, 8, NULL));
    NULL_ARGUMENT("repeated", lapwing_layout_repeat(dense, 2, 16, NULL));
    NULL_ARGUMENT("slice", lapwing_layout_slice(dense, 0, 8, NULL));
    NULL_ARGUMENT("type", lapwing_layout_to_mpi(dense, NULL));
    NULL_HANDLE(lapwing_layout_to_mpi(NULL, &type));
    NULL_HANDLE(lapwing_layout_equal(dense, NULL, &flag));
    NULL_ARGUMENT("overlaps", lapwing_layout_overlaps(dense, NULL));
    NULL_HANDLE(lapwing_layout_text(NULL, &text));
    CHECK(made == NULL);
    OK(lapwing_layout_free(&dense));
}

static void plans(lapwing_window* window) {
    lapwing_layout* dense = NULL;
    lapwing_plan* plan = NULL;
    lapwing_recording* recording = NULL;
    lapwing_completion* completion = NULL;
    uint64_t number = 0;
    int64_t values[2] = {0, 0};
    OK(lapwing_layout_create_contiguous(16, 0, &dense));
    FAILS(LAPWING_ERR_RANGE, "64", lapwing_plan_create_get(window, rank, 60, dense, dense, NULL, &plan));
    OK(lapwing_plan_create_put(window, rank, 0, dense, dense, NULL, &plan));
    NULL_ARGUMENT("memory", lapwing_plan_start(plan, NULL, &completion));
    NULL_ARGUMENT("completion", lapwing_plan_start(plan, values, NULL));
    FAILS(LAPWING_ERR_RANGE, "counter", lapwing_plan_execute_notify(plan, values, 5000));
    NULL_ARGUMENT("memory", lapwing_plan_execute_notify(plan, NULL, 0));
    NULL_ARGUMENT("text", lapwing_plan_explain(plan, NULL));
    NULL_HANDLE(lapwing_plan_query(NULL, NULL, NULL, NULL));
    NULL_ARGUMENT("recording", lapwing_recording_create(window, NULL));
    OK(lapwing_recording_create(window, &recording));
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_recording_blocks(recording, size, &number));
    NULL_ARGUMENT("blocks", lapwing_recording_blocks(recording, rank, NULL));
    NULL_HANDLE(lapwing_recording_query(NULL, &number, &number));
    OK(lapwing_recording_free(&recording));
    OK(lapwing_plan_free(&plan));
    OK(lapwing_layout_free(&dense));
}

static void prefetches(lapwing_array* a, lapwing_window* window) {
    lapwing_completion* completion = NULL;
    lapwing_prefetch* prefetch = NULL;
    uint64_t bytes = 0;
    NULL_ARGUMENT("completion", lapwing_array_start_update_copies(a, NULL));
    FAILS(LAPWING_ERR_USAGE, "prefetch", lapwing_array_start_update_copies(a, &completion));
    NULL_ARGUMENT("prefetch", lapwing_prefetch_create(window, NULL, NULL));
    NULL_HANDLE(lapwing_prefetch_create(NULL, NULL, &prefetch));
    NULL_HANDLE(lapwing_prefetch_start_update(NULL, &completion));
    NULL_HANDLE(lapwing_prefetch_evict(NULL));
    NULL_HANDLE(lapwing_prefetch_memory(NULL, &bytes));
}

static void runtimes(void) {
    lapwing_settings* settings = NULL;
    lapwing_lock* lock = NULL;
    const char* text = NULL;
    int64_t value = 0;
    int number = 0;
    FAILS(LAPWING_ERR_USAGE, "8 bytes", lapwing_runtime_min(runtime, LAPWING_BYTES(8), &value, 1));
    NULL_ARGUMENT("values", lapwing_runtime_min(runtime, LAPWING_INT64, NULL, 1));
    NULL_HANDLE(lapwing_runtime_release(NULL));
    NULL_HANDLE(lapwing_runtime_acquire(NULL));
    NULL_HANDLE(lapwing_runtime_fence(NULL));
    NULL_HANDLE(lapwing_runtime_progress(NULL, NULL));
    NULL_ARGUMENT("mode", lapwing_runtime_progress_mode(runtime, NULL));
    NULL_ARGUMENT("path", lapwing_runtime_network_path(runtime, NULL));
    NULL_ARGUMENT("ranks", lapwing_runtime_node_size(runtime, NULL));
    NULL_ARGUMENT("nodes", lapwing_runtime_nodes(runtime, NULL));
    NULL_ARGUMENT("text", lapwing_runtime_who(runtime, NULL));
    NULL_ARGUMENT("statistics", lapwing_runtime_total_statistics(runtime, NULL));
    FAILS(LAPWING_ERR_USAGE, "notif", lapwing_runtime_wait_identity(runtime, 7));
    OK(lapwing_runtime_notify_identity(runtime, 7));
    FAILS(LAPWING_ERR_USAGE, "notif", lapwing_runtime_notify_identity(runtime, 7));
    OK(lapwing_runtime_wait_identity(runtime, 7));
    OK(lapwing_settings_create(&settings));
    FAILS(LAPWING_ERR_SETTING, "LAPWING_NONE", lapwing_settings_origin(settings, "LAPWING_NONE", &text));
    OK(lapwing_settings_free(&settings));
    OK(lapwing_lock_create(runtime, 0, &lock));
    NULL_ARGUMENT("locked", lapwing_lock_try(lock, NULL));
    NULL_HANDLE(lapwing_lock_try(NULL, &number));
    NULL_ARGUMENT("held", lapwing_lock_held(lock, NULL));
    NULL_ARGUMENT("lock", lapwing_lock_free(NULL));
    NULL_ARGUMENT("lock", lapwing_lock_leave(NULL));
    OK(lapwing_lock_free(&lock));
}

static void null_handles(void) {
    int64_t numbers[2] = {0, 0};
    void* memory = NULL;
    int number = 0;
    NULL_HANDLE(lapwing_array_acquire(NULL));
    NULL_HANDLE(lapwing_array_barrier(NULL));
    NULL_HANDLE(lapwing_array_fence(NULL));
    NULL_HANDLE(lapwing_array_flush_all(NULL));
    NULL_HANDLE(lapwing_array_release(NULL));
    NULL_HANDLE(lapwing_array_invalidate_cache(NULL));
    NULL_HANDLE(lapwing_array_shape(NULL, NULL, &number, numbers, numbers));
    NULL_HANDLE(lapwing_array_local(NULL, &memory, numbers, numbers));
    NULL_ARGUMENT("array", lapwing_array_free(NULL));
    NULL_ARGUMENT("array", lapwing_array_leave(NULL));
    NULL_ARGUMENT("halo", lapwing_halo_free(NULL));
    NULL_ARGUMENT("layout", lapwing_layout_free(NULL));
    NULL_ARGUMENT("plan", lapwing_plan_free(NULL));
    NULL_ARGUMENT("recording", lapwing_recording_free(NULL));
    NULL_ARGUMENT("assignment", lapwing_assignment_free(NULL));
    NULL_ARGUMENT("prefetch", lapwing_prefetch_free(NULL));
    NULL_ARGUMENT("completion", lapwing_completion_test(NULL, &number));
}

/* The bytes of so many values are few, modulo 2^64. */
static void wrapping_numbers(lapwing_array* a, lapwing_window* window) {
    const uint64_t wraps = UINT64_MAX / 8 + 2;
    const size_t count = (size_t)wraps;
    const int64_t indices[2] = {1, 2};
    const uint64_t offsets[2] = {0, 8};
    int64_t values[2] = {0, 0};
    lapwing_layout* made = NULL;
    lapwing_pattern pattern;
    memset(&pattern, 0, sizeof pattern);
    pattern.kind = LAPWING_PATTERN_DOMAINS;
    pattern.count = UINT64_MAX / sizeof(lapwing_range) + 1;
    pattern.domains = &(const lapwing_range){0, 1, 1};
    FAILS(LAPWING_ERR_RANGE, "'values' is of 2305843009213693953 values of 8 bytes",
          lapwing_runtime_sum(runtime, LAPWING_DOUBLE, values, wraps));
    FAILS(LAPWING_ERR_RANGE, "2305843009213693953 elements of 8 bytes",
          lapwing_runtime_all_reduce(runtime, values, wraps, MPI_DOUBLE, MPI_SUM));
    FAILS(LAPWING_ERR_RANGE, "2^56", lapwing_runtime_require_same(runtime, values, count, "the values"));
    FAILS(LAPWING_ERR_RANGE, "2^56", lapwing_array_gather(a, count, indices, values));
    FAILS(LAPWING_ERR_RANGE, "2^56", lapwing_array_fetch_list(a, LAPWING_ADD, count, indices, values, 1, NULL));
    FAILS(LAPWING_ERR_RANGE, "2^56",
          lapwing_window_fetch_list(window, LAPWING_ADD, LAPWING_INT64, rank, count, offsets, values, 1, NULL));
    FAILS(LAPWING_ERR_RANGE, "'pattern.domains'", lapwing_array_prefetch(a, &pattern, NULL));
    FAILS(LAPWING_ERR_RANGE, "'offsets'", lapwing_layout_create_indexed(count, indices, 8, &made));
    FAILS(LAPWING_ERR_RANGE, "'level'", lapwing_layout_create_nested(count, &(const lapwing_level){1, 1}, 8, 0, &made));
    CHECK(made == NULL && values[0] == 0);
}

int main(void) {
    const int64_t length = 16;
    lapwing_array* a = NULL;
    lapwing_window* window = NULL;
    start_job();
    OK(lapwing_array_create(runtime, LAPWING_INT64, 1, &length, NULL, NULL, &a));
    OK(lapwing_window_create(runtime, 64, NULL, &window));
    null_handles();
    runtimes();
    layouts();
    elements(a);
    atomics_of_arrays(a);
    collectives(a);
    wrapping_numbers(a, window);
    slices(a);
    windows(window);
    about_windows(window);
    plans(window);
    prefetches(a, window);
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_free(&window));
    OK(lapwing_array_free(&a));
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
