/* What the NAS Parallel Benchmarks in UPC share. They are written here from their specification (Bailey et al., "The
 * NAS Parallel Benchmarks", RNR-94-007, and the classes and verification values of NPB 2 and 3), as one writes them
 * first: shared arrays, upc_forall, and elements wherever they are.
 *
 * -DNAS_CLASS='A' chooses the size: S (without it), W or A. A program ends with 0 where its results are right. */
#ifndef NAS_H
#define NAS_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <upc_relaxed.h>
#include <upc_tick.h>

#ifndef NAS_CLASS
#define NAS_CLASS 'S'
#endif
/* The value for the class. */
#define NAS_CHOOSE(of_s, of_w, of_a) (NAS_CLASS == 'S' ? (of_s) : NAS_CLASS == 'W' ? (of_w) : (of_a))

/* The specification's random numbers: x_{k+1} = 5^13 x_k mod 2^46, scaled to (0, 1). (RNR-94-007, section 2.3) */
#define NAS_MULTIPLIER 1220703125u
#define NAS_MASK ((UINT64_C(1) << 46) - 1)
static inline double nas_random(uint64_t* state) {
    *state = NAS_MULTIPLIER * *state & NAS_MASK;
    return (double)*state * 0x1p-46;
}
/* The state that `steps` steps lead to. */
static inline uint64_t nas_skip(uint64_t state, uint64_t steps) {
    uint64_t a = NAS_MULTIPLIER;
    for (; steps != 0; steps >>= 1, a = a * a & NAS_MASK)
        if (steps & 1) state = a * state & NAS_MASK;
    return state;
}

/* The thread of plane k of n, of which each thread has so many. */
static inline int nas_owner(int k, int n) {
    const int each = (n + THREADS - 1) / THREADS;
    return k / each;
}

static shared double nas_partial[THREADS];
/* The sum over the threads. Collective. */
static inline double nas_sum(double mine) {
    double all = 0;
    int t;
    nas_partial[MYTHREAD] = mine;
    upc_barrier;
    for (t = 0; t < THREADS; t++) all += nas_partial[t];
    upc_barrier;
    return all;
}

static upc_tick_t nas_begin;
/* Between the two is what NPB times. Collective. */
static inline void nas_start(void) {
    upc_barrier;
    nas_begin = upc_ticks_now();
}
static inline double nas_stop(void) {
    upc_barrier;
    return (double)upc_ticks_to_ns(upc_ticks_now() - nas_begin) * 1e-9;
}

static inline int nas_close(double value, double expected) { return fabs((value - expected) / expected) <= 1e-8; }

/* Thread 0 prints the line that scripts/bench reads; the result is the exit code. Collective. */
static inline int nas_end(const char* name, double seconds, double million_operations, int verified) {
    upc_barrier;
    if (MYTHREAD == 0)
        printf("%s, class %c, %d threads: %.6f seconds, %.1f Mop/s, %s\n", name, NAS_CLASS, THREADS, seconds,
               million_operations / seconds, verified ? "verified" : "NOT VERIFIED");
    return verified ? 0 : 1;
}

#endif
