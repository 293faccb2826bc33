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

/// Adds all counters of `other`, for sums over ranks or windows. Local, any thread.
int lapwing_statistics_add(lapwing_statistics* statistics, const lapwing_statistics* other);
/// All counters as one JSON object, {"rma_gets": 3, ...}: `*text` is valid until the thread's next call that returns a
/// text. Local, any thread.
int lapwing_statistics_json(const lapwing_statistics* statistics, const char** text);

#ifdef __cplusplus
}
#endif

#endif
