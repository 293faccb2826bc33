#!/usr/bin/env python3
"""Writes the C source of lapwing._core_MPI: what include/lapwing/c/*.h declares, as cffi makes it callable.

usage: build_core.py INCLUDE_DIRECTORY MODULE OUTPUT.c [--declarations]

The headers are the one description of the interface: a function that is added there can be called from Python after the next build.
cffi releases the GIL around each call.
"""

import re
import sys
from pathlib import Path

# Types of MPI, which only the C compiler knows: structures of bytes here, whatever they are there.
MPI_TYPES = ("MPI_Comm", "MPI_Win", "MPI_Datatype", "MPI_Request", "MPI_Status", "MPI_Op")

# Python functions that the library calls: typedefs of the headers, with the object that knows what to do as the context.
CALLBACKS = """
extern "Python" int lapwing_python_progress(void* context, uint64_t done, uint64_t all);
extern "Python" int lapwing_python_fill(void* context, uint64_t first, void* memory, uint64_t bytes);
extern "Python" void lapwing_python_combine(void* context, void* left, const void* right);
extern "Python" void lapwing_python_accumulate(void* context, void* value, const int64_t* index, const void* element);
extern "Python" void lapwing_python_apply(void* context, void* target, const void* source);
extern "Python" void lapwing_python_locate(void* context, const lapwing_shape* shape, const int64_t* index, lapwing_place* place);
extern "Python" uint64_t lapwing_python_capacity(void* context, const lapwing_shape* shape);
extern "Python" uint64_t lapwing_python_domain_count(void* context, const lapwing_shape* shape, int rank);
extern "Python" void lapwing_python_domain(void* context, const lapwing_shape* shape, int rank, uint64_t k, lapwing_range* ranges);
extern "Python" int lapwing_python_signals(void* context);
extern "Python" int lapwing_python_call(void* context, void* element, const void* argument, uint64_t argument_bytes, void* result, uint64_t* result_bytes);
extern "Python" int lapwing_python_needed(void* context, const lapwing_range* own, lapwing_needed* needed);
"""

EXTRA = """
void lapwing_python_world(MPI_Comm* communicator);
int lapwing_python_mpi_state(void);
int lapwing_python_mpi_version(char* text);
int lapwing_python_mpi_abort(int code);
int lapwing_python_watch_end(void);
int lapwing_python_watch_signals(uint64_t main_thread);
int lapwing_python_wait_ended(void);
"""

SOURCE = """
#include <lapwing/lapwing.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void lapwing_python_world(MPI_Comm* communicator) { *communicator = MPI_COMM_WORLD; }
/* 0: not initialised, 1: in use, 2: finalized. */
static int lapwing_python_mpi_state(void) {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return finalized ? 2 : initialized;
}
static int lapwing_python_mpi_version(char* text) {
    int length = 0;
    MPI_Get_library_version(text, &length);
    return length;
}
static int lapwing_python_mpi_abort(int code) { return MPI_Abort(MPI_COMM_WORLD, code); }
/* A process that ends without MPI_Finalize is ended with its job: by MPICH 4.0 with the status of that process, which must say that
 * something failed, since the rank that failed may be killed before it has ended with a status of its own. */
static pid_t lapwing_python_process;
static void lapwing_python_end(void) {
    if (getpid() != lapwing_python_process || lapwing_python_mpi_state() != 1) return;
    fflush(NULL);
    _exit(1);
}
static int lapwing_python_watch_end(void) {
    lapwing_python_process = getpid();
    return atexit(lapwing_python_end);
}
/* Python runs handlers of signals in its main thread alone: no other one that waits takes the GIL for them. */
static int lapwing_python_signals(void* context);
static pthread_t lapwing_python_main_thread;
static int lapwing_python_asks; /* atomic, since other threads may be in calls when it changes */
static int lapwing_python_has_ended_wait;
static int lapwing_python_in_main_thread(void) { return pthread_equal(pthread_self(), lapwing_python_main_thread); }
static int lapwing_python_ask(void* context) {
    if (!__atomic_load_n(&lapwing_python_asks, __ATOMIC_ACQUIRE) || !lapwing_python_in_main_thread()) return 0;
    if (!lapwing_python_signals(context)) return 0;
    lapwing_python_has_ended_wait = 1;
    return 1;
}
/* 0: from now on nobody is asked, though the hook stays. */
static int lapwing_python_watch_signals(uint64_t main_thread) {
    int code = 0;
    if (main_thread) {
        lapwing_python_main_thread = (pthread_t)main_thread;
        code = lapwing_wait_set_hook(lapwing_python_ask, NULL);
    }
    __atomic_store_n(&lapwing_python_asks, main_thread != 0, __ATOMIC_RELEASE);
    return code;
}
/* Whether a signal has ended a wait of the calling thread since this was asked last. */
static int lapwing_python_wait_ended(void) {
    int ended = lapwing_python_in_main_thread() && lapwing_python_has_ended_wait;
    if (ended) lapwing_python_has_ended_wait = 0;
    return ended;
}
"""


def declarations(include):
    """What cffi's parser understands of the headers."""
    text = ""
    order = ("error", "type", "settings", "statistics", "runtime", "completion", "layout", "window", "array", "halo", "slice", "plan", "prefetch")
    headers = {path.stem: path for path in (include / "lapwing/c").glob("*.h")}
    # Types come before their uses; a new header is likely to use the others.
    for name in [*order, *sorted(set(headers) - set(order))]:
        text += headers[name].read_text()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = text.replace("\\\n", " ")
    text = re.sub(r"^LAPWING_\w+_FUNCTIONS_(OF_TYPE_)?\([^\n]*$", "", text, flags=re.MULTILINE)
    # The counters are read as JSON.
    text = re.sub(r"typedef struct lapwing_statistics \{.*?\} lapwing_statistics;", "typedef struct lapwing_statistics { ...; } lapwing_statistics;",
                  text, flags=re.DOTALL)
    text = re.sub(r"^\s*#[^\n]*$", "", text, flags=re.MULTILINE)
    text = text.replace('extern "C" {', "")
    # Inline functions: what they do is in elements.c.
    text = re.sub(r"^static inline .*?^\}$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\}$", "", text, flags=re.MULTILINE)  # that of extern "C"
    text = text.replace("LAPWING_MAX_DIMENSIONS", "8")
    text = re.sub(r"\n\s*\n+", "\n", text)
    mpi = "".join(f"typedef struct {{ ...; }} {name};\n" for name in MPI_TYPES)
    return mpi + "typedef intptr_t MPI_Aint;\n" + text


def main():
    if "--declarations" in sys.argv:
        print(declarations(Path(sys.argv[1])))
        return
    import cffi

    include, module, output = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    ffi = cffi.FFI()
    ffi.cdef(declarations(include) + CALLBACKS + EXTRA)
    ffi.set_source(module, SOURCE)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main()
