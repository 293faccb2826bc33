/* Calls of all functions of the C interface with arguments drawn at random: numbers at the ends of their ranges and
 * such that products of them wrap around, null pointers, objects that were freed, whose window or runtime was, or that
 * MPI_Finalize has outlived. Each call works, or returns an error code with a text; none touches memory that it was not
 * given, which the pages around it show, and AddressSanitizer for the library's own. A collective call to which one
 * rank passes a null pointer, and the others what is right, fails on all ranks or on none, and nobody waits.
 *
 * usage: c_fuzz_test open|closed|finalized|refused, in the environment TEST_SEED, TEST_STEPS, and TEST_SHOW=1 to see
 * each call
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "check.h"

#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Call {
    const char* name;
    int (*make)(void);
    int on_object;  /* has an argument that is an object, and returns a code */
    int collective; /* that, too */
    int refuses;    /* collective, with an argument that is a pointer, and no object */
} Call;

static int size = 0, finalized = 0, show = 0;
static uint64_t seed = 1, step = 0;
static const char* call_name = "the start";
static char directory[] = "/tmp/c_fuzz_test.XXXXXX", path[64];
static MPI_Win host_window;
static MPI_Datatype vector;

static void complain(const char* what) {
    fprintf(stderr, "rank %d: step %llu of TEST_SEED=%llu: %s: %s\n  code %s, last error: %s\n", check_rank,
            (unsigned long long)step, (unsigned long long)seed, call_name, what,
            lapwing_error_name(lapwing_error_code()), lapwing_error_text());
    fflush(NULL);
    if (!finalized) MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

/* ---- numbers: the same on all ranks, whatever a call does with others on one of them ---- */

static uint64_t state = 0;

/* SplitMix64, by Steele, Lea and Flood. */
static uint64_t next(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static uint64_t below(uint64_t limit) { return next() % limit; }
static int chance(uint64_t of) { return below(of) == 0; }
static void begin_step(void) { state = seed * 1000003u + ++step; }

/* Which of the pointers of a call one rank leaves out; none: -1. */
static int refused = -1, refusing_rank = 0, pointers = 0;
static int left_out(void) { return pointers++ == refused && check_rank == refusing_rank; }
static void meet(void);

/* Of so many bytes, or of elements of at least one, nobody has memory; times the size of an element some are small. */
static const uint64_t beyond[] = {UINT64_MAX,          UINT64_MAX / 2,     UINT64_MAX / 2 + 1, UINT64_MAX / 4 + 1,
                                  UINT64_MAX / 8,      UINT64_MAX / 8 + 1, UINT64_MAX / 8 + 2, UINT64_MAX / 16 + 1,
                                  UINT64_MAX / 24 + 1, UINT64_MAX - 7,     UINT64_MAX / 3,     UINT64_MAX / 3 + 1,
                                  (uint64_t)1 << 62,   (uint64_t)1 << 60,  (uint64_t)1 << 56};
static const uint64_t middle[] = {
    INT_MAX, (uint64_t)INT_MAX + 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, (uint64_t)1 << 33, 65536};
/* The call reads or writes more than there can be. */
static int impossible = 0;

#define ONE_OF(list) (list)[below(sizeof(list) / sizeof *(list))]
static uint64_t any_number(void) { return chance(2) ? below(9) : chance(3) ? ONE_OF(middle) : ONE_OF(beyond); }
static int any_int(void) {
    static const int ends[] = {-1, INT_MAX, INT_MIN, INT_MAX - 1, 4096, 1 << 30, -8};
    return chance(4) ? ONE_OF(ends) : (int)below(4);
}
static uint64_t memory_number(void) {
    if (!chance(3)) return below(9);
    impossible = 1;
    return ONE_OF(beyond);
}
static uint64_t room_number(void) { return chance(3) ? ONE_OF(beyond) : below(40); }
/* The count of a list of objects. */
static int list_length(void) { return chance(6) ? -1 : chance(8) ? INT_MIN : (int)below(8); }

/* ---- memory ---- */

enum { region_bytes = 65536, list_length_of_all = 8 };
/* Between pages that nobody may touch. */
static unsigned char *read_memory, *written_memory;

static unsigned char* guarded_memory(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char* all = mmap(NULL, region_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED && mprotect(all + page, region_bytes, PROT_READ | PROT_WRITE) == 0);
    return all + page;
}
/* What is read or written begins at the start, so that what precedes it is found. */
static void* some_memory(void) { return chance(24) ? NULL : read_memory; }
/* Results end at the end. */
static void* result_at_end(size_t bytes) { return chance(24) ? NULL : written_memory + region_bytes - bytes; }
static void* result_list(void) { return result_at_end(list_length_of_all * sizeof(lapwing_range)); }

static int64_t int64_lists[8][16];
static int int_lists[8][16];
static size_t next_list = 0;
static const int64_t* int64_t_list(void) {
    int64_t* const list = int64_lists[next_list++ % 8];
    const int wild = chance(3);
    size_t k;
    for (k = 0; k < 16; ++k) list[k] = wild && chance(3) ? (int64_t)any_number() : (int64_t)below(5);
    return chance(24) ? NULL : list;
}
static const uint64_t* uint64_t_list(void) {
    const int64_t* const list = int64_t_list();
    size_t k;
    if (list != NULL && chance(2))
        for (k = 0; k < 16; ++k) { /* aligned */
            int64_t* const value = &int64_lists[(next_list - 1) % 8][k];
            *value = (int64_t)((uint64_t)*value * 8);
        }
    return (const uint64_t*)(const void*)list;
}
static const int* int_list(void) {
    int* const list = int_lists[next_list++ % 8];
    const int wild = chance(3);
    size_t k;
    for (k = 0; k < 16; ++k) list[k] = wild ? any_int() : (int)below(3);
    return chance(8) ? NULL : list;
}
/* The product is small, more than there can be, or wraps around. */
static const int64_t* room_extents(void) {
    int64_t* const list = int64_lists[next_list++ % 8];
    const int wild = chance(3);
    size_t k;
    for (k = 0; k < 16; ++k) list[k] = (int64_t)(wild && chance(2) ? ONE_OF(beyond) : below(6));
    if (wild && chance(3)) list[0] = (int64_t)1 << 42, list[1] = (int64_t)1 << 22; /* their product is 2^64 */
    return chance(24) ? NULL : list;
}
/* Of a buffer: contiguous, or such that the bytes between neighbours do not fit into 64 bits. */
static const int64_t* buffer_strides(void) {
    int64_t* const list = int64_lists[next_list++ % 8];
    static const int64_t ends[] = {INT64_MAX, INT64_MIN, (int64_t)1 << 62, (int64_t)1 << 61, INT64_MIN + 1};
    size_t k;
    for (k = 0; k < 16; ++k) list[k] = ONE_OF(ends);
    return chance(6) ? list : NULL;
}

/* ---- what programs pass besides numbers ---- */

static const char* some_name(void) {
    static const char* const names[] = {NULL,
                                        "",
                                        "LAPWING_CACHE",
                                        "LAPWING_CHUNK_MEMORY",
                                        "LAPWING_SERVICE_PACKET",
                                        "LAPWING_NODE",
                                        "no such setting",
                                        "function"};
    return ONE_OF(names);
}
static const char* some_value(void) {
    static const char* const values[] = {NULL, "", "0", "1", "-1", "18446744073709551616", "epoch", "1e300", "each"};
    return ONE_OF(values);
}
static const char* some_text(void) { return chance(8) ? NULL : "this text"; }
static const char* some_what(void) { return chance(8) ? NULL : "the numbers"; }
static const char* some_path(void) { return chance(8) ? NULL : chance(3) ? "/no-such-directory/file" : path; }
static lapwing_type some_type(void) {
    static const lapwing_type types[] = {LAPWING_INT8,      LAPWING_INT32,   LAPWING_UINT64, LAPWING_FLOAT,
                                         LAPWING_DOUBLE,    LAPWING_DOUBLE,  LAPWING_INT64,  LAPWING_DOUBLE_COMPLEX,
                                         LAPWING_BYTES(24), LAPWING_BYTES(1)};
    static const lapwing_type wrong[] = {0,
                                         UINT64_MAX,
                                         LAPWING_BYTES(0),
                                         LAPWING_BYTES((uint64_t)1 << 31),
                                         LAPWING_TYPE_(9, 8),
                                         LAPWING_TYPE_(1, 3),
                                         LAPWING_BYTES((uint64_t)1 << 47)};
    return chance(6) ? ONE_OF(wrong) : ONE_OF(types);
}
static MPI_Datatype some_MPI_Datatype(void) {
    return chance(6) ? MPI_DATATYPE_NULL : chance(4) ? vector : chance(2) ? MPI_DOUBLE : MPI_INT;
}
static MPI_Op some_MPI_Op(void) {
    return chance(6) ? MPI_OP_NULL : chance(3) ? MPI_MAX : chance(6) ? MPI_MINLOC : MPI_SUM;
}
static MPI_Comm some_MPI_Comm(void) { return chance(4) && !finalized ? MPI_COMM_SELF : MPI_COMM_NULL; }
static MPI_Win some_MPI_Win(void) { return chance(3) && !finalized ? host_window : MPI_WIN_NULL; }
static MPI_Request* some_MPI_Request_pointer(void) {
    static MPI_Request request;
    request = MPI_REQUEST_NULL;
    return chance(4) ? NULL : &request;
}
static MPI_Status* some_MPI_Status_pointer(void) {
    static MPI_Status status;
    return chance(2) ? NULL : &status;
}
static MPI_Datatype made_type;
static MPI_Datatype* some_MPI_Datatype_pointer(void) { return chance(16) ? NULL : &made_type; }

static void no_accumulate(void* context, void* value, const int64_t* index, const void* element) {
    (void)context, (void)value, (void)index, (void)element;
}
static void no_combine(void* context, void* left, const void* right) { (void)context, (void)left, (void)right; }
static void no_apply(void* context, void* target, const void* source) { (void)context, (void)target, (void)source; }
static void no_compute(void* context, void* target, const void* const* sources) {
    (void)context, (void)target, (void)sources;
}
static int no_progress(void* context, uint64_t done, uint64_t all) { return (void)context, (void)done, (void)all, 0; }
static int no_hook(void* context) {
    (void)context;
    return 0;
}
static void no_handler(int code, const char* text, void* context) { (void)code, (void)text, (void)context; }
static int fill_zeros(void* context, uint64_t first, void* memory, uint64_t bytes) {
    return (void)context, (void)first, (void)memset(memory, 0, bytes), 0;
}
static lapwing_accumulate_function some_accumulate_function(void) { return chance(8) ? NULL : no_accumulate; }
static lapwing_combine_function some_combine_function(void) { return chance(8) ? NULL : no_combine; }
static lapwing_apply_function some_apply_function(void) { return chance(8) ? NULL : no_apply; }
static lapwing_compute_function some_compute_function(void) { return chance(8) ? NULL : no_compute; }
static lapwing_progress_function some_progress_function(void) { return chance(2) ? NULL : no_progress; }
static lapwing_error_handler some_error_handler(void) { return chance(2) ? NULL : no_handler; }
static lapwing_wait_hook some_wait_hook(void) { return chance(2) ? NULL : no_hook; }
/* Fails now and then; what posts of it have become a release says. */
static int owner_function(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result,
                          uint64_t* result_bytes) {
    uint64_t k;
    (void)context, (void)element;
    for (k = 0; k < argument_bytes && k < *result_bytes; ++k)
        ((unsigned char*)result)[k] = ((const unsigned char*)argument)[k];
    return argument_bytes % 7 == 3 ? lapwing_function_fail("three bytes") : 0;
}
static lapwing_owner_function some_owner_function(void) { return chance(8) ? NULL : owner_function; }
static lapwing_fill_function some_fill_function(void) { return chance(8) ? NULL : fill_zeros; }

/* ---- structures ---- */

static lapwing_range ranges_of(int wild) {
    lapwing_range range;
    range.first = wild && chance(3) ? (int64_t)any_number() : (int64_t)below(4);
    range.size = wild && chance(3) ? any_number() : below(4);
    range.stride = wild && chance(3) ? (int64_t)any_number() : 1 + (int64_t)below(2);
    return range;
}
static const lapwing_range* some_range(void) {
    static lapwing_range lists[4][16];
    static size_t next_of_lists = 0;
    lapwing_range* const list = lists[next_of_lists++ % 4];
    const int wild = chance(3);
    size_t k;
    for (k = 0; k < 16; ++k) list[k] = ranges_of(wild);
    return chance(24) ? NULL : list;
}
static const lapwing_part* some_part(void) {
    static lapwing_part list[16];
    const int wild = chance(3);
    size_t k;
    for (k = 0; k < 16; ++k) {
        const lapwing_range range = ranges_of(wild);
        list[k].kind = wild ? any_int() : (int)below(3);
        list[k].first = range.first;
        list[k].size = range.size;
        list[k].stride = range.stride;
    }
    return chance(8) ? NULL : list;
}
static const lapwing_level* some_level(void) {
    static lapwing_level list[16];
    size_t k;
    for (k = 0; k < 16; ++k) {
        list[k].count = any_number();
        list[k].stride = (int64_t)any_number();
    }
    return list;
}
static const lapwing_block* some_block(void) {
    static lapwing_block list[16];
    const int wild = chance(3);
    size_t k;
    for (k = 0; k < 16; ++k) {
        list[k].offset = wild ? (int64_t)any_number() : (int64_t)(16 * k);
        list[k].bytes = wild ? any_number() : below(17);
    }
    return list;
}
static lapwing_cache_options cache_options(void) {
    lapwing_cache_options options = lapwing_cache_options_default();
    if (!chance(4)) return options;
    options.mode = any_int();
    options.policy = any_int();
    options.bytes = (int64_t)room_number();
    options.page_bytes = (int64_t)any_number();
    options.dirty_pages = (int64_t)any_number();
    options.read_ahead_bytes = (int64_t)any_number();
    options.adapt = any_int();
    options.victim_pages = (int64_t)any_number();
    options.acquire = any_int();
    return options;
}
static const lapwing_window_options* some_window_options(void) {
    static lapwing_window_options options;
    options = lapwing_window_options_default();
    options.name = some_name();
    options.cache = cache_options();
    if (chance(3)) options.notification_counters = (unsigned)any_int();
    if (chance(3)) options.alignment = (unsigned)any_int();
    if (chance(3)) options.zeroed_bytes = any_number();
    return chance(3) ? NULL : &options;
}
static const lapwing_array_options* some_array_options(void) {
    static lapwing_array_options options;
    options = lapwing_array_options_default();
    options.name = some_name();
    options.cache = cache_options();
    if (chance(3)) options.lower = int64_t_list();
    if (chance(3)) options.stride = int64_t_list();
    if (chance(3)) options.halo = chance(2) ? (int64_t)ONE_OF(beyond) : (int64_t)below(3);
    return chance(3) ? NULL : &options;
}
static const lapwing_prefetch_options* some_prefetch_options(void) {
    static lapwing_prefetch_options options;
    options.consistent = any_int();
    options.static_domain = chance(6);
    options.storage = any_int();
    return chance(2) ? NULL : &options;
}
static const lapwing_plan_options* some_plan_options(void) {
    static lapwing_plan_options options;
    static const double growths[] = {0, 1, 2, 1e300, -1e300};
    options.strategy = any_int();
    options.first_chunk = any_number();
    options.growth = ONE_OF(growths);
    options.largest_chunk = any_number();
    return chance(2) ? NULL : &options;
}
static int need_some(void* context, const lapwing_range* own, lapwing_needed* needed) {
    (void)context, (void)own;
    return lapwing_needed_add(needed, some_range()) == LAPWING_SUCCESS || chance(2) ? 0 : 7;
}
static const lapwing_pattern* some_pattern(void) {
    static lapwing_pattern pattern;
    memset(&pattern, 0, sizeof pattern);
    pattern.kind = chance(6) ? any_int() : (int)below(7);
    pattern.depth = (int64_t)any_number();
    pattern.corners = (int)below(2);
    pattern.periodic = int_list();
    pattern.count = chance(3) ? ONE_OF(beyond) : below(3);
    pattern.domains = some_range();
    pattern.function = chance(8) ? NULL : need_some;
    return chance(24) ? NULL : &pattern;
}
static const lapwing_tool_callbacks* some_tool_callbacks(void) {
    static const lapwing_tool_callbacks none = {NULL, NULL, NULL, NULL};
    return chance(4) ? NULL : &none;
}
static lapwing_statistics* some_statistics(void) {
    static lapwing_statistics statistics;
    return chance(8) ? NULL : &statistics;
}

/* A distribution of the program's own: element i of rank i mod ranks; `context` is the capacity that it claims, or
 * null. */
static void locate(void* context, const lapwing_shape* shape, const int64_t* index, lapwing_place* place) {
    int64_t position = 0;
    int d;
    (void)context;
    for (d = 0; d < shape->dimensions; ++d) position = position * shape->extents[d] + index[d];
    place->owner = (int)(position % shape->ranks);
    place->offset = (uint64_t)(position / shape->ranks);
    place->contiguous = 1;
}
static uint64_t capacity(void* context, const lapwing_shape* shape) {
    uint64_t all = 1;
    int d;
    for (d = 0; d < shape->dimensions; ++d) all *= (uint64_t)shape->extents[d];
    return context != NULL ? *(const uint64_t*)context : all / (uint64_t)shape->ranks + 1;
}
static uint64_t no_domains(void* context, const lapwing_shape* shape, int rank) {
    return (void)context, (void)shape, (void)rank, (uint64_t)0;
}
static void no_domain(void* context, const lapwing_shape* shape, int rank, uint64_t k, lapwing_range* ranges) {
    (void)context, (void)shape, (void)rank, (void)k, (void)ranges;
}

static const lapwing_distribution* distribution_within(int depth) {
    static lapwing_distribution distributions[3];
    static lapwing_distribution_functions functions = {locate, capacity, no_domains, no_domain, 0};
    static const lapwing_distribution_functions empty = {NULL, NULL, NULL, NULL, 0};
    static uint64_t capacities[sizeof beyond / sizeof *beyond];
    lapwing_distribution* const one = &distributions[depth];
    const size_t k = (size_t)below(sizeof beyond / sizeof *beyond);
    capacities[k] = beyond[k];
    memset(one, 0, sizeof *one);
    one->kind = chance(6) ? any_int() : (int)below(8);
    if (chance(2)) one->grid = int_list();
    one->block = room_extents(); /* memory for whole blocks */
    one->functions = chance(8) ? NULL : chance(8) ? &empty : &functions;
    one->context = chance(3) ? &capacities[k] : NULL;
    one->space = some_range();
    one->ranks = int_list();
    one->rank_count = chance(4) ? list_length() : 1;
    one->block_count = chance(3) ? (int64_t)ONE_OF(beyond) : (int64_t)below(9);
    one->whole = depth < 2 && chance(2) ? distribution_within(depth + 1) : NULL;
    return chance(2) ? NULL : one;
}
static const lapwing_distribution* some_distribution(void) { return distribution_within(0); }

/* ---- objects ---- */

static enum { all_open, some_closed, all_freed } objects = all_open;
/* Whether all ranks have made the object: else none keeps it. */
static int made_by_all(int here) {
    int all = here;
    if (refused >= 0) meet();
    if (!finalized) MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}
static void end_completion(lapwing_completion** completion) {
    int complete = 0;
    if (chance(2)) (void)lapwing_completion_test(completion, &complete);
    if (*completion != NULL) (void)lapwing_completion_wait(completion);
}

/* Four of each kind, the first of which stays while objects are open, and one that was freed. What is dropped may be
 * what others were made from. */
enum { pool_size = 4 };
#define POOL(kind, end)                                                                                           \
    static lapwing_##kind *pool_##kind[pool_size], *gone_##kind;                                                  \
    static lapwing_##kind* some_##kind(void) {                                                                    \
        const uint64_t k = below(pool_size + 1);                                                                  \
        const int bad = chance(12);                                                                               \
        if (objects == all_freed) return gone_##kind;                                                             \
        if (bad) return chance(2) ? NULL : gone_##kind;                                                           \
        return k == pool_size || pool_##kind[k] == NULL ? pool_##kind[0] : pool_##kind[k];                        \
    }                                                                                                             \
    static lapwing_##kind* doomed_##kind(void) { return objects == all_freed || chance(2) ? gone_##kind : NULL; } \
    static void drop_##kind(size_t k) {                                                                           \
        lapwing_##kind* const one = pool_##kind[k];                                                               \
        if (one == NULL) return;                                                                                  \
        (void)end(&pool_##kind[k]);                                                                               \
        if (pool_##kind[k] == NULL) gone_##kind = one;                                                            \
        pool_##kind[k] = NULL;                                                                                    \
    }                                                                                                             \
    static void keep_##kind(lapwing_##kind* made) {                                                               \
        const size_t k = (size_t)(pool_##kind[0] == NULL ? 0 : 1 + step % (pool_size - 1));                       \
        const int by_all = made_by_all(made != NULL);                                                             \
        if (made == NULL) return;                                                                                 \
        if (!by_all) {                                                                                            \
            (void)end(&made);                                                                                     \
            return;                                                                                               \
        }                                                                                                         \
        drop_##kind(k);                                                                                           \
        pool_##kind[k] = made;                                                                                    \
    }                                                                                                             \
    static void drop_all_##kind(void) {                                                                           \
        size_t k;                                                                                                 \
        for (k = pool_size; k-- > 0;) drop_##kind(k);                                                             \
    }
POOL(settings, lapwing_settings_free)
POOL(runtime, lapwing_runtime_free)
POOL(layout, lapwing_layout_free)
POOL(window, lapwing_window_free)
POOL(lock, lapwing_lock_free)
POOL(array, lapwing_array_free)
POOL(slice, lapwing_slice_free)
POOL(assignment, lapwing_assignment_free)
POOL(reduction, lapwing_reduction_free)
POOL(halo, lapwing_halo_free)
POOL(mapped, lapwing_mapped_free)
POOL(relabelling, lapwing_relabelling_free)
POOL(prefetch, lapwing_prefetch_free)
POOL(plan, lapwing_plan_free)
POOL(production, lapwing_production_finish)
POOL(recording, lapwing_recording_free)
POOL(future, lapwing_future_free)
POOL(aggregator, lapwing_aggregator_free)

/* Nothing stays under way: the memory is used again. */
static lapwing_completion* gone_completion;
static lapwing_completion* doomed_completion(void) {
    return objects == all_freed || chance(2) ? gone_completion : NULL;
}
static void keep_completion(lapwing_completion* made) {
    if (made == NULL) return;
    gone_completion = made;
    end_completion(&made);
    if (made != NULL) complain("its completion has not ended");
}

static const lapwing_layout* const* some_layouts(void) {
    static const lapwing_layout* list[16];
    size_t k;
    for (k = 0; k < 16; ++k) list[k] = some_layout();
    return chance(24) ? NULL : list;
}
static const lapwing_slice* const* some_slices(void) {
    static const lapwing_slice* list[16];
    size_t k;
    for (k = 0; k < 16; ++k) list[k] = some_slice();
    return chance(24) ? NULL : list;
}
/* One that stays within the memory here. */
static const lapwing_layout* layout_here(void) {
    const lapwing_layout* const layout = some_layout();
    lapwing_layout_info info;
    if (layout == NULL || layout == gone_layout || lapwing_layout_query(layout, &info) != LAPWING_SUCCESS)
        return layout;
    return info.lower >= 0 && info.upper <= region_bytes ? layout : objects == all_freed ? gone_layout : NULL;
}

#include "c_fuzz_calls.inc"

/* ---- rounds of calls ---- */

enum { call_count = sizeof calls / sizeof *calls };

/* Collective: one call, the same on all ranks. Returns its code. */
static int make(const Call* call) {
    int code;
    begin_step();
    impossible = 0;
    pointers = 0;
    call_name = call->name;
    if (show) fprintf(stderr, "rank %d: %llu %s\n", check_rank, (unsigned long long)step, call->name);
    code = call->make();
    if (show && code != LAPWING_SUCCESS) fprintf(stderr, "  %s: %s\n", lapwing_error_name(code), lapwing_error_text());
    if (code < LAPWING_SUCCESS || code > LAPWING_ERR_FUNCTION) complain("it returned something that is no code");
    if (code == LAPWING_ERR_INTERNAL) complain("an internal error");
    if (code != LAPWING_SUCCESS && lapwing_error_text()[0] == '\0') complain("an error without a text");
    /* -1 may be MPI_PROC_NULL, as it is with MPICH: a transfer by datatypes then moves nothing, however much. */
    if (MPI_PROC_NULL == -1 && strstr(call->name, "_mpi") != NULL) impossible = 0;
    if (code == LAPWING_SUCCESS && impossible && call->on_object) complain("more than memory can hold, and no error");
    if (finalized && code == LAPWING_ERR_MPI) complain("it has called MPI, which is finalized");
    if (finalized && code == LAPWING_SUCCESS && call->collective)
        complain("collective, and no error after MPI_Finalize");
    return code;
}

/* Collective: all ranks have returned from their calls. */
static void meet(void) {
    if (lapwing_runtime_barrier(pool_runtime[0]) != LAPWING_SUCCESS) complain("it has returned on some ranks alone");
}

static void make_some(uint64_t count) {
    uint64_t k;
    for (k = 0; k < count; ++k) {
        state = seed * 7919u + step; /* which call, before begin_step() */
        make(&calls[below(call_count)]);
    }
}

/* Collective: one object of each kind, as programs make them. */
static void make_objects(void) {
    const int64_t extents[3] = {20, 5, 4}, *const plane = extents + 1;
    const int64_t lower[2] = {-1, 2};
    lapwing_array_options options = lapwing_array_options_default();
    lapwing_distribution cyclic;
    lapwing_pattern pattern;
    lapwing_production* production = NULL;
    uint64_t token = 0;
    memset(&cyclic, 0, sizeof cyclic);
    memset(&pattern, 0, sizeof pattern);
    cyclic.kind = LAPWING_CYCLIC;
    pattern.depth = 1;
    OK(lapwing_settings_create(&pool_settings[0]));
    OK(lapwing_runtime_create(MPI_COMM_WORLD, NULL, &pool_runtime[0]));
    OK(lapwing_window_create(pool_runtime[0], 256, NULL, &pool_window[0]));
    OK(lapwing_array_create(pool_runtime[0], LAPWING_DOUBLE, 1, extents, NULL, NULL, &pool_array[0]));
    options.halo = 1;
    options.lower = lower;
    OK(lapwing_array_create(pool_runtime[0], LAPWING_INT32, 2, plane, NULL, &options, &pool_array[1]));
    OK(lapwing_array_create(pool_runtime[0], LAPWING_BYTES(24), 1, extents, &cyclic, NULL, &pool_array[2]));
    OK(lapwing_array_prefetch(pool_array[0], &pattern, NULL));
    OK(lapwing_lock_create(pool_runtime[0], 0, &pool_lock[0]));
    OK(lapwing_layout_create_contiguous(16, 0, &pool_layout[0]));
    OK(lapwing_layout_create_strided(2, 8, 24, 0, &pool_layout[1]));
    OK(lapwing_slice_create(pool_array[0], NULL, &pool_slice[0]));
    OK(lapwing_slice_create(pool_array[1], NULL, &pool_slice[1]));
    OK(lapwing_assignment_create(&pool_assignment[0]));
    OK(lapwing_assignment_add(pool_assignment[0], pool_slice[0], pool_slice[0], LAPWING_REPLACE));
    OK(lapwing_halo_create(pool_array[0], 1, NULL, &pool_halo[0]));
    OK(lapwing_mapped_create(pool_array[2], NULL, &pool_mapped[0]));
    OK(lapwing_relabelling_create(pool_array[0], &cyclic, &pool_relabelling[0]));
    OK(lapwing_prefetch_create(pool_window[0], NULL, &pool_prefetch[0]));
    if (size > 1) OK(lapwing_prefetch_request(pool_prefetch[0], (check_rank + 1) % size, 0, pool_layout[0], &token));
    OK(lapwing_plan_create_put(pool_window[0], 0, 0, pool_layout[0], pool_layout[1], NULL, &pool_plan[0]));
    OK(lapwing_plan_create_get(pool_window[0], size - 1, 0, pool_layout[1], pool_layout[0], NULL, &pool_plan[1]));
    OK(lapwing_plan_produce(pool_plan[0], read_memory, &production));
    pool_production[0] = production;
    OK(lapwing_recording_create(pool_window[0], &pool_recording[0]));
    OK(lapwing_function_register("function", owner_function, NULL));
    OK(lapwing_runtime_barrier(pool_runtime[0]));
    OK(lapwing_runtime_start_call(pool_runtime[0], LAPWING_WHERE_PROGRESS, 0, "function", NULL, 0, 8, &pool_future[0]));
    OK(lapwing_aggregator_create(pool_runtime[0], &pool_aggregator[0]));
    {
        lapwing_array* sums = NULL;
        OK(lapwing_array_create(pool_runtime[0], LAPWING_INT32, 1, plane, NULL, NULL, &sums));
        OK(lapwing_slice_create(sums, NULL, &pool_slice[2]));
        OK(lapwing_reduction_create(pool_array[1], 1, pool_slice[2], LAPWING_ADD, &pool_reduction[0]));
        pool_array[3] = sums;
    }
}

static void drop_dependents(void) {
    drop_all_future();
    drop_all_production();
    drop_all_plan();
    drop_all_recording();
    drop_all_prefetch();
    drop_all_halo();
    drop_all_mapped();
    drop_all_reduction();
    drop_all_assignment();
    drop_all_slice();
    drop_all_relabelling();
    drop_all_layout();
    drop_all_settings();
}

static void drop_owners(void) {
    drop_all_aggregator(); /* before its arrays */
    drop_all_array();
    drop_all_window();
    drop_all_lock();
}

static void drop_all(void) {
    drop_dependents();
    drop_owners();
    drop_all_runtime();
}

/* Every collective function, as soon as it works, with each of its pointers left out on one rank. */
static void refuse_on_one(void) {
    size_t c;
    int functions = 0;
    for (c = 0; c < call_count; ++c) {
        int tries = 0, works = 0, k;
        if (!calls[c].refuses) continue;
        drop_all(); /* the last one may have resized an array, which ends its slices */
        make_objects();
        for (; tries < 2000 && works < 3; ++tries) {
            if (!made_by_all(make(&calls[c]) == LAPWING_SUCCESS)) continue;
            ++works;
            for (k = pointers; k-- > 0;) {
                int failed[2];
                refused = k;
                refusing_rank = (int)(step % (uint64_t)size);
                --step; /* with the same arguments */
                failed[0] = make(&calls[c]) != LAPWING_SUCCESS;
                meet();
                refused = -1;
                failed[1] = !failed[0];
                MPI_Allreduce(MPI_IN_PLACE, failed, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
                if (failed[0] && failed[1]) complain("a null pointer on one rank, and no error on all");
            }
        }
        functions += works != 0;
        if (show && works == 0) fprintf(stderr, "  %s has never worked\n", calls[c].name);
    }
    CHECK(functions > 30);
}

/* Every function, with freed objects alone. */
static void call_on_freed(void) {
    size_t k;
    objects = all_freed;
    for (k = 0; k < 4 * call_count; ++k) {
        const Call* const call = &calls[k % call_count];
        const int code = make(call);
        if (call->on_object && (code == LAPWING_SUCCESS || code == LAPWING_ERR_MPI))
            complain("no error of a freed object");
    }
}

/* What was saved, and what a save that failed has left. */
static void remove_files(void) {
    static const char* const names[] = {"file", "file.partial", "file.partial.lock"};
    char name[96];
    size_t k;
    if (check_rank != 0) return;
    for (k = 0; k < sizeof names / sizeof *names; ++k) {
        sprintf(name, "%s/%s", directory, names[k]);
        (void)remove(name);
    }
    (void)rmdir(directory);
}

static uint64_t number_of(const char* name, uint64_t otherwise) {
    const char* const text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* AddressSanitizer asks for it: what cannot be freed, on purpose, stays, and a size beyond all memory is one to be
 * refused. */
const char* __asan_default_options(void);
const char* __asan_default_options(void) { return "detect_leaks=0:allocator_may_return_null=1"; }

int main(int argc, char** argv) {
    const char* const what = argc > 1 ? argv[1] : "open";
    const uint64_t steps = number_of("TEST_STEPS", 6000);
    int level = 0;
    void* base = NULL;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    show = number_of("TEST_SHOW", 0) != 0;
    seed = number_of("TEST_SEED", 1);
    CHECK(check_rank != 0 || mkdtemp(directory) != NULL);
    MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
    sprintf(path, "%s/file", directory);
    read_memory = guarded_memory();
    written_memory = guarded_memory();
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &host_window);
    MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);

    make_objects();
    if (strcmp(what, "refused") == 0) refuse_on_one();
    else make_some(strcmp(what, "open") == 0 ? steps : 200);
    if (strcmp(what, "closed") == 0) {
        /* What was made from windows and arrays outlives them, and then the runtime. */
        objects = some_closed;
        drop_owners();
        make_some(steps / 2);
        drop_owners(); /* what was made since */
        drop_all_runtime();
        make_some(steps / 2);
    }
    if (strcmp(what, "finalized") == 0) {
        MPI_Type_free(&vector);
        MPI_Win_free(&host_window);
        remove_files();
        MPI_Finalize();
        finalized = 1;
        make_some(steps);
        drop_dependents();
        drop_owners();
        return 0;
    }
    drop_all();
    CHECK(pool_runtime[0] == NULL);
    call_on_freed();
    remove_files();
    MPI_Type_free(&vector);
    MPI_Win_free(&host_window);
    MPI_Finalize();
    return 0;
}
