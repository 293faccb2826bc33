/* Allocations in a heap with many free blocks, and collectives of blocks beside a transfer for each block: upc/heap and
 * upc/blocks of benchmarks/upc. */
#include "bench.h"

#include <stdlib.h>
#include <upc_collective.h>
#include <upc_nb.h>

#ifndef ROUNDS
#define ROUNDS 1000
#endif

/* --- the heap */

typedef shared [40] char* block_t; /* 40 bytes with each thread */

/* The last thread allocates, which is on another node than thread 0 if there are several. */
static void measure_heap(int blocks) {
    block_t* made = NULL;
    char what[80];
    double begin;
    if (MYTHREAD == THREADS - 1) {
        made = malloc((2 * blocks + 1) * sizeof *made);
        for (int k = 0; k < 2 * blocks; k++) {
            made[k] = (block_t)upc_global_alloc(THREADS, 40);
            upc_memset(made[k] + 40 * (k % THREADS), k % 127, 40);
        }
        for (int k = 0; k < 2 * blocks; k += 2) upc_free(made[k]);
    }
    upc_barrier;
    begin = now();
    if (MYTHREAD == THREADS - 1)
        for (int round = 0; round < ROUNDS; round++) {
            shared void* large = upc_global_alloc(THREADS, 4000);
            upc_free(large);
        }
    upc_barrier;
    snprintf(what, sizeof what, "upc_global_alloc and upc_free, %d free blocks", blocks);
    report(what, now() - begin, ROUNDS);
    if (MYTHREAD != THREADS - 1) return;
    for (int k = 1; k < 2 * blocks; k += 2) {
        char found[40];
        upc_memget(found, made[k] + 40 * (k % THREADS), 40);
        for (int i = 0; i < 40; i++) expect(what, found[i], k % 127);
        upc_free(made[k]);
    }
    free(made);
}

/* --- collectives */

/* A block of so many bytes for each thread in the part of each thread, twice. */
static shared char* from;
static shared char* to;
static size_t bytes;

static shared [] char* block_of(shared char* array, int thread, int block) {
    return (shared [] char*)(array + thread) + block * bytes;
}
static char value(int from_thread, int to_thread, size_t k) { return from_thread * 31 + to_thread * 7 + k % 11; }

static void scatter(void) { upc_all_scatter(to, from, bytes, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC); }
static void get_of_first(void) {
    upc_barrier;
    upc_memget((char*)block_of(to, MYTHREAD, 0), block_of(from, 0, MYTHREAD), bytes);
    upc_barrier;
}
static void exchange(void) { upc_all_exchange(to, from, bytes, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC); }
static void gets_of_all(void) {
    upc_barrier;
    for (int k = 1; k <= THREADS; k++) {
        const int t = (MYTHREAD + k) % THREADS;
        upc_memget_nbi((char*)block_of(to, MYTHREAD, t), block_of(from, t, MYTHREAD), bytes);
    }
    upc_synci();
    upc_barrier;
}

/* What each of the first `threads` threads has for this one arrives. */
static void measure_blocks(const char* name, void (*once)(void), int threads) {
    const int rounds = ROUNDS / 10 + 1;
    char what[80];
    double begin;
    upc_memset(block_of(to, MYTHREAD, 0), 0, bytes * THREADS);
    upc_barrier;
    begin = now();
    for (int round = 0; round < rounds; round++) once();
    snprintf(what, sizeof what, "%s, blocks of %zu", name, bytes);
    report(what, now() - begin, rounds);
    for (int t = 0; t < threads; t++) {
        const char* own = (char*)block_of(to, MYTHREAD, t);
        for (size_t k = 0; k < bytes; k++) expect(what, own[k], value(t, MYTHREAD, k));
    }
}

int main(void) {
    static const int blocks[] = {0, 100, 4000};
    static const size_t sizes[] = {8, 512, 4096, 65536};
    for (int k = 0; k < 3; k++) measure_heap(blocks[k]);
    for (int k = 0; k < 4; k++) {
        bytes = sizes[k];
        from = (shared char*)upc_all_alloc(THREADS, bytes * THREADS);
        to = (shared char*)upc_all_alloc(THREADS, bytes * THREADS);
        for (int t = 0; t < THREADS; t++)
            for (size_t i = 0; i < bytes; i++) ((char*)block_of(from, MYTHREAD, t))[i] = value(MYTHREAD, t, i);
        measure_blocks("upc_all_scatter", scatter, 1);
        measure_blocks("a get each", get_of_first, 1);
        measure_blocks("upc_all_exchange", exchange, THREADS);
        measure_blocks("gets of all", gets_of_all, THREADS);
        upc_all_free(from);
        upc_all_free(to);
    }
    return wrong;
}
