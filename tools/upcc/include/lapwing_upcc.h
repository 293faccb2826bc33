/* What every translated UPC source begins with: included before its own text. The translator writes these names into
 * what it makes. */
#ifndef LAPWING_UPCC_H
#define LAPWING_UPCC_H

#include <lapwing/upc/inline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A shared object with static storage: where its pointer is, and what it is. The start of the program makes it. */
struct lapwing_upcc_object {
    lapwing_upc_pointer* pointer;
    size_t element_bytes;
    size_t elements;   /* times THREADS, if so marked */
    size_t block_size; /* in elements; 0: indefinite; LAPWING_UPCC_EVEN: [*] */
    const void* image; /* the first elements' initial values; null: zero */
    size_t image_elements;
    const char* name;
    const char* file;
    int line;
    int times_threads;
    int declared_only; /* extern: another source makes it, and must agree; no elements if their number is not known */
};
#define LAPWING_UPCC_EVEN ((size_t)-1)

/* One for each source: a number of threads that is compiled in, and values of pointers-to-shared that are known when
 * the program runs. */
struct lapwing_upcc_source {
    const char* file;
    int threads;              /* 0: any number */
    void (*initialise)(void); /* null: nothing to do */
};

#if defined(LAPWING_ASSERTION_LEVEL) && LAPWING_ASSERTION_LEVEL >= 2
/* The start of the program sets LAPWING_CHECKS to it, unless that is set. */
extern const int lapwing_upcc_checked;
const int lapwing_upcc_checked __attribute__((weak, visibility("default"))) = LAPWING_ASSERTION_LEVEL;
#endif

/* MYTHREAD; THREADS is declared by the translator, which knows whether it is a constant. */
extern const int MYTHREAD __asm__("lapwing_upc_own_thread");

/* THREADS where it must not be a constant: in lengths of arrays with automatic storage. */
extern const int lapwing_upcc_threads __asm__("lapwing_upc_thread_count");

/* How many upc_forall with an affinity the calling function is inside. */
extern int lapwing_upcc_forall_depth;
LAPWING_UPC_INLINE void lapwing_upcc_leave_forall(int* outer) { lapwing_upcc_forall_depth = *outer; }
LAPWING_UPC_INLINE int lapwing_upcc_owns_number(long long number) {
    const long long threads = lapwing_upc_thread_count;
    const long long remainder = number % threads;
    return (remainder < 0 ? remainder + threads : remainder) == lapwing_upc_own_thread;
}
LAPWING_UPC_INLINE int lapwing_upcc_owns_unsigned(unsigned long long number) {
    return number % (unsigned long long)lapwing_upc_thread_count == (unsigned long long)lapwing_upc_own_thread;
}
LAPWING_UPC_INLINE int lapwing_upcc_owns_place(lapwing_upc_pointer p) {
    return (int)p.thread == lapwing_upc_own_thread;
}

/* p + round * THREADS + thread, in blocks of one element. */
LAPWING_UPC_INLINE lapwing_upc_pointer lapwing_upcc_in_round(lapwing_upc_pointer p, size_t element_bytes,
                                                             ptrdiff_t round, ptrdiff_t thread) {
    const ptrdiff_t at = (ptrdiff_t)p.thread + thread;
#if defined(LAPWING_ASSERTION_LEVEL) && LAPWING_ASSERTION_LEVEL >= 2
    return lapwing_upc_plus(p, element_bytes, 1, round * lapwing_upc_thread_count + thread);
#endif
    if ((size_t)at >= (size_t)lapwing_upc_thread_count)
        return lapwing_upc_plus(p, element_bytes, 1, round * lapwing_upc_thread_count + thread);
    p.address += (uint64_t)round * element_bytes;
    p.thread = (uint32_t)at;
    p.phase = 0;
    return p;
}

/* Whether it points to the first element of thread 0, as upc_all_alloc gives it. */
LAPWING_UPC_INLINE int lapwing_upcc_at_start(lapwing_upc_pointer p) {
    return p.thread == 0 && p.phase == 0 && p.address != 0;
}
/* The calling thread's part of an array that begins there. */
LAPWING_UPC_INLINE void* lapwing_upcc_own_part(lapwing_upc_pointer p) {
    return lapwing_upc_near.bases[(uint32_t)lapwing_upc_own_thread - lapwing_upc_near.first] + p.address;
}

/* Elements in a row, which a loop reads. How many there are from p on: to the end of the block, and of a buffer where
 * they must be fetched. */
enum { lapwing_upcc_run_bytes = 262144 };
LAPWING_UPC_INLINE size_t lapwing_upcc_run(lapwing_upc_pointer p, size_t element_bytes, size_t block_size,
                                           size_t wanted) {
    if (block_size != 0 && wanted > block_size - p.phase) wanted = block_size - p.phase;
    if (lapwing_upc_near_place(p, element_bytes) == (char*)0 && wanted > lapwing_upcc_run_bytes / element_bytes)
        wanted = lapwing_upcc_run_bytes / element_bytes;
    return wanted;
}
/* The buffers of the calling thread, each of lapwing_upcc_run_bytes: one for each run of a loop. Loops that use them
 * are not nested. On the stack they would soon fill that of a recursive function. */
void* lapwing_upcc_buffer(int number);
/* A get, which also asks for the runs that will probably be read next, if they are cached. */
void lapwing_upcc_get_run(void* copy, lapwing_upc_pointer p, size_t bytes);
/* Where they are, or a copy. */
LAPWING_UPC_INLINE const void* lapwing_upcc_fetch(lapwing_upc_pointer p, size_t bytes, int buffer) {
    const char* const place = lapwing_upc_near_place(p, 1);
    void* copy;
    if (__builtin_expect(place != (char*)0, 1)) return place;
    copy = lapwing_upcc_buffer(buffer);
    lapwing_upcc_get_run(copy, p, bytes);
    return copy;
}
/* Where they are written, and then put from, where that is a buffer. */
LAPWING_UPC_INLINE void* lapwing_upcc_gather(lapwing_upc_pointer p, int buffer) {
    char* const place = lapwing_upc_near_place(p, 1);
    return place != (char*)0 ? place : lapwing_upcc_buffer(buffer);
}
LAPWING_UPC_INLINE void lapwing_upcc_scatter(lapwing_upc_pointer p, const void* from, size_t bytes) {
    if (__builtin_expect(lapwing_upc_near_place(p, 1) == (char*)0, 0)) lapwing_upc_put(p, from, bytes);
}
/* Elements that are read as a list: how many of those wanted the buffers have room for. */
enum { lapwing_upcc_list_length = 2048, lapwing_upcc_shortest_list = 8 };
LAPWING_UPC_INLINE size_t lapwing_upcc_listed(size_t element_bytes, size_t wanted) {
    const size_t room = lapwing_upcc_run_bytes / element_bytes;
    if (wanted > room) wanted = room;
    if (wanted > lapwing_upcc_list_length) wanted = lapwing_upcc_list_length;
    return wanted;
}
/* Whether two pointers to what one thread has each are to different threads. */
LAPWING_UPC_INLINE int lapwing_upcc_apart(lapwing_upc_pointer a, lapwing_upc_pointer b) { return a.thread != b.thread; }
/* Whether a pointer-to-private may point to shared memory. */
LAPWING_UPC_INLINE int lapwing_upcc_in_heap(const void* p) {
    uint32_t k;
    if (lapwing_upc_near.count == 0) return 1;
    for (k = 0; k < lapwing_upc_near.count; ++k) {
        const char* const begin = lapwing_upc_near.bases[k] + lapwing_upc_near.heap_begin;
        if ((const char*)p >= begin && (const char*)p < begin + lapwing_upc_near.heap_bytes) return 1;
    }
    return 0;
}

/* In the condition of a loop that waits for another thread: now and then that can run on this processor, and what it
 * asks of this thread is answered. Loads take a nanosecond or so, a yield less than a microsecond. */
enum { lapwing_upcc_looks_before_yield = 1024 };
static __thread unsigned lapwing_upcc_looks __attribute__((unused));
LAPWING_UPC_INLINE void lapwing_upcc_look_again(void) {
    if (__builtin_expect(++lapwing_upcc_looks % lapwing_upcc_looks_before_yield == 0, 0)) lapwing_upc_let_others_run();
}

LAPWING_UPC_INLINE void lapwing_upcc_barrier0(void) { lapwing_upc_barrier((const int*)0); }
LAPWING_UPC_INLINE void lapwing_upcc_barrier1(int name) { lapwing_upc_barrier(&name); }
LAPWING_UPC_INLINE void lapwing_upcc_notify0(void) { lapwing_upc_notify((const int*)0); }
LAPWING_UPC_INLINE void lapwing_upcc_notify1(int name) { lapwing_upc_notify(&name); }
LAPWING_UPC_INLINE void lapwing_upcc_wait0(void) { lapwing_upc_wait((const int*)0); }
LAPWING_UPC_INLINE void lapwing_upcc_wait1(int name) { lapwing_upc_wait(&name); }
LAPWING_UPC_INLINE void lapwing_upcc_fence0(void) { lapwing_upc_fence(); }

/* The cast to a pointer-to-private, of what the calling thread can load. */
void* lapwing_upcc_private(lapwing_upc_pointer p);

/* The structure that an expression accesses a member of: a null pointer is an error here. */
LAPWING_UPC_INLINE lapwing_upc_pointer lapwing_upcc_whole(lapwing_upc_pointer p, size_t bytes) {
    if (__builtin_expect(lapwing_upc_null(p), 0)) lapwing_upc_get((void*)0, p, bytes);
    return p;
}

/* Ends the program at its start: an array, or a row of it, has fewer elements than initial values. Collective. */
void lapwing_upcc_too_many(const char* name, const char* file, int line, size_t values, size_t elements);

/* upc_global_exit. */
void lapwing_upcc_global_exit(int status);

/* upc_local_alloc of UPC 1.1. */
lapwing_upc_pointer lapwing_upcc_local_alloc(size_t blocks, size_t block_bytes);

/* In the parse alone: marks the affinity of a upc_forall. */
extern int lapwing_upcc_affinity;
/* The same: mark a nested function, and what it returns. */
extern int lapwing_upcc_nested();
extern int lapwing_upcc_return;

#ifdef __cplusplus
}
#endif

#endif /* LAPWING_UPCC_H */
