/* What the measuring programs here share: a clock, the random numbers of benchmarks/upc/accesses.hpp, and checks. */
#include <stdint.h>
#include <stdio.h>
#include <upc_relaxed.h>
#include <upc_tick.h>

static inline double now(void) { return 1e-9 * (double)upc_ticks_to_ns(upc_ticks_now()); }

/* Of a thread, or of another sequence: the same in each run. */
static inline uint64_t draws_of(int sequence) { return sequence * 0x9E3779B97F4A7C15u + 1; }
/* In [0, 2^bits). */
static inline int64_t draw(uint64_t* draws, int bits) {
    *draws = *draws * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*draws >> (64 - bits));
}

static inline void report(const char* what, double seconds, double operations) {
    if (MYTHREAD == 0) printf("%s: %.4g us\n", what, 1e6 * seconds / operations);
}
/* With what thread 0 has read. */
static inline void report_sum(const char* what, double seconds, double operations, double sum) {
    if (MYTHREAD == 0) printf("%s: %.4g us, sum %.0f\n", what, 1e6 * seconds / operations, sum);
}

static int wrong; /* of this thread; main returns it */
static inline void expect(const char* what, double found, double expected) {
    if (found == expected) return;
    wrong = 1;
    fprintf(stderr, "thread %d of %d: %s: %.17g, and not %.17g\n", MYTHREAD, THREADS, what, found, expected);
}
