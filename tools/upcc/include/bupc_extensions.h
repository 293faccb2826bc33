/* Extensions of Berkeley UPC that programs use: ticks, polling, the distance of threads, transfers that go on beside
 * the program, semaphores, and puts that signal one. Included by itself, or by bupc_collectivev.h. */
#ifndef LAPWING_UPCC_EARLY
#include <inttypes.h>
#include <stdio.h>
#else /* before the program's first line, which may choose what C's headers declare */
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
#endif
#ifndef LAPWING_UPCC_BUPC_EXTENSIONS_H
#define LAPWING_UPCC_BUPC_EXTENSIONS_H

#include <bupc_atomics.h>
#include <bupc_memory.h>
#include <bupc_teams.h>
#include <upc.h>
#include <upc_castable.h>
#include <upc_nb.h>
#include <upc_tick.h>

typedef upc_tick_t bupc_tick_t;
#define BUPC_TICK_MAX UPC_TICK_MAX
#define BUPC_TICK_MIN UPC_TICK_MIN
#define bupc_ticks_now() upc_ticks_now()
#define bupc_ticks_to_ns(ticks) upc_ticks_to_ns(ticks)
#define bupc_ticks_to_us(ticks) (upc_ticks_to_ns(ticks) / 1000)
/* The smallest difference of two times, and what finding out one takes: measured at each call, in microseconds. */
static inline double lapwing_upcc_tick_granularity(void) {
    upc_tick_t smallest = UPC_TICK_MAX;
    for (int k = 0; k < 100; ++k) {
        const upc_tick_t begin = upc_ticks_now();
        upc_tick_t now = begin;
        while (now == begin) now = upc_ticks_now();
        if (now - begin < smallest) smallest = now - begin;
    }
    return (double)upc_ticks_to_ns(smallest) * 1e-3;
}
static inline double lapwing_upcc_tick_overhead(void) {
    const upc_tick_t begin = upc_ticks_now();
    for (int k = 0; k < 1000; ++k) (void)upc_ticks_now();
    return (double)upc_ticks_to_ns(upc_ticks_now() - begin) * 1e-6;
}
#define bupc_tick_granularityus() lapwing_upcc_tick_granularity()
#define bupc_tick_overheadus() lapwing_upcc_tick_overhead()

/* For programs whose main is C's: UPC has started before main, and ends after it. */
extern void bupc_init(int* argc, char*** argv);
extern void bupc_init_reentrant(int* argc, char*** argv, int (*program)(int, char**));
extern void bupc_exit(int status) __attribute__((noreturn));

extern char* bupc_getenv(const char* name) __asm__("bupc_extern_getenv");

/* Sees what others have written, and lets them go on. */
#define bupc_poll() upc_poll()

/* Tracing and statistics: there are none, so that what programs say about them has no effect. */
#define bupc_trace_printf(text_and_values) ((void)0)
#define bupc_trace_setmask(mask) ((void)(mask))
#define bupc_trace_getmask() ""
#define bupc_trace_settracelocal(on) ((void)(on))
#define bupc_trace_gettracelocal() (0)
#define bupc_stats_setmask(mask) ((void)(mask))
#define bupc_stats_getmask() ""
#define bupc_stats_dump() ((void)0)

#define BUPC_THREADS_SAME 0
#define BUPC_THREADS_VERYNEAR 100
#define BUPC_THREADS_NEAR 200
#define BUPC_THREADS_FAR 300
#define BUPC_THREADS_VERYFAR 400
/* VERYNEAR where both threads share the caller's memory, else FAR, also where they share another node's. */
static inline unsigned int bupc_thread_distance(int a, int b) {
    if (a == b) return BUPC_THREADS_SAME;
    return upc_thread_info((size_t)a).guaranteedCastable && upc_thread_info((size_t)b).guaranteedCastable
               ? BUPC_THREADS_VERYNEAR
               : BUPC_THREADS_FAR;
}

/* Whether two types, or types of expressions, are the same. */
#define bupc_assert_type(a, b) __builtin_types_compatible_p(__typeof__(a)*, __typeof__(b)*)

#define bupc_cast(p) upc_cast(p)
#define bupc_castable(p) (upc_cast(p) != (void*)0)

#define bupc_thread_castable(thread) (upc_thread_info(thread).guaranteedCastable != 0)
extern shared void* bupc_inverse_cast(const void* ptr) __asm__("lapwing_upcc_inverse_cast");
/* Memory of the calling thread's part, as a pointer with that thread and phase. */
extern shared void* bupc_local_to_shared(void* ptr, int thread, int phase) __asm__("lapwing_upcc_local_to_shared");
extern shared void* bupc_ptradd(shared void* ptr, size_t elem_bytes, size_t blockelems,
                                ptrdiff_t elems) __asm__("lapwing_upc_add");
#define bupc_ptradd(ptr, blockelems, elem_bytes, elems) bupc_ptradd(ptr, elem_bytes, blockelems, elems)
/* The parts of a pointer-to-shared as text; 0, or -1 where `bytes` are too few. */
#define BUPC_DUMP_MIN_LENGTH 100
#define UPC_DUMP_MIN_LENGTH BUPC_DUMP_MIN_LENGTH
#define upc_dump_shared(ptr, text, bytes) bupc_dump_shared(ptr, text, bytes)
static inline int bupc_dump_shared(shared const void* ptr, char* text, int bytes) {
    lapwing_upc_require_private("bupc_dump_shared", text, (size_t)bytes);
    const int written =
        __builtin_snprintf(text, (size_t)bytes, "<address=0x%lx thread=%d phase=%d>", (unsigned long)upc_addrfield(ptr),
                           (int)upc_threadof(ptr), (int)upc_phaseof(ptr));
    return written < bytes ? 0 : -1;
}

typedef upc_handle_t bupc_handle_t;
#define BUPC_COMPLETE_HANDLE UPC_COMPLETE_HANDLE
#define bupc_memcpy_async(dst, src, bytes) upc_memcpy_nb(dst, src, bytes)
#define bupc_memget_async(dst, src, bytes) upc_memget_nb(dst, src, bytes)
#define bupc_memput_async(dst, src, bytes) upc_memput_nb(dst, src, bytes)
#define bupc_memset_async(dst, value, bytes) upc_memset_nb(dst, value, bytes)
#define bupc_memcpy_asynci(dst, src, bytes) upc_memcpy_nbi(dst, src, bytes)
#define bupc_memget_asynci(dst, src, bytes) upc_memget_nbi(dst, src, bytes)
#define bupc_memput_asynci(dst, src, bytes) upc_memput_nbi(dst, src, bytes)
#define bupc_memset_asynci(dst, value, bytes) upc_memset_nbi(dst, value, bytes)
/* Of several: all of them, or at least one; handles that are complete become BUPC_COMPLETE_HANDLE. */
static inline int lapwing_upcc_trysync(upc_handle_t* handles, size_t count, int all) {
    size_t under_way = 0, complete = 0;
    lapwing_upc_require_private(all ? "bupc_trysync_all" : "bupc_trysync_some", handles, count * sizeof *handles);
    for (size_t k = 0; k < count; ++k) {
        if (handles[k] == UPC_COMPLETE_HANDLE) continue;
        if (upc_sync_attempt(handles[k])) {
            handles[k] = UPC_COMPLETE_HANDLE;
            ++complete;
        } else {
            ++under_way;
        }
    }
    return under_way == 0 || (!all && complete > 0);
}
#define bupc_trysync_all(handles, count) lapwing_upcc_trysync(handles, count, 1)
#define bupc_trysync_some(handles, count) lapwing_upcc_trysync(handles, count, 0)
static inline void bupc_waitsync_all(upc_handle_t* handles, size_t count) {
    lapwing_upc_require_private("bupc_waitsync_all", handles, count * sizeof *handles);
    for (size_t k = 0; k < count; ++k) {
        upc_sync(handles[k]);
        handles[k] = UPC_COMPLETE_HANDLE;
    }
}
static inline void bupc_waitsync_some(upc_handle_t* handles, size_t count) {
    lapwing_upc_require_private("bupc_waitsync_some", handles, count * sizeof *handles);
    while (!lapwing_upcc_trysync(handles, count, 0)) upc_poll();
}
#define bupc_begin_accessregion() ((void)0)
static inline upc_handle_t bupc_end_accessregion(void) {
    upc_synci();
    return UPC_COMPLETE_HANDLE;
}
#define bupc_waitsync(handle) upc_sync(handle)
#define bupc_trysync(handle) upc_sync_attempt(handle)
#define bupc_waitsynci() upc_synci()
#define bupc_trysynci() upc_synci_attempt()

/* Semaphores: a count in the memory of the thread that has made it, under a lock. Posting has a fence before. */
typedef shared struct lapwing_upcc_semaphore {
    upc_lock_t* lock;
    __UINT64_TYPE__ count;
} bupc_sem_t;
#define BUPC_SEM_BOOLEAN 1
#define BUPC_SEM_INTEGER 2
#define BUPC_SEM_SPRODUCER 4
#define BUPC_SEM_MPRODUCER 8
#define BUPC_SEM_SCONSUMER 16
#define BUPC_SEM_MCONSUMER 32
#define BUPC_SEM_MASK 63
#define BUPC_SEM_MAXVALUE 65535
static inline bupc_sem_t* bupc_sem_alloc(int flags) {
    bupc_sem_t* s = (bupc_sem_t*)upc_alloc(sizeof(bupc_sem_t));
    (void)flags;
    s->lock = upc_global_lock_alloc();
    s->count = 0;
    upc_fence;
    return s;
}
static inline void bupc_sem_free(bupc_sem_t* s) {
    upc_lock_free(s->lock);
    upc_free(s);
}
static inline void bupc_sem_postN(bupc_sem_t* s, size_t n) {
    upc_fence;
    upc_lock(s->lock);
    s->count += n;
    upc_unlock(s->lock);
}
static inline int bupc_sem_tryN(bupc_sem_t* s, size_t n) {
    int taken = 0;
    upc_lock(s->lock);
    if (s->count >= n) {
        s->count -= n;
        taken = 1;
    }
    upc_unlock(s->lock);
    return taken;
}
static inline void bupc_sem_waitN(bupc_sem_t* s, size_t n) {
    while (!bupc_sem_tryN(s, n)) upc_poll();
}
#define bupc_sem_post(s) bupc_sem_postN(s, 1)
#define bupc_sem_try(s) bupc_sem_tryN(s, 1)
#define bupc_sem_wait(s) bupc_sem_waitN(s, 1)
static inline void bupc_memput_signal(shared void* dst, const void* src, size_t bytes, bupc_sem_t* s, size_t n) {
    upc_memput(dst, src, bytes);
    bupc_sem_postN(s, n);
}
#define bupc_memput_signal_async(dst, src, bytes, s, n) bupc_memput_signal(dst, src, bytes, s, n)

#endif
