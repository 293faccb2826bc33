// Room: bindings
/*
 * Lapwing for C (C99), and what bindings for other languages stand on. docs/c.md has the rules, and a table of the
 * functions.
 *
 * Functions are lapwing_<object>_<verb>, and return LAPWING_SUCCESS or another code of lapwing/c/error.h;
 * lapwing_error_text() says what was wrong, with the rank, the values and the remedy. Results go to pointers, which are
 * the last arguments.
 *
 * Objects are handles: lapwing_<object>_create() makes one, lapwing_<object>_free() frees it and makes the pointer
 * null. A null handle, and one that was freed recently, is LAPWING_ERR_USAGE. Texts that are given stay until the
 * thread's next call that gives one.
 *
 * "Collective": every rank of the runtime calls, in the same order, with the same arguments where nothing else is said.
 * "Local": a rank alone. "One thread": one thread of the rank at a time makes such calls on the same runtime. "Any
 * thread": several threads may, if MPI provides MPI_THREAD_MULTIPLE. Freeing an object is for a thread that knows that
 * no other uses it.
 */
#ifndef LAPWING_LAPWING_H
#define LAPWING_LAPWING_H

#include <lapwing/c/array.h>
#include <lapwing/c/completion.h>
#include <lapwing/c/error.h>
#include <lapwing/c/halo.h>
#include <lapwing/c/layout.h>
#include <lapwing/c/plan.h>
#include <lapwing/c/runtime.h>
#include <lapwing/c/settings.h>
#include <lapwing/c/slice.h>
#include <lapwing/c/statistics.h>
#include <lapwing/c/type.h>
#include <lapwing/c/window.h>

#endif
