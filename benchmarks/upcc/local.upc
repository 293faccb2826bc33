/* Own elements of shared arrays, beside private ones, in loops and at random: upc/local of benchmarks/upc. */
#include "bench.h"

#ifndef PART_BITS
#define PART_BITS 21 /* 16 MiB of each thread */
#endif
#ifndef ROUNDS
#define ROUNDS 1000
#endif
#define OWN 2048 /* they stay in the first cache */
#define PART (1L << PART_BITS)
#define ACCESSES (ROUNDS * 64L)

shared double y1[OWN * THREADS], x1[OWN * THREADS];
shared [16] double y16[OWN * THREADS], x16[OWN * THREADS];
shared [OWN] double y[OWN * THREADS], x[OWN * THREADS];
static double private_y[OWN], private_x[OWN];

static void by_forall_1(void) {
    int i;
    upc_forall (i = 0; i < OWN * THREADS; i++; &y1[i]) y1[i] = y1[i] + 3.0 * x1[i];
}
static void by_forall_16(void) {
    int i;
    upc_forall (i = 0; i < OWN * THREADS; i++; &y16[i]) y16[i] = y16[i] + 3.0 * x16[i];
}
static void by_forall(void) {
    int i;
    upc_forall (i = 0; i < OWN * THREADS; i++; &y[i]) y[i] = y[i] + 3.0 * x[i];
}
static void by_pointer(void) {
    shared [OWN] double* to = &y[OWN * MYTHREAD];
    shared [OWN] double* from = &x[OWN * MYTHREAD];
    for (int i = 0; i < OWN; i++, to++, from++) *to = *to + 3.0 * *from;
}
static void by_pointer_to_private(double* to, const double* from) {
    for (int i = 0; i < OWN; i++) to[i] = to[i] + 3.0 * from[i];
}
static void after_cast(void) { by_pointer_to_private((double*)&y[OWN * MYTHREAD], (double*)&x[OWN * MYTHREAD]); }
static void private_memory(void) { by_pointer_to_private(private_y, private_x); }

/* `own_y` and `own_x` are what `loop` goes through. */
static void measure(const char* name, void (*loop)(void), double* own_y, double* own_x) {
    double begin;
    for (int i = 0; i < OWN; i++) {
        own_y[i] = 1;
        own_x[i] = i;
    }
    upc_barrier;
    begin = now();
    for (int round = 0; round < ROUNDS; round++) loop();
    report(name, now() - begin, (double)ROUNDS * OWN);
    for (int i = 0; i < OWN; i++) expect(name, own_y[i], 1 + 3.0 * ROUNDS * i);
    upc_barrier;
}

/* --- at random */

shared double dealt[PART * THREADS];
static double private_part[PART];

static void at_random(void) {
    uint64_t draws = draws_of(MYTHREAD);
    double sum = 0, expected = 0, begin = now();
    for (long k = 0; k < ACCESSES; k++) sum += dealt[draw(&draws, PART_BITS) * THREADS + MYTHREAD];
    report("random reads, a[i], blocks of 1", now() - begin, ACCESSES);
    begin = now();
    draws = draws_of(MYTHREAD);
    for (long k = 0; k < ACCESSES; k++) expected += private_part[draw(&draws, PART_BITS)];
    report("random reads, private", now() - begin, ACCESSES);
    expect("random reads", sum, expected);

    const uint64_t next_draws = draws;
    begin = now();
    for (long k = 0; k < ACCESSES; k++) dealt[draw(&draws, PART_BITS) * THREADS + MYTHREAD] = 1;
    report("random writes, a[i], blocks of 1", now() - begin, ACCESSES);
    draws = next_draws;
    begin = now();
    for (long k = 0; k < ACCESSES; k++) private_part[draw(&draws, PART_BITS)] = 1;
    report("random writes, private", now() - begin, ACCESSES);
    for (long i = 0; i < PART; i++) expect("random writes", dealt[i * THREADS + MYTHREAD], private_part[i]);
}

int main(void) {
    double* own = (double*)&dealt[MYTHREAD];
    measure("private", private_memory, private_y, private_x);
    measure("upc_forall, blocks of 1", by_forall_1, (double*)&y1[MYTHREAD], (double*)&x1[MYTHREAD]);
    measure("upc_forall, blocks of 16", by_forall_16, (double*)&y16[16 * MYTHREAD], (double*)&x16[16 * MYTHREAD]);
    measure("upc_forall, blocks of 2048", by_forall, (double*)&y[OWN * MYTHREAD], (double*)&x[OWN * MYTHREAD]);
    measure("a pointer-to-shared", by_pointer, (double*)&y[OWN * MYTHREAD], (double*)&x[OWN * MYTHREAD]);
    measure("after a cast", after_cast, (double*)&y[OWN * MYTHREAD], (double*)&x[OWN * MYTHREAD]);
    for (long i = 0; i < PART; i++) own[i] = private_part[i] = i + MYTHREAD;
    at_random();
    return wrong;
}
