// Room: bindings
/*
 * Lapwing for C (C99); bindings for other languages are built on it. docs/c.md has the rules, and a table of the
 * functions.
 *
 * Functions are lapwing_<object>_<verb>, and return LAPWING_SUCCESS or an error code of lapwing/c/error.h;
 * lapwing_error_text() returns what was wrong, with the rank, the values and the remedy. Results go to pointers, which
 * are the last arguments.
 *
 * Objects are handles: lapwing_<object>_create() makes one, lapwing_<object>_free() frees it and sets the pointer to
 * null. Passing a null handle, or one that was freed recently, returns LAPWING_ERR_USAGE. Texts that a call returns are
 * valid until the same thread's next call that returns one.
 *
 * "Collective": every rank of the runtime makes the call, in the same order, with the same arguments unless stated
 * otherwise. "Local": a rank alone. "One thread": only one thread of the rank at a time may make such calls on the same
 * runtime. "Any thread": several threads may, if MPI provides MPI_THREAD_MULTIPLE. An object may only be freed when no
 * other thread uses it.
 */
#ifndef LAPWING_LAPWING_H
#define LAPWING_LAPWING_H

#include <lapwing/c/aggregator.h>
#include <lapwing/c/array.h>
#include <lapwing/c/completion.h>
#include <lapwing/c/error.h>
#include <lapwing/c/function.h>
#include <lapwing/c/halo.h>
#include <lapwing/c/layout.h>
#include <lapwing/c/mapped.h>
#include <lapwing/c/plan.h>
#include <lapwing/c/prefetch.h>
#include <lapwing/c/reduction.h>
#include <lapwing/c/relabelling.h>
#include <lapwing/c/runtime.h>
#include <lapwing/c/settings.h>
#include <lapwing/c/slice.h>
#include <lapwing/c/statistics.h>
#include <lapwing/c/tools.h>
#include <lapwing/c/type.h>
#include <lapwing/c/version.h>
#include <lapwing/c/window.h>

#endif
