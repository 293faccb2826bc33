/* Errors, types, settings, statistics, and the runtime. */
#include "check.h"

#include <stddef.h>

static int handled = 0;
static void count_error(int code, const char* text, void* context) {
    if (code == LAPWING_ERR_USAGE && strcmp(text, lapwing_error_text()) == 0) ++*(int*)context;
}

static void errors(void) {
    CHECK(lapwing_error_code() == LAPWING_SUCCESS);
    CHECK(strcmp(lapwing_error_text(), "") == 0);
    CHECK(strcmp(lapwing_error_name(LAPWING_ERR_PEER_LEFT), "LAPWING_ERR_PEER_LEFT") == 0);
    CHECK(strcmp(lapwing_error_name(LAPWING_ERR_INTERNAL), "LAPWING_ERR_INTERNAL") == 0);
    CHECK(strcmp(lapwing_error_name(LAPWING_ERR_FUNCTION), "LAPWING_ERR_FUNCTION") == 0);
    CHECK(strcmp(lapwing_error_name(LAPWING_ERR_FUNCTION + 1), "?") == 0 && strcmp(lapwing_error_name(-1), "?") == 0);
    OK(lapwing_error_set_handler(count_error, &handled));
    FAILS(LAPWING_ERR_USAGE, "lapwing_settings_create: the argument 'settings' is a null pointer",
          lapwing_settings_create(NULL));
    CHECK(handled == 1);
    OK(lapwing_error_set_handler(NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "null", lapwing_settings_create(NULL));
    CHECK(handled == 1);
    CHECK(lapwing_error_mpi_code() == 0);
}

/* The library is that of the headers, and the text has the numbers. */
static void version(void) {
    int major = -1, minor = -1, patch = -1;
    char text[64];
    OK(lapwing_version_numbers(&major, &minor, &patch));
    CHECK(major == LAPWING_VERSION_MAJOR && minor == LAPWING_VERSION_MINOR && patch == LAPWING_VERSION_PATCH);
    OK(lapwing_version_numbers(NULL, NULL, NULL));
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    CHECK(strcmp(text, lapwing_version_text()) == 0 && strcmp(text, LAPWING_VERSION_STRING) == 0);
}

static void types(void) {
    const char* text = NULL;
    CHECK(lapwing_type_size(LAPWING_DOUBLE) == 8 && lapwing_type_kind(LAPWING_DOUBLE) == LAPWING_KIND_FLOAT);
    CHECK(lapwing_type_size(LAPWING_DOUBLE_COMPLEX) == 16 &&
          lapwing_type_kind(LAPWING_UINT16) == LAPWING_KIND_UNSIGNED);
    CHECK(lapwing_type_size(LAPWING_BYTES(12)) == 12 && lapwing_type_kind(LAPWING_BYTES(12)) == LAPWING_KIND_BYTES);
    CHECK(lapwing_type_size(0) == 0 && lapwing_type_kind(17) == 0 && lapwing_type_size(LAPWING_BYTES(0)) == 0);
    OK(lapwing_type_name(LAPWING_DOUBLE, &text));
    CHECK(strcmp(text, "double") == 0);
    OK(lapwing_type_name(LAPWING_BYTES(24), &text));
    CHECK(strcmp(text, "24 bytes") == 0);
    FAILS(LAPWING_ERR_RANGE, "is not a type", lapwing_type_name(LAPWING_TYPE_(3, 2), &text));
    FAILS(LAPWING_ERR_USAGE, "'text'", lapwing_type_name(LAPWING_INT8, NULL));
}

static void mpi_types(void) {
    struct particle {
        double x;
        int kind;
    };
    MPI_Datatype structure, sized, shifted;
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {offsetof(struct particle, x), offsetof(struct particle, kind)};
    MPI_Datatype members[2] = {MPI_DOUBLE, MPI_INT};
    lapwing_type type = 0;
    OK(lapwing_type_from_mpi(MPI_DOUBLE, &type));
    CHECK(type == LAPWING_DOUBLE);
    OK(lapwing_type_from_mpi(MPI_INT, &type));
    CHECK(type == LAPWING_INT32);
    OK(lapwing_type_from_mpi(MPI_UNSIGNED_LONG, &type));
    CHECK(type == LAPWING_UINT64);
    OK(lapwing_type_from_mpi(MPI_C_FLOAT_COMPLEX, &type));
    CHECK(type == LAPWING_FLOAT_COMPLEX);
    OK(lapwing_type_from_mpi(MPI_BYTE, &type));
    CHECK(type == LAPWING_BYTES(1));
    MPI_Type_create_struct(2, lengths, places, members, &structure);
    MPI_Type_create_resized(structure, 0, sizeof(struct particle), &sized);
    MPI_Type_create_resized(structure, -8, 32, &shifted);
    OK(lapwing_type_from_mpi(sized, &type));
    CHECK(type == LAPWING_BYTES(sizeof(struct particle)));
    FAILS(LAPWING_ERR_RANGE, "begins at byte -8", lapwing_type_from_mpi(shifted, &type));
    FAILS(LAPWING_ERR_USAGE, "MPI_DATATYPE_NULL", lapwing_type_from_mpi(MPI_DATATYPE_NULL, &type));
    FAILS(LAPWING_ERR_USAGE, "'type'", lapwing_type_from_mpi(MPI_INT, NULL));
    MPI_Type_free(&structure);
    MPI_Type_free(&sized);
    MPI_Type_free(&shifted);
}

static lapwing_settings* settings(void) {
    lapwing_settings* set = NULL;
    lapwing_settings* copy;
    lapwing_setting_info info;
    const char* text = NULL;
    size_t count = 0;
    int found = 0;
    size_t k;
    OK(lapwing_settings_count(&count));
    for (k = 0; k < count; ++k) {
        OK(lapwing_settings_info(k, &info));
        CHECK(strncmp(info.name, "LAPWING_", 8) == 0 && info.help[0] != '\0');
        if (strcmp(info.name, "LAPWING_PATH") == 0) found = strstr(info.choices, "service") != NULL;
    }
    CHECK(found);
    FAILS(LAPWING_ERR_RANGE, "no setting", lapwing_settings_info(count, &info));
    FAILS(LAPWING_ERR_USAGE, "'info'", lapwing_settings_info(0, NULL));
    FAILS(LAPWING_ERR_USAGE, "'count'", lapwing_settings_count(NULL));

    OK(lapwing_settings_create(&set));
    OK(lapwing_settings_set(set, "LAPWING_SERVICE_IN_FLIGHT", "3"));
    OK(lapwing_settings_text(set, "LAPWING_SERVICE_IN_FLIGHT", &text));
    CHECK(strcmp(text, "3") == 0);
    OK(lapwing_settings_origin(set, "LAPWING_SERVICE_IN_FLIGHT", &text));
    CHECK(strcmp(text, "program") == 0);
    FAILS(LAPWING_ERR_SETTING, "LAPWING_NO_SUCH", lapwing_settings_set(set, "LAPWING_NO_SUCH", "1"));
    FAILS(LAPWING_ERR_SETTING, "LAPWING_PATH", lapwing_settings_set(set, "LAPWING_PATH", "by-pigeon"));
    FAILS(LAPWING_ERR_SETTING, "LAPWING_NO_SUCH", lapwing_settings_text(set, "LAPWING_NO_SUCH", &text));
    FAILS(LAPWING_ERR_USAGE, "'value'", lapwing_settings_set(set, "LAPWING_PATH", NULL));
    FAILS(LAPWING_ERR_USAGE, "null pointer; make one with lapwing_settings_create()",
          lapwing_settings_set(NULL, "LAPWING_PATH", "rma"));
    copy = set;
    OK(lapwing_settings_free(&set));
    CHECK(set == NULL);
    OK(lapwing_settings_free(&set));
    FAILS(LAPWING_ERR_USAGE, "was freed", lapwing_settings_text(copy, "LAPWING_PATH", &text));
    FAILS(LAPWING_ERR_USAGE, "was freed", lapwing_settings_free(&copy));
    OK(lapwing_settings_create(&set));
    OK(lapwing_settings_set(set, "LAPWING_SERVICE_IN_FLIGHT", "3"));
    return set;
}

/* Keeps the first byte of the left value, and the second of the right one: associative, and not commutative. */
static void first_and_last(void* context, void* left, const void* right) {
    ((unsigned char*)left)[1] = ((const unsigned char*)right)[1];
    if (context != NULL) ++*(int*)context;
}

static void values(lapwing_runtime* runtime, int rank, int size) {
    double sums[2];
    int32_t least = rank + 5;
    uint32_t wide = rank == 0 ? UINT32_C(0x80000000) : 1;
    uint8_t narrow = rank == 0 ? 0x80 : 1;
    uint64_t most = (uint64_t)rank + ((uint64_t)1 << 63);
    float complex_sum[2];
    unsigned char pair[2];
    unsigned char before[2] = {77, 77};
    int calls = 0;
    int has_before = -1;
    int64_t* all = malloc((size_t)size * sizeof *all);
    int64_t own = 100 + rank;
    char text[6] = "later";
    int r;
    sums[0] = rank;
    sums[1] = 1;
    OK(lapwing_runtime_sum(runtime, LAPWING_DOUBLE, sums, 2));
    CHECK(sums[0] == size * (size - 1) / 2.0 && sums[1] == size);
    OK(lapwing_runtime_min(runtime, LAPWING_INT32, &least, 1));
    CHECK(least == 5);
    OK(lapwing_runtime_max(runtime, LAPWING_UINT64, &most, 1));
    CHECK(most == (uint64_t)(size - 1) + ((uint64_t)1 << 63));
    OK(lapwing_runtime_max(runtime, LAPWING_UINT32, &wide, 1));
    OK(lapwing_runtime_min(runtime, LAPWING_UINT8, &narrow, 1));
    CHECK(wide == UINT32_C(0x80000000) && narrow == (size > 1 ? 1 : 0x80));
    complex_sum[0] = 1;
    complex_sum[1] = -2;
    OK(lapwing_runtime_sum(runtime, LAPWING_FLOAT_COMPLEX, complex_sum, 1));
    CHECK(complex_sum[0] == (float)size && complex_sum[1] == -2 * (float)size);
    FAILS(LAPWING_ERR_USAGE, "float complex", lapwing_runtime_max(runtime, LAPWING_FLOAT_COMPLEX, complex_sum, 1));
    FAILS(LAPWING_ERR_USAGE, "12 bytes", lapwing_runtime_sum(runtime, LAPWING_BYTES(12), sums, 1));
    FAILS(LAPWING_ERR_USAGE, "'values'", lapwing_runtime_sum(runtime, LAPWING_DOUBLE, NULL, 1));
    OK(lapwing_runtime_all_reduce(runtime, &own, 1, MPI_INT64_T, MPI_MAX));
    CHECK(own == 99 + size);
    FAILS(LAPWING_ERR_USAGE, "MPI_DATATYPE_NULL",
          lapwing_runtime_all_reduce(runtime, &own, 1, MPI_DATATYPE_NULL, MPI_MAX));
    FAILS(LAPWING_ERR_USAGE, "MPI_OP_NULL", lapwing_runtime_all_reduce(runtime, &own, 1, MPI_INT64_T, MPI_OP_NULL));
    if (rank == size - 1) memcpy(text, "hello", 6);
    OK(lapwing_runtime_broadcast(runtime, text, 6, size - 1));
    CHECK(strcmp(text, "hello") == 0);
    FAILS(LAPWING_ERR_RANGE, "'root'", lapwing_runtime_broadcast(runtime, text, 6, size));
    FAILS(LAPWING_ERR_RANGE, "'root'", lapwing_runtime_broadcast(runtime, text, 6, -1));
    pair[0] = pair[1] = (unsigned char)(10 + rank);
    OK(lapwing_runtime_combine_before(runtime, pair, before, 2, first_and_last, NULL, &has_before));
    CHECK(has_before == (rank > 0));
    if (rank > 0) CHECK(before[0] == 10 && before[1] == 9 + rank);
    OK(lapwing_runtime_combine(runtime, pair, 2, first_and_last, &calls));
    CHECK(pair[0] == 10 && pair[1] == 9 + size);
    FAILS(LAPWING_ERR_USAGE, "'combine'", lapwing_runtime_combine(runtime, pair, 2, NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "'before'",
          lapwing_runtime_combine_before(runtime, pair, NULL, 2, first_and_last, NULL, NULL));
    own = 100 + rank;
    OK(lapwing_runtime_all_gather(runtime, &own, sizeof own, all));
    for (r = 0; r < size; ++r) CHECK(all[r] == 100 + r);
    FAILS(LAPWING_ERR_RANGE, "4 MiB", lapwing_runtime_all_gather(runtime, all, (uint64_t)1 << 40, all));
    own = 7;
    OK(lapwing_runtime_require_same(runtime, &own, 1, "the number"));
    own = rank;
    if (size > 1)
        FAILS(LAPWING_ERR_MISMATCH, "the number", lapwing_runtime_require_same(runtime, &own, 1, "the number"));
    free(all);
}

/* Each rank passes as many numbers as its rank. */
static void gather_different_numbers(lapwing_runtime* runtime, int rank, int size) {
    const uint64_t total = (uint64_t)size * (uint64_t)(size - 1) / 2;
    int64_t* own = calloc((size_t)size, sizeof *own);
    int64_t* all = calloc((size_t)(size * size), sizeof *all);
    uint64_t* counts = calloc((size_t)size, sizeof *counts);
    int r;
    int k;
    int at = 0;
    for (k = 0; k < rank; ++k) own[k] = 10 * rank + k;
    OK(lapwing_runtime_all_gather_varying(runtime, LAPWING_INT64, own, (uint64_t)rank, all, total, counts));
    for (r = 0; r < size; ++r) {
        CHECK(counts[r] == (uint64_t)r);
        for (k = 0; k < r; ++k) CHECK(all[at++] == 10 * r + k);
    }
    if (size > 1) {
        memset(counts, 0, (size_t)size * sizeof *counts);
        all[0] = -1;
        if (rank == 0)
            FAILS(LAPWING_ERR_RANGE, "room for 0 bytes",
                  lapwing_runtime_all_gather_varying(runtime, LAPWING_INT64, own, 0, all, 0, counts));
        else
            FAILS(LAPWING_ERR_USAGE, "rank 0 could not",
                  lapwing_runtime_all_gather_varying(runtime, LAPWING_INT64, own, (uint64_t)rank, all, total, counts));
        for (r = 0; r < size; ++r) CHECK(counts[r] == (uint64_t)r);
        CHECK(all[0] == -1);
        FAILS(LAPWING_ERR_MISMATCH, "rank 1",
              lapwing_runtime_all_gather_varying(runtime, rank == 0 ? LAPWING_INT64 : LAPWING_DOUBLE, own, 1, all,
                                                 total, counts));
    }
    FAILS(LAPWING_ERR_USAGE, "'counts'",
          lapwing_runtime_all_gather_varying(runtime, LAPWING_INT64, own, 0, all, total, NULL));
    FAILS(LAPWING_ERR_RANGE, "'values' is of 9223372036854775807 values of 8 bytes",
          lapwing_runtime_all_gather_varying(runtime, LAPWING_INT64, own, UINT64_MAX / 2, all, total, counts));
    free(own);
    free(all);
    free(counts);
}

/* Ranks that pass different types, numbers, roots or arrays are told what two of them pass, and go on. */
static void arguments_that_differ(lapwing_runtime* runtime, int rank, int size) {
    double values[3] = {1, 1, 1};
    int64_t numbers[3] = {1, 1, 1};
    int64_t* all = calloc((size_t)(3 * size), sizeof *all);
    const int64_t extent = 4;
    lapwing_array* array = NULL;
    lapwing_window* window = NULL;
    const int last = rank == size - 1;
    if (size > 1) {
        FAILS(LAPWING_ERR_MISMATCH, "3 of double with MPI_SUM",
              lapwing_runtime_sum(runtime, LAPWING_DOUBLE, values, last ? 2 : 3));
        FAILS(LAPWING_ERR_MISMATCH, "1 of int64 with MPI_SUM",
              lapwing_runtime_sum(runtime, last ? LAPWING_INT64 : LAPWING_DOUBLE, last ? (void*)numbers : (void*)values,
                                  1));
        FAILS(LAPWING_ERR_MISMATCH, "24 bytes", lapwing_runtime_all_gather(runtime, numbers, last ? 8 : 24, all));
        FAILS(LAPWING_ERR_MISMATCH, "from rank 0", lapwing_runtime_broadcast(runtime, numbers, 24, last ? rank : 0));
        FAILS(LAPWING_ERR_MISMATCH, "elements of double",
              lapwing_array_create(runtime, last ? LAPWING_DOUBLE : LAPWING_INT64, 1, &extent, NULL, NULL, &array));
        /* What one rank passes cannot be. */
        FAILS(last ? LAPWING_ERR_USAGE : LAPWING_ERR_MISMATCH, "'values'",
              lapwing_runtime_sum(runtime, LAPWING_DOUBLE, last ? NULL : values, 3));
        FAILS(last ? LAPWING_ERR_RANGE : LAPWING_ERR_MISMATCH, "'root' is -1",
              lapwing_runtime_broadcast(runtime, numbers, 24, last ? -1 : 0));
        FAILS(last ? LAPWING_ERR_RANGE : LAPWING_ERR_USAGE, "not a type",
              lapwing_array_create(runtime, last ? 12 : LAPWING_INT64, 1, &extent, NULL, NULL, &array));
        FAILS(LAPWING_ERR_USAGE, "'window'", lapwing_window_create(runtime, 8, NULL, last ? NULL : &window));
        FAILS(last ? LAPWING_ERR_USAGE : LAPWING_ERR_MISMATCH, "'all'",
              lapwing_runtime_all_gather(runtime, numbers, 24, last ? NULL : all));
        FAILS(LAPWING_ERR_USAGE, "no seed",
              last ? lapwing_runtime_refuse(runtime, 0, "no seed") : lapwing_runtime_barrier(runtime));
        FAILS(last ? LAPWING_ERR_USAGE : LAPWING_ERR_MISMATCH, "no seed",
              last ? lapwing_runtime_refuse(runtime, 1, "no seed")
                   : lapwing_runtime_sum(runtime, LAPWING_DOUBLE, values, 3));
        CHECK(array == NULL && window == NULL && values[0] == 1 && numbers[0] == 1);
    }
    FAILS(LAPWING_ERR_USAGE, "no seed", lapwing_runtime_refuse(runtime, 0, "no seed")); /* on all ranks */
    FAILS(LAPWING_ERR_USAGE, "the call of the other ranks", lapwing_runtime_refuse(runtime, 1, NULL));
    OK(lapwing_runtime_sum(runtime, LAPWING_INT64, numbers, 3));
    CHECK(numbers[0] == size && numbers[2] == size);
    free(all);
}

static void synchronisation(lapwing_runtime* runtime, int rank, int size) {
    int moved = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int received = -1;
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_runtime_barrier_identity(runtime, 5));
    OK(lapwing_runtime_notify(runtime));
    FAILS(LAPWING_ERR_USAGE, "notify", lapwing_runtime_notify(runtime));
    OK(lapwing_runtime_wait(runtime));
    FAILS(LAPWING_ERR_USAGE, "wait", lapwing_runtime_wait(runtime));
    OK(lapwing_runtime_notify_identity(runtime, 9));
    OK(lapwing_runtime_wait_identity(runtime, 9));
    if (size > 1)
        FAILS(LAPWING_ERR_MISMATCH, "lapwing_runtime_barrier_identity",
              lapwing_runtime_barrier_identity(runtime, rank));
    OK(lapwing_runtime_release(runtime));
    OK(lapwing_runtime_acquire(runtime));
    OK(lapwing_runtime_fence(runtime));
    OK(lapwing_runtime_progress(runtime, &moved));
    CHECK(moved == 0 || moved == 1);
    OK(lapwing_runtime_progress(runtime, NULL));
    MPI_Irecv(&received, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    OK(lapwing_runtime_wait_request(runtime, &request, &status));
    CHECK(request == MPI_REQUEST_NULL && received == (rank + size - 1) % size && status.MPI_SOURCE == received);
    FAILS(LAPWING_ERR_USAGE, "'request'", lapwing_runtime_wait_request(runtime, NULL, &status));
}

static void facts(lapwing_runtime* runtime, int rank, int size) {
    int number = -1;
    const char* text = NULL;
    lapwing_statistics statistics, total;
    OK(lapwing_runtime_path(runtime, rank, &number));
    CHECK(number == LAPWING_PATH_SELF);
    FAILS(LAPWING_ERR_RANGE, "rank", lapwing_runtime_path(runtime, size, &number));
    FAILS(LAPWING_ERR_USAGE, "'path'", lapwing_runtime_path(runtime, 0, NULL));
    OK(lapwing_runtime_network_path(runtime, &number));
    CHECK(number >= LAPWING_PATH_DIRECT && number <= LAPWING_PATH_SERVICE);
    OK(lapwing_runtime_progress_mode(runtime, &number));
    CHECK(number == LAPWING_PROGRESS_THREAD || number == LAPWING_PROGRESS_CALLER);
    OK(lapwing_runtime_node_size(runtime, &number));
    CHECK(number >= 1 && number <= size);
    OK(lapwing_runtime_nodes(runtime, &number));
    CHECK(number >= 1 && number <= size);
    OK(lapwing_runtime_report(runtime, &text));
    CHECK(strstr(text, "MPI") != NULL);
    OK(lapwing_runtime_who(runtime, &text));
    CHECK(strstr(text, "rank") != NULL);
    OK(lapwing_runtime_setting(runtime, "LAPWING_SERVICE_IN_FLIGHT", &text));
    CHECK(strcmp(text, "3") == 0);
    FAILS(LAPWING_ERR_SETTING, "LAPWING_NO_SUCH", lapwing_runtime_setting(runtime, "LAPWING_NO_SUCH", &text));
    OK(lapwing_runtime_statistics(runtime, &statistics));
    OK(lapwing_runtime_total_statistics(runtime, &total));
    CHECK(total.messages_sent >= statistics.messages_sent);
    statistics.rma_gets = 7;
    memset(&total, 0, sizeof total);
    total.rma_gets = 3;
    OK(lapwing_statistics_add(&statistics, &total));
    CHECK(statistics.rma_gets == 10);
    OK(lapwing_statistics_json(&total, &text));
    CHECK(text[0] == '{' && strstr(text, "\"rma_gets\": 3") != NULL && text[strlen(text) - 1] == '}');
    FAILS(LAPWING_ERR_USAGE, "'statistics'", lapwing_statistics_json(NULL, &text));
    FAILS(LAPWING_ERR_USAGE, "'other'", lapwing_statistics_add(&total, NULL));
    FAILS(LAPWING_ERR_USAGE, "'statistics'", lapwing_runtime_statistics(runtime, NULL));
    FAILS(LAPWING_ERR_USAGE, "null pointer; make one", lapwing_runtime_report(NULL, &text));
}

int main(void) {
    lapwing_settings* set;
    lapwing_runtime* runtime = NULL;
    lapwing_runtime* copy;
    int rank = -1;
    int size = -1;
    version();
    errors();
    types();
    set = settings();
    FAILS(LAPWING_ERR_USAGE, "null", lapwing_runtime_create(MPI_COMM_WORLD, set, NULL));
    OK(lapwing_runtime_create(MPI_COMM_WORLD, set, &runtime));
    OK(lapwing_settings_free(&set));
    FAILS(LAPWING_ERR_USAGE, "MPI_COMM_NULL", lapwing_runtime_create(MPI_COMM_NULL, NULL, &copy));
    mpi_types();
    OK(lapwing_runtime_rank(runtime, &rank));
    check_rank = rank;
    OK(lapwing_runtime_size(runtime, &size));
    CHECK(rank >= 0 && rank < size);
    FAILS(LAPWING_ERR_USAGE, "'rank'", lapwing_runtime_rank(runtime, NULL));
    FAILS(LAPWING_ERR_USAGE, "the runtime is a null pointer", lapwing_runtime_size(NULL, &size));
    facts(runtime, rank, size);
    values(runtime, rank, size);
    gather_different_numbers(runtime, rank, size);
    arguments_that_differ(runtime, rank, size);
    synchronisation(runtime, rank, size);
    OK(lapwing_runtime_create(MPI_COMM_SELF, NULL, &copy));
    OK(lapwing_runtime_leave(&copy));
    CHECK(copy == NULL);
    copy = runtime;
    OK(lapwing_runtime_free(&runtime));
    CHECK(runtime == NULL);
    OK(lapwing_runtime_free(&runtime));
    FAILS(LAPWING_ERR_USAGE, "the runtime was freed", lapwing_runtime_barrier(copy));
    return 0;
}
