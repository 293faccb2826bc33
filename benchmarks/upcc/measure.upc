/* The benchmarks upcc/local, upcc/random and upcc/remote: loops as programs have them, beside the same on private
 * memory, or beside upc_memget by hand. scripts/bench starts it. */
#include <upc_relaxed.h>

#include <upc_tick.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { own = 2048, spread = 1 << 21, block = 1 << 16, most_repetitions = 99 };

shared double y1[own * THREADS], x1[own * THREADS];
shared [own] double yb[own * THREADS], xb[own * THREADS];
shared [spread] double parts[spread * THREADS]; /* for random accesses: 16 MiB of each thread */
shared [block] double remote[block * THREADS];

static double private_y[own], private_x[own];
static double* private_part;
static double copy[block];
static volatile double sink;

/* --- what is measured */

static void local_private(void) {
    double* const y = private_y;
    const double* const x = private_x;
    for (int i = 0; i < own; ++i) y[i] = y[i] + 3.0 * x[i];
}
static void local_blocks_of_1(void) {
    int i;
    upc_forall (i = 0; i < own * THREADS; i++; &y1[i]) y1[i] = y1[i] + 3.0 * x1[i];
}
static void local_blocks(void) {
    int i;
    upc_forall (i = 0; i < own * THREADS; i++; &yb[i]) yb[i] = yb[i] + 3.0 * xb[i];
}
static void local_number(void) {
    int i;
    upc_forall (i = 0; i < own * THREADS; i++; i) y1[i] = y1[i] + 3.0 * x1[i];
}
static void local_elements(void) {
    for (int i = own * MYTHREAD; i < own * (MYTHREAD + 1); i++) yb[i] = yb[i] + 3.0 * xb[i];
}
static void local_steps(void) {
    for (int i = MYTHREAD; i < own * THREADS; i += THREADS) y1[i] = y1[i] + 3.0 * x1[i];
}
static void local_neighbours(void) {
    int i;
    upc_forall (i = 1; i < own * THREADS - 1; i++; &yb[i]) yb[i] = xb[i - 1] + xb[i + 1];
}
static void private_neighbours(void) {
    for (int i = 1; i < own - 1; i++) private_y[i] = private_x[i - 1] + private_x[i + 1];
}
static void local_pointer(void) {
    shared [] double* y = (shared [] double*)&yb[own * MYTHREAD];
    shared [] double* x = (shared [] double*)&xb[own * MYTHREAD];
    for (int i = 0; i < own; i++) {
        *y = *y + 3.0 * *x;
        y++;
        x++;
    }
}

enum { random_accesses = 4096 };
static unsigned next_place(unsigned* state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 11; /* 21 bits */
}
static void random_private(void) {
    unsigned state = 1;
    double sum = 0;
    for (int i = 0; i < random_accesses; ++i) sum += private_part[next_place(&state)];
    sink = sum;
}
static void random_shared(void) {
    shared [] double* const part = (shared [] double*)&parts[spread * MYTHREAD];
    unsigned state = 1;
    double sum = 0;
    for (int i = 0; i < random_accesses; ++i) sum += part[next_place(&state)];
    sink = sum;
}

static void remote_by_hand(void) {
    const int right = (MYTHREAD + 1) % THREADS;
    double sum = 0;
    upc_memget(copy, &remote[block * right], sizeof copy);
    for (int i = 0; i < block; ++i) sum += copy[i];
    sink = sum;
}
static void remote_elements(void) {
    const int first = block * ((MYTHREAD + 1) % THREADS);
    double sum = 0;
    for (int i = 0; i < block; i++) sum += remote[first + i];
    sink = sum;
}

/* --- measuring */

typedef struct row {
    const char* bench;
    const char* name;
    const char* baseline_name;
    int accesses;
    void (*run)(void);
    void (*baseline)(void);
} row_t;

static const row_t rows[] = {
    {"upcc/local", "upc_forall, &a[i], blocks of 1", "private", own, local_blocks_of_1, local_private},
    {"upcc/local", "upc_forall, &a[i], blocks of 2048", "private", own, local_blocks, local_private},
    {"upcc/local", "upc_forall, i, blocks of 1", "private", own, local_number, local_private},
    {"upcc/local", "for, blocks of 2048", "private", own, local_elements, local_private},
    {"upcc/local", "for, steps of THREADS", "private", own, local_steps, local_private},
    {"upcc/local", "upc_forall, neighbours", "private neighbours", own, local_neighbours, private_neighbours},
    {"upcc/local", "a pointer-to-shared", "private", own, local_pointer, local_private},
    {"upcc/random", "own elements, 16 MiB", "private", random_accesses, random_shared, random_private},
    {"upcc/remote", "elements of another thread's block", "upc_memget and a loop", block, remote_elements, remote_by_hand},
};

/* Seconds of one run, of so many in a row. */
static double seconds(void (*run)(void), long times) {
    upc_barrier;
    const upc_tick_t began = upc_ticks_now();
    for (long k = 0; k < times; ++k) run();
    upc_barrier;
    return 1e-9 * (double)upc_ticks_to_ns(upc_ticks_now() - began) / (double)times;
}

/* The same number with all threads: that of thread 0. */
shared long agreed;
static long times_for(void (*run)(void), double wanted) {
    long times = 1;
    for (;;) {
        const double taken = seconds(run, times) * (double)times;
        if (MYTHREAD == 0) agreed = taken >= wanted / 2 ? 0 : taken < wanted / 20 ? 8 * times : 2 * times;
        upc_barrier;
        const long next = agreed;
        upc_barrier;
        if (next == 0) return times;
        times = next;
    }
}

static int compare_doubles(const void* a, const void* b) {
    const double x = *(const double*)a, z = *(const double*)b;
    return x < z ? -1 : x > z;
}
static double median(double* values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

typedef struct options {
    const char* bench;
    const char* json;
    const char* network;
    const char* mpi;
    const char* path;
    int repetitions;
    double stretch;
} options_t;

static options_t options_of(int argc, char** argv) {
    options_t options = {argc > 2 ? argv[2] : "", NULL, "shm", "", "auto", 9, 0.1};
    for (int k = 3; k + 1 < argc; k += 2) {
        const char* const value = argv[k + 1];
        if (strcmp(argv[k], "--json") == 0) options.json = value;
        else if (strcmp(argv[k], "--network") == 0) options.network = value;
        else if (strcmp(argv[k], "--mpi") == 0) options.mpi = value;
        else if (strcmp(argv[k], "--path") == 0) options.path = value;
        else if (strcmp(argv[k], "--repetitions") == 0) options.repetitions = atoi(value);
        else if (strcmp(argv[k], "--seconds") == 0) options.stretch = atof(value);
    }
    if (options.repetitions < 1) options.repetitions = 1;
    if (options.repetitions > most_repetitions) options.repetitions = most_repetitions;
    return options;
}

static void measure(const row_t* row, const options_t* options, FILE* file, const char* separator) {
    double values[most_repetitions], baselines[most_repetitions], ratios[most_repetitions];
    const long times = times_for(row->run, options->stretch);
    const long baseline_times = times_for(row->baseline, options->stretch);
    for (int k = 0; k < options->repetitions; ++k) {
        const int first = k % 2;
        if (!first) baselines[k] = seconds(row->baseline, baseline_times);
        values[k] = seconds(row->run, times);
        if (first) baselines[k] = seconds(row->baseline, baseline_times);
        ratios[k] = baselines[k] / values[k];
    }
    if (MYTHREAD != 0) return;
    const double unit = 1e9 / row->accesses; /* ns of an access */
    const double value = unit * median(values, options->repetitions);
    const double baseline = unit * median(baselines, options->repetitions);
    const double ratio = median(ratios, options->repetitions);
    const int last = options->repetitions - 1;
    printf("%s, %s: %.3f ns, %.2f times %s\n", row->bench, row->name, value, ratio, row->baseline_name);
    if (file == NULL) return;
    fprintf(file,
            "%s{\"bench\": \"%s\", \"case\": \"%s\", \"mpi\": \"%s\", \"network\": \"%s\", \"path\": \"%s\", \"ranks\": %d, "
            "\"metric\": \"time\", \"unit\": \"ns\", \"value\": %.6g, \"min\": %.6g, \"max\": %.6g, \"repetitions\": %d, "
            "\"baseline\": \"%s\", \"baseline_value\": %.6g, \"ratio\": %.6g}",
            separator, row->bench, row->name, options->mpi, options->network, options->path, THREADS, value,
            unit * values[0], unit * values[last], options->repetitions, row->baseline_name, baseline, ratio);
}

int main(int argc, char** argv) {
    const options_t options = options_of(argc, argv);
    const char* separator = "";
    FILE* const file = MYTHREAD == 0 && options.json != NULL ? fopen(options.json, "w") : NULL;
    private_part = malloc(spread * sizeof(double));
    double* const part = (double*)&parts[spread * MYTHREAD];
    for (int i = 0; i < spread; ++i) private_part[i] = part[i] = i;
    for (int i = 0; i < block; ++i) remote[block * MYTHREAD + i] = i;
    // Also private ones: an array that nothing writes is a constant for the compiler.
    for (int i = 0; i < own; ++i) private_x[i] = x1[THREADS * i + MYTHREAD] = xb[own * MYTHREAD + i] = i;
    upc_barrier;
    if (file != NULL) fprintf(file, "{\"machine\": {}, \"rows\": [");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        if (strcmp(rows[k].bench, options.bench) != 0) continue;
        measure(&rows[k], &options, file, separator);
        separator = ", ";
    }
    if (file != NULL) {
        fprintf(file, "]}\n");
        fclose(file);
    }
    upc_barrier;
    free(private_part);
    return 0;
}
