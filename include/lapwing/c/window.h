// Room: bindings
/*
 * Memory on every rank that all of them can read and write.
 */
#ifndef LAPWING_C_WINDOW_H
#define LAPWING_C_WINDOW_H

#include <lapwing/c/completion.h>
#include <lapwing/c/layout.h>
#include <lapwing/c/runtime.h>
#include <lapwing/c/statistics.h>
#include <lapwing/c/type.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A part of a given size at each rank, zero at the start. Offsets are in bytes from the start of a part. Ranges are
/// always checked: an access that would leave a part is LAPWING_ERR_RANGE, and nothing is moved. docs/consistency.md
/// says what is complete when.
typedef struct lapwing_window lapwing_window;

/// What a cache may keep, and for how long.
enum {
    LAPWING_CACHE_OFF = 0,
    LAPWING_CACHE_EPOCH = 1,     ///< contents live from an acquire to the next, dirty bytes until a release
    LAPWING_CACHE_READ_ONLY = 2, ///< contents live until lapwing_window_invalidate_cache()
    LAPWING_CACHE_TRANSPARENT =
        3 ///< as epoch; the program's own MPI_Win_ calls synchronise, too: needs the library lapwing::transparent
};
/// Which page is evicted for another.
enum { LAPWING_CACHE_TWO_QUEUES = 0, LAPWING_CACHE_DIRECT_MAPPED = 1 };
/// Whose cached contents an acquire by one thread drops.
enum { LAPWING_CACHE_ACQUIRE_RANK = 0, LAPWING_CACHE_ACQUIRE_THREAD = 1 };

/// A cache for other nodes' parts, one for each thread. -1 leaves a member to the settings LAPWING_CACHE...
typedef struct lapwing_cache_options {
    int mode;                 ///< LAPWING_CACHE_OFF and so on
    int policy;               ///< LAPWING_CACHE_TWO_QUEUES, ..._DIRECT_MAPPED
    int64_t bytes;            ///< memory for pages, for each thread
    int64_t page_bytes;       ///< a power of two from 64 to 65536
    int64_t dirty_pages;      ///< pages that may have dirty bytes
    int64_t read_ahead_bytes; ///< limit of read-ahead for sequential accesses; 0: no read-ahead
    int adapt;                ///< 1: bypass the cache, and change the page size, when that pays; 0: never
    int64_t victim_pages;     ///< with ..._DIRECT_MAPPED
    int acquire;              ///< LAPWING_CACHE_ACQUIRE_RANK, ..._THREAD
} lapwing_cache_options;
/// Options of a window besides its size: start with lapwing_window_options_default().
typedef struct lapwing_window_options {
    const char* name;                   ///< for messages and statistics; null: none
    unsigned int notification_counters; ///< for notified puts, at each rank, at most 4096
    unsigned int alignment;             ///< of every part: 8, 16, 32 or 64, the same on all ranks
    lapwing_cache_options cache;        ///< the same on all ranks
    uint64_t zeroed_bytes;              ///< how much of each part is zero at the start
    uint64_t identity;                  ///< a number that must be the same on all ranks
    const char* identity_name;          ///< its name, for the text; null: "the identity"
} lapwing_window_options;
/// The options that null means. Returns no error code. Local, any thread.
lapwing_window_options lapwing_window_options_default(void);
lapwing_cache_options lapwing_cache_options_default(void);

/// Collective, one thread. `bytes` may differ between ranks, and be 0. `options` may be null. On all ranks:
/// LAPWING_ERR_RANGE if one of them cannot allocate its part, _MISMATCH if options differ, _MPI.
int lapwing_window_create(lapwing_runtime* runtime, uint64_t bytes, const lapwing_window_options* options,
                          lapwing_window** window);
/// Collective, one thread. Uses the memory of an MPI window that the program made over the same ranks, and still owns.
/// `locked`: the program has locked it for all ranks (MPI_Win_lock_all). It must not be freed before the
/// lapwing_window. LAPWING_ERR_USAGE for dynamic windows, other groups, and if an epoch of the program's is open;
/// _MISMATCH, _MPI.
int lapwing_window_adopt(lapwing_runtime* runtime, MPI_Win mpi_window, int locked,
                         const lapwing_window_options* options, lapwing_window** window);
/// Collective, one thread. Completes all operations of all ranks, frees the memory and sets `*window` to null.
/// LAPWING_ERR_USAGE for the window of an array, which is freed with the array.
int lapwing_window_free(lapwing_window** window);
/// Local, one thread. Frees it without waiting for other ranks, before lapwing_runtime_leave().
int lapwing_window_leave(lapwing_window** window);

/// The name from the options; the bytes of a rank's part, and LAPWING_PATH_... to it. LAPWING_ERR_RANGE. Local, any
/// thread.
int lapwing_window_name(const lapwing_window* window, const char** text);
int lapwing_window_size(const lapwing_window* window, int rank, uint64_t* bytes);
int lapwing_window_path(const lapwing_window* window, int rank, int* path);
/// The part of `rank` if this rank can load and store it, otherwise null; its own part always. Either result pointer
/// may be null. The program orders the accesses: by acquire and release, or barriers. Local, any thread.
int lapwing_window_memory(const lapwing_window* window, int rank, void** memory, uint64_t* bytes);
/// The same for this rank's part. Local, any thread.
int lapwing_window_local(const lapwing_window* window, void** memory, uint64_t* bytes);

/// Blocking get: on return the bytes are in `destination`. Local, any thread. Cost: a copy on the node, otherwise a
/// round trip.
int lapwing_window_get(lapwing_window* window, int rank, uint64_t offset, void* destination, uint64_t bytes);
/// Put, complete locally on return: flush or release completes it at the owner. Local, any thread.
int lapwing_window_put(lapwing_window* window, int rank, uint64_t offset, const void* source, uint64_t bytes);
/// Non-blocking: the memory must remain valid until the completion is done. Local, any thread.
int lapwing_window_start_get(lapwing_window* window, int rank, uint64_t offset, void* destination, uint64_t bytes,
                             lapwing_completion** completion);
int lapwing_window_start_put(lapwing_window* window, int rank, uint64_t offset, const void* source, uint64_t bytes,
                             lapwing_completion** completion);

/// With a layout on either side, of the same number of bytes: `here` is relative to memory at `base`, `there` to
/// `offset` of the rank's part. LAPWING_ERR_RANGE. Local, any thread. Cost: microseconds to decide how the bytes
/// travel; a lapwing_plan keeps the decision.
int lapwing_window_get_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                              void* base, const lapwing_layout* here);
int lapwing_window_put_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                              const void* base, const lapwing_layout* here);
int lapwing_window_start_get_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                                    void* base, const lapwing_layout* here, lapwing_completion** completion);
int lapwing_window_start_put_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                                    const void* base, const lapwing_layout* here, lapwing_completion** completion);

/// With the arguments of MPI_Get and MPI_Put: MPI never sees the datatypes, which may be freed right after the call.
/// Displacements are in units of the window: bytes, unless it was adopted and has another displacement unit. With the
/// rank MPI_PROC_NULL nothing is transferred. LAPWING_ERR_USAGE for a datatype that is null or not committed,
/// LAPWING_ERR_RANGE. Local, any thread.
int lapwing_window_get_mpi(lapwing_window* window, void* buffer, int64_t count, MPI_Datatype type, int rank,
                           MPI_Aint displacement, int64_t target_count, MPI_Datatype target_type);
int lapwing_window_put_mpi(lapwing_window* window, const void* buffer, int64_t count, MPI_Datatype type, int rank,
                           MPI_Aint displacement, int64_t target_count, MPI_Datatype target_type);
int lapwing_window_start_get_mpi(lapwing_window* window, void* buffer, int64_t count, MPI_Datatype type, int rank,
                                 MPI_Aint displacement, int64_t target_count, MPI_Datatype target_type,
                                 lapwing_completion** completion);
int lapwing_window_start_put_mpi(lapwing_window* window, const void* buffer, int64_t count, MPI_Datatype type, int rank,
                                 MPI_Aint displacement, int64_t target_count, MPI_Datatype target_type,
                                 lapwing_completion** completion);

/// A hint that the calling thread will soon read these bytes. LAPWING_ERR_RANGE. Local, any thread.
int lapwing_window_prefetch(lapwing_window* window, int rank, uint64_t offset, uint64_t bytes);
/// Drops everything cached, except this rank's own writes. Local, any thread.
int lapwing_window_invalidate_cache(lapwing_window* window);

/// On return this rank's operations to one rank, or to all, are complete at both ends. LAPWING_ERR_RANGE. Local, any
/// thread.
int lapwing_window_flush(lapwing_window* window, int rank);
int lapwing_window_flush_all(lapwing_window* window);
/// As those of the runtime, for this window only. Local, any thread.
int lapwing_window_release(lapwing_window* window);
int lapwing_window_acquire(lapwing_window* window);
int lapwing_window_fence(lapwing_window* window);

/// Operations of atomics.
enum {
    LAPWING_ADD = 0,
    LAPWING_AND = 1, ///< bitwise, for integers, as the next two
    LAPWING_OR = 2,
    LAPWING_XOR = 3,
    LAPWING_MIN = 4,
    LAPWING_MAX = 5,
    LAPWING_REPLACE = 6,
    LAPWING_READ = 7 ///< the operand is ignored, and may be null
};
/// What an atomic orders: release completes this rank's puts to the window before it; after acquire, later reads see
/// what was released before it.
enum {
    LAPWING_ORDER_RELAXED = 0,
    LAPWING_ORDER_ACQUIRE = 1,
    LAPWING_ORDER_RELEASE = 2,
    LAPWING_ORDER_ACQ_REL = 3,
    LAPWING_ORDER_SEQ_CST = 4
};

/// Atomics on the value at `offset`, a multiple of its size: integers, and floating-point numbers without the bit
/// operations; complex numbers have LAPWING_ADD, _REPLACE and _READ, LAPWING_BYTES of 1, 2, 4, 8 and 16 the last two,
/// LAPWING_LOCATED_DOUBLE and its like these, LAPWING_MIN and LAPWING_MAX. `before` receives the previous value, and
/// may be null. Atomic with respect to all atomics on this window; those of 16 bytes, at any offset, with respect to
/// each other alone. Those of 1 and 2 bytes work on the aligned 4 bytes around the value, which must be in the part.
/// LAPWING_ERR_RANGE, LAPWING_ERR_USAGE for other types and operations. Local, any thread. Cost: a processor atomic on
/// the node if MPI's are not in use, otherwise a round trip, and two or more for 1 and 2 bytes and complex numbers; 16
/// bytes are carried out by their owner.
int lapwing_window_fetch(lapwing_window* window, int operation, lapwing_type type, int rank, uint64_t offset,
                         const void* operand, void* before, int order);
/// Writes `desired` if the value equals `expected` bit by bit: all these types; `before` as above.
/// Local, any thread.
int lapwing_window_compare_swap(lapwing_window* window, lapwing_type type, int rank, uint64_t offset,
                                const void* expected, const void* desired, void* before, int order);
/// Without a result, complete at the next release or flush: hundreds travel in a message, if they are of numbers of 4
/// and 8 bytes that are not complex; others as lapwing_window_fetch(). LAPWING_ADD to LAPWING_MAX. Local, any thread.
int lapwing_window_update(lapwing_window* window, int operation, lapwing_type type, int rank, uint64_t offset,
                          const void* operand);
/// Many atomics at one rank, relaxed, in the order of the list: `operands` are `count` values, or one for all if
/// `one_operand` is nonzero; `before` receives `count` values. Integers and floating-point numbers of 4 and 8 bytes.
/// Local, any thread. Cost: one message and its answer for several hundred.
int lapwing_window_fetch_list(lapwing_window* window, int operation, lapwing_type type, int rank, size_t count,
                              const uint64_t* offsets, const void* operands, int one_operand, void* before);
int lapwing_window_start_fetch_list(lapwing_window* window, int operation, lapwing_type type, int rank, size_t count,
                                    const uint64_t* offsets, const void* operands, int one_operand, void* before,
                                    lapwing_completion** completion);
/// The same for compare_swap: `count` values of either, or one for all. Local, any thread.
int lapwing_window_compare_swap_list(lapwing_window* window, lapwing_type type, int rank, size_t count,
                                     const uint64_t* offsets, const void* expected, int one_expected,
                                     const void* desired, int one_desired, void* before);
int lapwing_window_start_compare_swap_list(lapwing_window* window, lapwing_type type, int rank, size_t count,
                                           const uint64_t* offsets, const void* expected, int one_expected,
                                           const void* desired, int one_desired, void* before,
                                           lapwing_completion** completion);

/// Notified put: a put, and then one is added to notification counter `counter` of the rank. Whoever waits for the
/// counter sees the bytes. Complete locally on return. LAPWING_ERR_RANGE. Local, any thread. Cost: one message; with a
/// layout a flush before.
int lapwing_window_put_notify(lapwing_window* window, int rank, uint64_t offset, const void* source, uint64_t bytes,
                              unsigned int counter);
int lapwing_window_put_notify_layout(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                                     const void* base, const lapwing_layout* here, unsigned int counter);
/// Waits until this rank's counter `counter` has reached `count`, subtracts `count` from it, and acquires.
/// LAPWING_ERR_RANGE, _PEER_LEFT. Local, any thread.
int lapwing_window_wait_notified(lapwing_window* window, unsigned int counter, uint64_t count);
/// Notifications of this rank's counter that no wait has consumed yet. Makes progress. Local, any thread.
int lapwing_window_notified(lapwing_window* window, unsigned int counter, uint64_t* count);

/// This rank's counters of the window; and, collective, one thread, the sum over all ranks. Local, any thread.
int lapwing_window_statistics(const lapwing_window* window, lapwing_statistics* statistics);
int lapwing_window_total_statistics(lapwing_window* window, lapwing_statistics* statistics);

/// A lock shared by all ranks, granted in the order of the requests. Locking acquires, unlocking releases, for all
/// windows.
typedef struct lapwing_lock lapwing_lock;

/// Collective, one thread. `home` stores the end of the queue: choose the rank that takes the lock most often.
/// LAPWING_ERR_RANGE, _MISMATCH, _MPI.
int lapwing_lock_create(lapwing_runtime* runtime, int home, lapwing_lock** lock);
/// Collective, one thread. LAPWING_ERR_USAGE if this rank holds it. Sets `*lock` to null.
int lapwing_lock_free(lapwing_lock** lock);
/// Local, one thread. Frees it without waiting for other ranks, before lapwing_runtime_leave().
int lapwing_lock_leave(lapwing_lock** lock);
/// Returns when this rank holds the lock. LAPWING_ERR_USAGE if the thread holds it already, LAPWING_ERR_PEER_LEFT.
/// Local, any thread.
int lapwing_lock_lock(lapwing_lock* lock);
/// Takes it if nobody holds it or waits for it. Local, any thread.
int lapwing_lock_try(lapwing_lock* lock, int* locked);
/// Passes it on. LAPWING_ERR_USAGE if this thread does not hold it. Local; by the thread that took it.
int lapwing_lock_unlock(lapwing_lock* lock);
/// Whether this rank holds it. Local, any thread.
int lapwing_lock_held(const lapwing_lock* lock, int* held);

/// Internal: the start of a window, read by inline functions. Not for programs.
typedef struct lapwing_window_head {
    uint64_t mark;
    unsigned char* const* bases; ///< the parts of `ranks` ranks from `first` on
    uint64_t bytes;              ///< size of each of them
    int first;
    unsigned int ranks;                   ///< 0: none can be reached
    const volatile uint64_t* least_noted; ///< puts of as many bytes are left to the library, if `ranks` is not 0
} lapwing_window_head;

/* Not for programs: the address of bytes that inline functions can reach, or null. */
static inline unsigned char* lapwing_window_near_(const lapwing_window_head* head, int rank, uint64_t offset,
                                                  uint64_t bytes) {
    const unsigned int place = (unsigned int)rank - (unsigned int)head->first;
    if (place >= head->ranks || bytes > head->bytes || offset > head->bytes - bytes) return NULL;
    return head->bases[place] + offset;
}
/// One value, as lapwing_window_get() and lapwing_window_put(): lapwing_window_get_double(window, rank, offset, &x),
/// lapwing_window_put_int64(window, rank, offset, x) and so on, for int8 to int64, uint8 to uint64, float, double,
/// float_complex and double_complex (these two not in C++). Inline where the rank can load and store the value. Not for
/// null handles. Local, any thread.
#define LAPWING_WINDOW_FUNCTIONS_(name, ctype)                                                                     \
    static inline int lapwing_window_get_##name(lapwing_window* window, int rank, uint64_t offset, ctype* value) { \
        const lapwing_window_head* const head = (const lapwing_window_head*)(const void*)window;                   \
        const unsigned char* const memory = lapwing_window_near_(head, rank, offset, sizeof *value);               \
        if (memory != NULL) {                                                                                      \
            memcpy(value, memory, sizeof *value);                                                                  \
            return 0;                                                                                              \
        } else {                                                                                                   \
            ctype far;                                                                                             \
            const int code = lapwing_window_get(window, rank, offset, &far, sizeof far);                           \
            if (code == 0) *value = far;                                                                           \
            return code;                                                                                           \
        }                                                                                                          \
    }                                                                                                              \
    static inline int lapwing_window_put_##name(lapwing_window* window, int rank, uint64_t offset, ctype value) {  \
        const lapwing_window_head* const head = (const lapwing_window_head*)(const void*)window;                   \
        unsigned char* const memory = lapwing_window_near_(head, rank, offset, sizeof value);                      \
        if (memory != NULL && sizeof value < *head->least_noted) {                                                 \
            memcpy(memory, &value, sizeof value);                                                                  \
            return 0;                                                                                              \
        } else {                                                                                                   \
            const ctype far = value;                                                                               \
            return lapwing_window_put(window, rank, offset, &far, sizeof far);                                     \
        }                                                                                                          \
    }
LAPWING_WINDOW_FUNCTIONS_(int8, int8_t)
LAPWING_WINDOW_FUNCTIONS_(int16, int16_t)
LAPWING_WINDOW_FUNCTIONS_(int32, int32_t)
LAPWING_WINDOW_FUNCTIONS_(int64, int64_t)
LAPWING_WINDOW_FUNCTIONS_(uint8, uint8_t)
LAPWING_WINDOW_FUNCTIONS_(uint16, uint16_t)
LAPWING_WINDOW_FUNCTIONS_(uint32, uint32_t)
LAPWING_WINDOW_FUNCTIONS_(uint64, uint64_t)
LAPWING_WINDOW_FUNCTIONS_(float, float)
LAPWING_WINDOW_FUNCTIONS_(double, double)
#ifndef __cplusplus
LAPWING_WINDOW_FUNCTIONS_(float_complex, float _Complex)
LAPWING_WINDOW_FUNCTIONS_(double_complex, double _Complex)
#endif

#ifdef __cplusplus
}
#endif

#endif
