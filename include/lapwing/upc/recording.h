// Room: upc
/* Records of a program's accesses to shared memory, as by MuPC's routines (Zhang, 2007, section 4.5). Off by default,
 * and then at no cost. While they are on, each access goes through the runtime; accesses through cast pointers are not
 * recorded. */
#ifndef LAPWING_UPC_RECORDING_H
#define LAPWING_UPC_RECORDING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Accesses of one thread, to elements and blocks of memory; local: its own, remote: with affinity to other threads. */
typedef struct lapwing_upc_access_counts {
    uint64_t local_reads;
    uint64_t local_writes;
    uint64_t remote_reads;
    uint64_t remote_writes;
    uint64_t cache_hits; /* of the remote ones that are not loads and stores, if the heap is cached */
    uint64_t cache_misses;
    uint64_t remote_bytes; /* read and written by the remote ones */
} lapwing_upc_access_counts;

/* Starts recording, and adds to what was recorded before; with by_line also for each place in the program that
 * accesses. Local calls. LAPWING_UPC_RECORD=threads or lines records a whole program, and prints at its end. */
void lapwing_upc_record_start(int by_line);
void lapwing_upc_record_stop(void);
/* 0: nothing is recorded, 1: accesses are, 2: also by place in the program. */
int lapwing_upc_recording(void);
/* What the calling thread has recorded. */
lapwing_upc_access_counts lapwing_upc_recorded(void);
/* Collective. Thread 0 prints, on standard error, a line for each of the 64 threads, and of the 64 places, with the
 * most accesses. Places are printed as source lines if the program was compiled with -g and the command addr2line is
 * available, otherwise as addresses. */
void lapwing_upc_record_report(void);

#ifdef __cplusplus
}
#endif

#endif /* LAPWING_UPC_RECORDING_H */
