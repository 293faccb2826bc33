/* Callbacks for tools: what they are told of accesses. */
#include "check.h"

#include <stdint.h>

/* What was told, of one rank. */
static struct Told {
    uint64_t begun, ended, begun_bytes, ended_bytes, points, reads, writes, atomics, patches;
    int open, targets, wrong;
    int named;
} told;

static void on_begin(void* context, const lapwing_tool_access* access) {
    struct Told* t = context;
    ++t->begun;
    t->begun_bytes += access->bytes;
    t->reads += access->kind == LAPWING_TOOL_READ;
    t->writes += access->kind == LAPWING_TOOL_WRITE;
    t->atomics += access->kind == LAPWING_TOOL_ATOMIC;
    t->targets |= 1 << access->target;
    t->named += strcmp(access->name, "a") == 0;
    if (access->accesses != 1 || access->site_size == 0 || access->site[0] == NULL || access->thread != 0) ++t->wrong;
    t->open = 1;
}

static void on_end(void* context, const lapwing_tool_access* call) {
    struct Told* t = context;
    t->ended += call->accesses;
    t->ended_bytes += call->bytes;
    t->patches += call->elements > 1;
    if (!t->open) ++t->wrong;
    t->open = 0;
}

static void on_point(void* context, const void* const* site, size_t site_size) {
    struct Told* t = context;
    ++t->points;
    if (t->open || site_size == 0 || site[0] == NULL) ++t->wrong;
}

enum { n = 40 };
static int size; /* of the job */

/* Reads all elements one by one, then at once; writes one of the next rank; adds to it. */
static void use(void) {
    lapwing_runtime* runtime = NULL;
    lapwing_array* array = NULL;
    lapwing_array_options options = lapwing_array_options_default();
    const lapwing_distribution block = {.kind = LAPWING_BLOCK};
    const int64_t extents[] = {n};
    const lapwing_range all[] = {{.first = 0, .size = n, .stride = 1}};
    double values[n], value = 0;
    int64_t i;
    int rank = 0;
    OK(lapwing_runtime_create(MPI_COMM_WORLD, NULL, &runtime));
    OK(lapwing_runtime_rank(runtime, &rank));
    OK(lapwing_runtime_size(runtime, &size));
    check_rank = rank;
    options.name = "a";
    OK(lapwing_array_create(runtime, LAPWING_DOUBLE, 1, extents, &block, &options, &array));
    OK(lapwing_array_barrier(array));
    memset(&told, 0, sizeof told);
    for (i = 0; i < n; ++i) OK(lapwing_array_get_double_1(array, i, &value));
    OK(lapwing_array_get(array, all, values, NULL));
    OK(lapwing_array_barrier(array));
    OK(lapwing_array_free(&array));
    OK(lapwing_runtime_free(&runtime));
    CHECK(value == 0 && values[n - 1] == 0);
}

int main(void) {
    const lapwing_tool_callbacks callbacks = {on_begin, on_end, on_point, &told}, none = {NULL, NULL, NULL, NULL};
    int tool = -1, others[2], more = -1, k, level = 0;
    /* MPI for both runtimes. */
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);

    FAILS(LAPWING_ERR_USAGE, "null pointer", lapwing_tool_register(NULL, &tool));
    FAILS(LAPWING_ERR_USAGE, "no tool 0", lapwing_tool_unregister(0));
    OK(lapwing_tool_register(&callbacks, &tool));
    for (k = 0; k < 2; ++k) OK(lapwing_tool_register(&none, &others[k])); /* told nothing */
    FAILS(LAPWING_ERR_USAGE, "the limit", lapwing_tool_register(&none, &more));

    use();
    CHECK(told.wrong == 0);
    CHECK(told.open == 0);
    CHECK(told.reads == (uint64_t)(n + size)); /* the patch: a read of each rank's part */
    CHECK(told.begun == told.reads);
    CHECK(told.ended == told.begun);
    CHECK(told.begun_bytes == 2 * n * sizeof(double));
    CHECK(told.ended_bytes == told.begun_bytes);
    CHECK(told.targets == (1 << size) - 1);
    CHECK((uint64_t)told.named == told.begun);
    CHECK(told.patches >= 1);
    CHECK(told.points >= 1);

    /* Without tools nobody is told, and the next runtime is as any. */
    OK(lapwing_tool_unregister(tool));
    for (k = 0; k < 2; ++k) OK(lapwing_tool_unregister(others[k]));
    FAILS(LAPWING_ERR_USAGE, "no tool", lapwing_tool_unregister(tool));
    use();
    CHECK(told.begun == 0 && told.ended == 0 && told.points == 0);
    MPI_Finalize();
    return 0;
}
