/* Apex-MAP, as upc/apex-map of benchmarks/upc: every thread reads vectors of L doubles in the part of the next one, at
 * places M r^(1/K) with r random in [0, 1). L is the spatial locality, K the temporal. The corners of both; all points
 * with the argument `full`. With LAPWING_CACHE=epoch what threads of other nodes have is cached. */
#include "bench.h"

#include <math.h>
#include <string.h>

#ifndef WORDS
#define WORDS (33L << 18) /* M, of each thread: 66 MiB */
#endif
#ifndef ACCESSES
#define ACCESSES (1L << 17)
#endif

shared [WORDS] double array[WORDS * THREADS];

static const long lengths[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
static const double localities[] = {1.0, 0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.001};
enum { length_count = sizeof lengths / sizeof *lengths, locality_count = sizeof localities / sizeof *localities };

static long begins[ACCESSES];
static void draw_vectors(long length, double k) {
    uint64_t draws = draws_of(MYTHREAD);
    for (long v = 0; v < ACCESSES / length; v++) {
        const double r = (double)draw(&draws, 53) * 0x1.0p-53;
        begins[v] = (long)(pow(r, 1 / k) * (double)(WORDS / length)) * length;
    }
}

static double read_vectors(shared [] double* part, long length) {
    double sum = 0;
    for (long v = 0; v < ACCESSES / length; v++) {
        shared [] double* vector = part + begins[v];
        for (long i = 0; i < length; i++) sum += vector[i];
    }
    return sum;
}

static void probe(long length, double k) {
    char what[80];
    double expected = 0, sum, begin;
    draw_vectors(length, k);
    for (long v = 0; v < ACCESSES / length; v++) expected += (double)length * begins[v] + length * (length - 1) / 2;
    upc_barrier;
    begin = now();
    sum = read_vectors((shared [] double*)&array[(MYTHREAD + 1) % THREADS * WORDS], length);
    upc_barrier;
    snprintf(what, sizeof what, "L = %ld, K = %g", length, k);
    report_sum(what, now() - begin, ACCESSES / length * length, sum);
    expect(what, sum, expected);
}

int main(int argc, char** argv) {
    const int full = argc > 1 && strcmp(argv[1], "full") == 0;
    double* own = (double*)&array[MYTHREAD * WORDS];
    for (long i = 0; i < WORDS; i++) own[i] = i;
    for (int l = 0; l < length_count; l += full ? 1 : length_count - 1)
        for (int k = 0; k < locality_count; k += full ? 1 : locality_count - 1) probe(lengths[l], localities[k]);
    return wrong;
}
