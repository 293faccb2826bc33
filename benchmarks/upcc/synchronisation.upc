/* Arithmetic of pointers-to-shared, barriers and locks: upc/pointer and upc/synchronisation of benchmarks/upc. */
#include "bench.h"

#ifndef ROUNDS
#define ROUNDS 1000
#endif

/* --- pointers */

enum { steps = 1000, elements = 40000 };
static int distances[steps];
static long distance; /* all of them */

#define POINTER(name, block)                                                                                           \
    static void name(void) {                                                                                           \
        static shared [block] char a[(size_t)elements * THREADS];                                                      \
        shared [block] char* const first = a + elements / 2;                                                           \
        shared [block] char* volatile last;                                                                            \
        const double begin = now();                                                                                    \
        for (int round = 0; round < ROUNDS; round++) {                                                                 \
            shared [block] char* p = first;                                                                            \
            for (int k = 0; k < steps; k++) p += distances[k];                                                         \
            last = p;                                                                                                  \
        }                                                                                                              \
        report("p += k, shared [" #block "]", now() - begin, (double)ROUNDS * steps);                                  \
        expect(#name, last - first, distance);                                                                         \
        expect(#name, last - a, elements / 2 + distance);                                                              \
        expect(#name, upc_threadof(last), (elements / 2 + distance) / block % THREADS);                                \
        expect(#name, upc_phaseof(last), (elements / 2 + distance) % block);                                           \
    }
POINTER(blocks_of_1, 1)
POINTER(blocks_of_8, 8)
POINTER(blocks_of_1024, 1024)
POINTER(blocks_of_7, 7)
POINTER(blocks_of_1000, 1000)

static void indefinite(void) {
    shared [] char* const a = (shared [] char*)upc_alloc(elements);
    shared [] char* volatile last;
    const double begin = now();
    for (int round = 0; round < ROUNDS; round++) {
        shared [] char* p = a + elements / 2;
        for (int k = 0; k < steps; k++) p += distances[k];
        last = p;
    }
    report("p += k, shared []", now() - begin, (double)ROUNDS * steps);
    expect("indefinite", last - a, elements / 2 + distance);
    upc_free(a);
}

/* --- barriers and locks */

shared int rounds_of[THREADS];
shared long counted;

static void barriers(void) {
    double begin;
    upc_barrier;
    begin = now();
    for (int round = 0; round < ROUNDS; round++) upc_barrier;
    report("upc_barrier", now() - begin, ROUNDS);
    for (int round = 1; round <= 10; round++) {
        rounds_of[MYTHREAD] = round;
        upc_barrier;
        for (int t = 0; t < THREADS; t++) expect("upc_barrier", rounds_of[t], round);
        upc_barrier;
    }
}

static void locks(void) {
    upc_lock_t* made[100];
    upc_lock_t* const lock = upc_all_lock_alloc();
    double begin = now();
    if (MYTHREAD == 0)
        for (int round = 0; round < ROUNDS / 100; round++) {
            for (int k = 0; k < 100; k++) made[k] = upc_global_lock_alloc();
            for (int k = 0; k < 100; k++) upc_lock_free(made[k]);
        }
    report("a lock made and freed", now() - begin, ROUNDS);
    begin = now();
    if (MYTHREAD == 0)
        for (int round = 0; round < ROUNDS; round++) {
            upc_lock(lock);
            upc_unlock(lock);
        }
    report("a lock, nobody waits", now() - begin, ROUNDS);
    upc_barrier;
    begin = now();
    for (int round = 0; round < ROUNDS; round++) {
        upc_lock(lock);
        counted++;
        upc_unlock(lock);
    }
    upc_barrier;
    report("a lock, all take it", now() - begin, ROUNDS);
    expect("a lock", counted, (double)ROUNDS * THREADS);
    upc_all_lock_free(lock);
}

int main(void) {
    for (int k = 0; k < steps; k++) distance += distances[k] = k * 7919 % 1009 - 504;
    indefinite();
    blocks_of_1();
    blocks_of_8();
    blocks_of_1024();
    blocks_of_7();
    blocks_of_1000();
    barriers();
    locks();
    return wrong;
}
