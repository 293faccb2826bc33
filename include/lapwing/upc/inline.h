// Room: upc
/* What a compiled UPC program does without a call: arithmetic on pointers-to-shared, and accesses to the parts of the
 * shared heap that the calling thread can load and store. Everything else goes to lapwing/upc.h. Local calls. */
#ifndef LAPWING_UPC_INLINE_H
#define LAPWING_UPC_INLINE_H

#include <lapwing/upc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of threads first, first + 1, ... that can be loaded and stored here. */
typedef struct lapwing_upc_near_parts {
    char* const* bases;
    uint64_t heap_begin; /* allocations are in [heap_begin, heap_begin + heap_bytes) of each part */
    uint64_t heap_bytes;
    uint32_t first;
    uint32_t count; /* 0: every access is a call, for example because accesses are recorded */
} lapwing_upc_near_parts;
/* Set by the start of a compiled program, and constant until its end. */
extern lapwing_upc_near_parts lapwing_upc_near;
/* THREADS and MYTHREAD. */
extern int lapwing_upc_thread_count;
extern int lapwing_upc_own_thread;

/* In a loop that waits for another thread: answers what others ask of the calling thread, or yields its processor. An
 * error where another thread has left. Local. */
void lapwing_upc_let_others_run(void);

/* An error of `call` if the address of the calling thread's own memory, of so many bytes, is null. Local. */
void lapwing_upc_require_private(const char* call, const void* address, size_t bytes);

/* Before the start of a compiled program: each part has so many bytes beside those of LAPWING_UPC_HEAP. Local. */
void lapwing_upc_add_to_heap(size_t bytes);
/* At the start of a compiled program: an object with static storage in what lapwing_upc_all_alloc() has returned, of
 * `bytes` bytes in blocks of `block_bytes` (0: indefinite), for which `room` bytes are left in each part. Accesses and
 * arithmetic must stay in it where they are checked (LAPWING_CHECKS=2). The name must remain. Local. */
void lapwing_upc_note_object(lapwing_upc_pointer begin, size_t bytes, size_t block_bytes, size_t room,
                             const char* name);

/* With Clang their instructions have the line of the call: errors and debuggers name that. */
#ifdef __clang__
#define LAPWING_UPC_INLINE static inline __attribute__((always_inline, unused, nodebug))
#else
#define LAPWING_UPC_INLINE static inline __attribute__((always_inline, unused))
#endif
/* What loops seldom call: it leaves their registers alone, where the compiler can see to that. Not with a result: Clang
 * before 17 restores the register that has it. */
#if defined(__clang__) && defined(__x86_64__)
#define LAPWING_UPC_SELDOM static __attribute__((noinline, cold, unused, preserve_most))
#else
#define LAPWING_UPC_SELDOM static __attribute__((noinline, cold, unused))
#endif
__extension__ typedef unsigned __int128 lapwing_upc_wide;

/* Address of the object if it can be loaded; null: a call is needed, which also finds errors in the pointer. */
LAPWING_UPC_INLINE char* lapwing_upc_near_place(lapwing_upc_pointer p, size_t bytes) {
    const uint32_t near = p.thread - lapwing_upc_near.first;
    if (near >= lapwing_upc_near.count || p.address - lapwing_upc_near.heap_begin > lapwing_upc_near.heap_bytes - bytes)
        return (char*)0;
    return lapwing_upc_near.bases[near] + p.address;
}

/* An access in one instruction, whatever its alignment: no part of it is seen alone, and it is neither merged with
 * another nor moved past one. */
typedef uint16_t lapwing_upc_two_bytes __attribute__((aligned(1), may_alias));
typedef uint32_t lapwing_upc_four_bytes __attribute__((aligned(1), may_alias));
typedef uint64_t lapwing_upc_eight_bytes __attribute__((aligned(1), may_alias));
LAPWING_UPC_INLINE void lapwing_upc_copy_once(char* to, const char* from, size_t bytes) {
    switch (bytes) {
    case 1: *(volatile char*)to = *(const volatile char*)from; return;
    case 2: *(volatile lapwing_upc_two_bytes*)to = *(const volatile lapwing_upc_two_bytes*)from; return;
    case 4: *(volatile lapwing_upc_four_bytes*)to = *(const volatile lapwing_upc_four_bytes*)from; return;
    case 8: *(volatile lapwing_upc_eight_bytes*)to = *(const volatile lapwing_upc_eight_bytes*)from; return;
    default: break;
    }
    __asm__ volatile("" ::: "memory");
    __builtin_memcpy(to, from, bytes);
    __asm__ volatile("" ::: "memory");
}

/* Relaxed accesses. */
LAPWING_UPC_INLINE void lapwing_upc_load(void* destination, lapwing_upc_pointer source, size_t bytes) {
    const char* const place = lapwing_upc_near_place(source, bytes);
    if (__builtin_expect(place != (char*)0, 1)) lapwing_upc_copy_once((char*)destination, place, bytes);
    else lapwing_upc_get(destination, source, bytes);
}
LAPWING_UPC_INLINE void lapwing_upc_store(lapwing_upc_pointer destination, const void* source, size_t bytes) {
    char* const place = lapwing_upc_near_place(destination, bytes);
    if (__builtin_expect(place != (char*)0, 1)) lapwing_upc_copy_once(place, (const char*)source, bytes);
    else lapwing_upc_put(destination, source, bytes);
}

/* p + elements. If block_size is a constant, the compiler removes unused cases. */
LAPWING_UPC_INLINE lapwing_upc_pointer lapwing_upc_plus(lapwing_upc_pointer p, size_t element_bytes, size_t block_size,
                                                        ptrdiff_t elements) {
#if defined(LAPWING_ASSERTION_LEVEL) && LAPWING_ASSERTION_LEVEL >= 2
    return lapwing_upc_add(p, element_bytes, block_size, elements);
#else
    const ptrdiff_t threads = lapwing_upc_thread_count;
    const ptrdiff_t block = (ptrdiff_t)block_size;
    const ptrdiff_t position = (ptrdiff_t)p.phase + elements;
    ptrdiff_t blocks, phase, thread, rounds;
    if (block == 0) {
        p.address += (uint64_t)elements * element_bytes;
        return p;
    }
    if (block != 1 && (size_t)position < block_size) { /* inside the block */
        p.address += (uint64_t)elements * element_bytes;
        p.phase = (uint32_t)position;
        return p;
    }
    blocks = position / block;
    phase = position - blocks * block;
    if (phase < 0) {
        phase += block;
        --blocks;
    }
    thread = (ptrdiff_t)p.thread + blocks;
    if (thread >= 0 && thread < threads) { /* no round */
        p.address += (uint64_t)(phase - (ptrdiff_t)p.phase) * element_bytes;
    } else {
        rounds = thread / threads;
        thread -= rounds * threads;
        if (thread < 0) {
            thread += threads;
            --rounds;
        }
        p.address += (uint64_t)(rounds * block + phase - (ptrdiff_t)p.phase) * element_bytes;
    }
    p.thread = (uint32_t)thread;
    p.phase = (uint32_t)phase;
    return p;
#endif
}
/* Number of elements from `from` to `to`, in one object. */
LAPWING_UPC_INLINE ptrdiff_t lapwing_upc_minus(lapwing_upc_pointer to, lapwing_upc_pointer from, size_t element_bytes,
                                               size_t block_size) {
    const ptrdiff_t places = (ptrdiff_t)(to.address - from.address) / (ptrdiff_t)element_bytes;
    const ptrdiff_t phases = (ptrdiff_t)to.phase - (ptrdiff_t)from.phase;
    if (block_size == 0) return places;
    return (places - phases) * lapwing_upc_thread_count +
           ((ptrdiff_t)to.thread - (ptrdiff_t)from.thread) * (ptrdiff_t)block_size + phases;
}
LAPWING_UPC_INLINE int lapwing_upc_same(lapwing_upc_pointer a, lapwing_upc_pointer b) {
    return a.address == b.address && (a.thread == b.thread || a.address == 0);
}
LAPWING_UPC_INLINE int lapwing_upc_null(lapwing_upc_pointer p) { return p.address == 0; }
/* A pointer to bytes inside an object: a member. Its phase is 0, as the member's block is indefinite. */
LAPWING_UPC_INLINE lapwing_upc_pointer lapwing_upc_inside(lapwing_upc_pointer p, size_t offset) {
    p.address += offset;
    p.phase = 0;
    return p;
}
LAPWING_UPC_INLINE lapwing_upc_pointer lapwing_upc_phase_zero(lapwing_upc_pointer p) {
    p.phase = 0;
    return p;
}

/* Where elements of an object are that are read by their indices: in their place, if all of them can be loaded, or,
 * where lapwing_upc_get_elements() has found them read so often that a range of indices has been copied, in their place
 * or in the copies. Good until the next call that is no read. */
typedef struct lapwing_upc_places {
    const char* const*
        parts;           /* by thread, or of the only one: what is at address a of its part is at parts[thread] + a */
    ptrdiff_t begin;     /* the first index of the range */
    size_t size;         /* of the range */
    size_t before;       /* elements before it in its round of blocks, which begins at thread 0 */
    uint64_t address;    /* of the first element of the round; with an indefinite block of the range */
    uint64_t threads;    /* THREADS */
    uint64_t multiplier; /* its reciprocal; 0: it is a power of two */
    unsigned shift;      /* of the quotient by THREADS */
    lapwing_upc_pointer base;
} lapwing_upc_places;
/* Whether there are such places for `reads` reads of base[i], by an index that a loop works out: `places` then says
 * where. Else the loop reads lists, from which is learned what to copy. */
int lapwing_upc_find_places(lapwing_upc_places* places, lapwing_upc_pointer base, size_t element_bytes,
                            size_t block_size, size_t reads);
/* The element that so many others of the range are before. If block_size is a constant, there is no division by it. */
LAPWING_UPC_INLINE const char* lapwing_upc_place_at(const lapwing_upc_places* places, size_t bytes, size_t block_size,
                                                    size_t position) {
    uint64_t block, round, thread;
    if (block_size == 0) return places->parts[0] + places->address + position * bytes;
    position += places->before;
    block = position / block_size;
    if (places->multiplier == 0) {
        round = block >> places->shift;
        thread = block & (places->threads - 1);
    } else {
        round = (uint64_t)(((lapwing_upc_wide)(2 * block) * places->multiplier) >> 64) >> places->shift;
        thread = block - round * places->threads;
    }
    return places->parts[thread] + places->address + (position - (block - round) * block_size) * bytes;
}
/* An element that is outside of the range. */
LAPWING_UPC_SELDOM void lapwing_upc_get_elsewhere(void* destination, lapwing_upc_pointer base, size_t bytes,
                                                  size_t block_size, ptrdiff_t index) {
    lapwing_upc_get(destination, lapwing_upc_plus(base, bytes, block_size, index), bytes);
}
LAPWING_UPC_INLINE void lapwing_upc_read_place(void* destination, const lapwing_upc_places* places, size_t bytes,
                                               size_t block_size, ptrdiff_t index) {
    const size_t position = (size_t)(index - places->begin);
    if (__builtin_expect(position < places->size, 1)) {
        __builtin_memcpy(destination, lapwing_upc_place_at(places, bytes, block_size, position), bytes);
    } else if (bytes <= sizeof(uint64_t)) {
        uint64_t word; /* the destination may be a register, since only this one's address is passed on */
        lapwing_upc_get_elsewhere(&word, places->base, bytes, block_size, index);
        __builtin_memcpy(destination, &word, bytes);
    } else {
        lapwing_upc_get_elsewhere(destination, places->base, bytes, block_size, index);
    }
}

#ifdef __cplusplus
}
#endif

#endif /* LAPWING_UPC_INLINE_H */
