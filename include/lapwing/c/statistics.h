// Room: bindings
/*
 * Counters of runtimes, windows and arrays: docs/troubleshooting.md says what each counts.
 */
#ifndef LAPWING_C_STATISTICS_H
#define LAPWING_C_STATISTICS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A reading of all counters: one member each, in the order in which they are printed.
typedef struct lapwing_statistics {
#define LAPWING_COUNTER(name) uint64_t name;
#include <lapwing/detail/counters/all.inc>
} lapwing_statistics;

/// Adds each counter of `other`: of several ranks, or windows. Local, any thread.
int lapwing_statistics_add(lapwing_statistics* statistics, const lapwing_statistics* other);
/// All counters as one JSON object, {"rma_gets": 3, ...}: `*text` stays until the thread's next call that gives a text.
/// Local, any thread.
int lapwing_statistics_json(const lapwing_statistics* statistics, const char** text);

#ifdef __cplusplus
}
#endif

#endif
