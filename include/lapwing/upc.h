// Room: upc
/*
 * UPC's shared memory for C: the functions that a UPC compiler calls, and that a kernel ported by hand can call.
 * lapwing/upc.hpp has the same for C++, with types.
 *
 * Every UPC thread is a rank of MPI_COMM_WORLD and contributes a part of equal size to the shared heap. A
 * pointer-to-shared consists of a thread, an address in its part, and a phase: the element's position in its block.
 * Accesses are relaxed: those of one thread to the same bytes keep their order, and others see writes after a fence,
 * the unlocking of a lock, or a barrier. The functions with `strict` in their names have a fence on both sides.
 *
 * Errors do not return: they are printed with the thread, the call and the values, and end the program through
 * MPI_Abort, unless a handler is set. Collective functions are marked as such; the others may be called by any thread
 * alone.
 */
#ifndef LAPWING_UPC_H
#define LAPWING_UPC_H

#include <stddef.h>
#include <stdint.h>

#include <lapwing/upc/atomic.h>
#include <lapwing/upc/collective.h>
#include <lapwing/upc/pointer.h>
#include <lapwing/upc/recording.h>
#include <lapwing/upc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Start and end. Collective. Settings come from the environment (LAPWING_UPC_HEAP, LAPWING_CACHE, ...).
 * The program uses the lapwing::Runtime that the calling thread has open over MPI_COMM_WORLD, if there is one, and
 * also orders its windows. The start initialises MPI if nobody has, and ends with a barrier; the end starts with a
 * barrier, and finalizes MPI if the start has initialised it. argc and argv may be null. */
void lapwing_upc_start(int* argc, char*** argv);
/* exit() anywhere is the same as returning from main on that thread: it includes the barrier, and ends the program.
 * Calling the end again has no effect. */
void lapwing_upc_end(void);
/* THREADS and MYTHREAD. */
int lapwing_upc_threads(void);
int lapwing_upc_mythread(void);
/* upc_global_exit: one thread ends all threads. Does not return. The threads' output is flushed first; a thread that
 * makes no progress (without a progress thread, while it computes) is not waited for. */
void lapwing_upc_global_exit(int status);

/* Called with the text of an error instead of printing it and ending the program. If it returns, the program is ended
 * nevertheless. It may leave by longjmp, from calls of C, or by an exception; the call that failed has then had no
 * effect. An exception out of the destructor of a C++ object ends the program, and longjmp must not pass C++ objects.
 * Returns the previous handler; null: none. */
typedef void (*lapwing_upc_error_handler)(const char* message);
lapwing_upc_error_handler lapwing_upc_set_error_handler(lapwing_upc_error_handler handler);

/* Pointers. Local calls. block_size counts elements: 1 is UPC's default, 0 is indefinite (all elements have affinity to
 * one thread). */

/* p + elements, which may be negative. */
lapwing_upc_pointer lapwing_upc_add(lapwing_upc_pointer p, size_t element_bytes, size_t block_size, ptrdiff_t elements);
/* Number of elements from `from` to `to`: to - from. Both must point into one object. */
ptrdiff_t lapwing_upc_difference(lapwing_upc_pointer to, lapwing_upc_pointer from, size_t element_bytes,
                                 size_t block_size);
/* Whether both point to the same byte: threads and addresses are equal, whatever the phases. */
int lapwing_upc_equal(lapwing_upc_pointer a, lapwing_upc_pointer b);
int lapwing_upc_is_null(lapwing_upc_pointer p);
/* upc_threadof, upc_phaseof, upc_addrfield, upc_resetphase. */
size_t lapwing_upc_threadof(lapwing_upc_pointer p);
size_t lapwing_upc_phaseof(lapwing_upc_pointer p);
size_t lapwing_upc_addrfield(lapwing_upc_pointer p);
lapwing_upc_pointer lapwing_upc_resetphase(lapwing_upc_pointer p);
/* upc_affinitysize: bytes with affinity to a thread in an object of total_bytes in blocks of block_bytes (0:
 * indefinite). */
size_t lapwing_upc_affinitysize(size_t total_bytes, size_t block_bytes, size_t thread);
/* upc_cast: an address at which the calling thread can load and store the bytes that p points to; null if it cannot,
 * which depends on the node. Never null for the thread's own elements: it is UPC's cast to a pointer-to-private. */
void* lapwing_upc_cast(lapwing_upc_pointer p);
/* upc_thread_info: which of a thread's objects can be cast: all of them, or none. Both fields have the same value. */
#define LAPWING_UPC_CASTABLE_ALL_ALLOC 1
#define LAPWING_UPC_CASTABLE_GLOBAL_ALLOC 2
#define LAPWING_UPC_CASTABLE_ALLOC 4
#define LAPWING_UPC_CASTABLE_STATIC 8
#define LAPWING_UPC_CASTABLE_ALL 15
typedef struct lapwing_upc_thread_info_t {
    int guaranteedCastable;
    int probablyCastable;
} lapwing_upc_thread_info_t;
lapwing_upc_thread_info_t lapwing_upc_thread_info(size_t thread);
/* The pointer-to-shared, of phase 0, for an address in the thread's own part; an error for other addresses. */
lapwing_upc_pointer lapwing_upc_own_pointer(const void* address);

/* Accesses. Each range of bytes must have affinity to one thread; otherwise an error says where the part ends. When a
 * put returns, its source may be reused. */
void lapwing_upc_get(void* destination, lapwing_upc_pointer source, size_t bytes);
void lapwing_upc_put(lapwing_upc_pointer destination, const void* source, size_t bytes);
void lapwing_upc_get_strict(void* destination, lapwing_upc_pointer source, size_t bytes);
void lapwing_upc_put_strict(lapwing_upc_pointer destination, const void* source, size_t bytes);
/* Element k of the destination becomes base[indices[k]], for count elements: what a loop finds by an index list,
 * whoever has it. Relaxed; as count reads in any order. What can neither be loaded nor found in the cache comes in one
 * message from each thread that has some of it. An element that is not in the heap is an error, and nothing is then
 * known of the destination. Cost without messages: 1 to 3 ns an element of 1, 2, 4 or 8 bytes. */
void lapwing_upc_get_elements(void* destination, lapwing_upc_pointer base, size_t element_bytes, size_t block_size,
                              const ptrdiff_t* indices, size_t count);
/* upc_memget, upc_memput, upc_memcpy (between any two threads; through the caller's memory if neither part can be
 * loaded) and upc_memset. */
void lapwing_upc_memget(void* destination, lapwing_upc_pointer source, size_t bytes);
void lapwing_upc_memput(lapwing_upc_pointer destination, const void* source, size_t bytes);
void lapwing_upc_memcpy(lapwing_upc_pointer destination, lapwing_upc_pointer source, size_t bytes);
void lapwing_upc_memset(lapwing_upc_pointer destination, int value, size_t bytes);

/* upc_memget_nb, upc_memput_nb, upc_memcpy_nb and upc_memset_nb: start a transfer and return a handle. The memory must
 * remain valid until lapwing_upc_sync() has returned, or lapwing_upc_sync_attempt() has returned 1; the handle is then
 * no longer valid. memget's bytes have then arrived, and memput's source may be changed; others see what was put after
 * a fence. A fence or a barrier does not complete handles. */
typedef struct lapwing_upc_transfer* lapwing_upc_handle;
#define LAPWING_UPC_COMPLETE_HANDLE ((lapwing_upc_handle)0)
lapwing_upc_handle lapwing_upc_memget_nb(void* destination, lapwing_upc_pointer source, size_t bytes);
lapwing_upc_handle lapwing_upc_memput_nb(lapwing_upc_pointer destination, const void* source, size_t bytes);
lapwing_upc_handle lapwing_upc_memcpy_nb(lapwing_upc_pointer destination, lapwing_upc_pointer source, size_t bytes);
lapwing_upc_handle lapwing_upc_memset_nb(lapwing_upc_pointer destination, int value, size_t bytes);
void lapwing_upc_sync(lapwing_upc_handle handle);
int lapwing_upc_sync_attempt(lapwing_upc_handle handle);
/* The same with an implicit handle, which lapwing_upc_synci() completes: upc_memget_nbi and the like. */
void lapwing_upc_memget_nbi(void* destination, lapwing_upc_pointer source, size_t bytes);
void lapwing_upc_memput_nbi(lapwing_upc_pointer destination, const void* source, size_t bytes);
void lapwing_upc_memcpy_nbi(lapwing_upc_pointer destination, lapwing_upc_pointer source, size_t bytes);
void lapwing_upc_memset_nbi(lapwing_upc_pointer destination, int value, size_t bytes);
void lapwing_upc_synci(void);
int lapwing_upc_synci_attempt(void);

/* A hint that these bytes, of one thread, will soon be read: if they can be cached they are requested now. */
void lapwing_upc_prefetch(lapwing_upc_pointer source, size_t bytes);

/* The heap, in the memory that LAPWING_UPC_HEAP (blocks of all threads) and LAPWING_UPC_LOCAL_HEAP
 * (upc_alloc) set for each thread. Memory is aligned to 64 bytes, and not cleared. Zero bytes return the null pointer.
 */

/* upc_all_alloc, collective, and upc_global_alloc: `blocks` blocks of `block_bytes`, assigned to the threads in turn.
 */
lapwing_upc_pointer lapwing_upc_all_alloc(size_t blocks, size_t block_bytes);
lapwing_upc_pointer lapwing_upc_global_alloc(size_t blocks, size_t block_bytes);
/* upc_alloc: with affinity to the calling thread. */
lapwing_upc_pointer lapwing_upc_alloc(size_t bytes);
/* upc_free, by any thread: takes a pointer that one of these returned and that has not been freed, or null; anything
 * else is an error. upc_all_free is collective, with the same pointer on all threads (otherwise an error on all): it
 * waits until all have entered, and frees once. */
void lapwing_upc_free(lapwing_upc_pointer p);
void lapwing_upc_all_free(lapwing_upc_pointer p);

/* Synchronisation. */

/* upc_barrier, upc_notify, upc_wait: collective. Anonymous if `name` is null, otherwise with the number that it points
 * to; different numbers on two threads are an error on all of them. */
void lapwing_upc_barrier(const int* name);
void lapwing_upc_notify(const int* name);
void lapwing_upc_wait(const int* name);
/* upc_fence: this thread's writes are complete, also those to windows of the runtime that the program uses, and later
 * reads see what other threads completed before. */
void lapwing_upc_fence(void);

/* Locks, granted in first-come order, in the shared heap: a lock takes 16 bytes of the heap of one thread, whatever the
 * number of threads. There is a fence after locking, and one before unlocking. */

/* upc_all_lock_alloc, collective: one lock, at thread 0; upc_global_lock_alloc: at the calling thread. */
lapwing_upc_pointer lapwing_upc_all_lock_alloc(void);
lapwing_upc_pointer lapwing_upc_global_lock_alloc(void);
/* upc_lock_free, upc_all_lock_free (collective, with the same lock on all threads): the lock may be held, but nobody
 * may be waiting for it. From then on it is not a lock any more, also for its holder. */
void lapwing_upc_lock_free(lapwing_upc_pointer lock);
void lapwing_upc_all_lock_free(lapwing_upc_pointer lock);
/* A thread may hold, or wait for, 1024 locks at a time; one more is an error. */
void lapwing_upc_lock(lapwing_upc_pointer lock);
/* Whether the lock was free and is now the caller's. Attempts that fail repeatedly wait longer and longer, up to some
 * hundreds of microseconds. */
int lapwing_upc_lock_attempt(lapwing_upc_pointer lock);
/* An error if the calling thread does not hold the lock. */
void lapwing_upc_unlock(lapwing_upc_pointer lock);

/* upc_tick_t: nanoseconds of a monotonic clock. */
uint64_t lapwing_upc_ticks_now(void);
uint64_t lapwing_upc_ticks_to_ns(uint64_t ticks);

#ifdef __cplusplus
}
#endif

#endif /* LAPWING_UPC_H */
