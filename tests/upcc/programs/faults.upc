/* What ends a program with an error, in lines of their own: `runner.py faults` runs each case, and looks for its text and line. */
#include <stdint.h>
#include <stdlib.h>
#include <upc_atomic.h>
#include <upc_castable.h>
#include <upc_collective.h>
#include <upc_nb.h>
#include <upc_relaxed.h>

#define ALL (UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC)

struct node { long key; struct { int numbers[3]; } inner; long many[8]; shared struct node* next; };
struct large { long first; char room[40000]; long last; int bits : 5; struct { int z; } deep; };

shared int data[16 * THREADS], others[16 * THREADS], perm[THREADS];
shared [4] int blocks[16 * THREADS];
shared double reals[16 * THREADS];
shared long words[2 * THREADS];
shared struct node* nothing;
shared [] struct large* large;
shared int* shared nowhere[THREADS];

int compare(shared void* a, shared void* b) { return *(shared int*)a - *(shared int*)b; }

int main(int argc, char** argv) {
    const int odd = MYTHREAD % 2;
    const long one = 1;
    long value = 0;
    shared [] char* bytes = (shared [] char*)upc_alloc(1000);
    upc_lock_t* const lock = upc_all_lock_alloc();
    upc_lock_t* const other_lock = upc_all_lock_alloc();
    upc_lock_t* const freed = upc_global_lock_alloc();
    shared void* const all = upc_all_alloc(THREADS, 64);
    shared void* const all_others = upc_all_alloc(THREADS, 64);
    upc_atomicdomain_t* const domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD | UPC_GET, 0);
    upc_lock_free(freed);
    perm[MYTHREAD] = odd ? 0 : -3;
    upc_barrier;
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 0: value = (size_t)&((shared struct large*)0)->last != 40008; break; /* no error: all is freed below */

    /* accesses */
    case 1: value = nothing->key; break; /* get: 8 bytes at the null pointer */
    case 2: nothing->many[7] = 42; break; /* .*null pointer */
    case 3: nothing->inner.numbers[2] += 1; break; /* .*null pointer */
    case 4: nothing->next = nothing; break; /* .*null pointer */
    case 5: large->last = 42; break; /* get: 40\d\d\d bytes at the null pointer */
    case 500: (*large).last += 1; break; /* .*null pointer */
    case 501: large->room[39999] = 1; break; /* .*null pointer */
    case 502: large->deep.z = (int)(size_t)&((shared struct large*)0)->last; break; /* .*null pointer */
    case 503: large->bits = 1; break; /* .*null pointer */
    case 504: value = ((shared [] struct large*)(shared void*)large)->last; break; /* .*null pointer */
    case 505: upc_memput(&large->deep, &one, sizeof large->deep); break; /* .*null pointer */
    case 6: *((shared long*)0 + THREADS) = 5; break; /* .*null pointer */
    case 7: ((shared long*)NULL + 9 * THREADS)[0] = 5; break; /* .*null pointer */
    case 8: *(strict shared long*)NULL = 1; break; /* .*null pointer */
    case 9: value = *nowhere[MYTHREAD]; break; /* .*null pointer */
    case 10: upc_memget(&value, NULL, sizeof value); break; /* upc_memget: .*null pointer */
    case 11: upc_memget(&value, data, (size_t)1 << 50); break; /* upc_memget: .*leave the thread's part */
    case 12: upc_memput(NULL, &value, sizeof value); break; /* upc_memput: .*null pointer */
    case 13: upc_memcpy(data, NULL, 8); break; /* upc_memcpy: .*null pointer */
    case 14: upc_memset(NULL, 0, 8); break; /* upc_memset: .*null pointer */
    case 15: upc_sync(upc_memget_nb(&value, NULL, sizeof value)); break; /* upc_memget_nb: .*null pointer */
    case 16: upc_memput_nbi(NULL, &value, sizeof value); break; /* upc_memput_nbi: .*null pointer */
    case 17: upc_thread_info(1000); break; /* upc_thread_info: .*1000 */

    /* the heap */
    case 20: upc_global_alloc(THREADS, (size_t)2 << 40); break; /* upc_global_alloc: .*2199023255552 bytes for each thread.*LAPWING_UPC_HEAP */
    case 21: upc_all_alloc(SIZE_MAX, SIZE_MAX); break; /* upc_all_alloc: .*2\^64 */
    case 22: upc_alloc((size_t)1 << 60); break; /* upc_alloc: .*LAPWING_UPC_LOCAL_HEAP */
    case 220: upc_local_alloc((size_t)1 << 61 | 1, 8); break; /* upc_alloc: .*LAPWING_UPC_LOCAL_HEAP */
    case 221: upc_all_sort(data, 8, (size_t)1 << 61 | 2, 1, compare, ALL); break; /* upc_alloc: .*LAPWING_UPC_LOCAL_HEAP */
    case 23: upc_free(bytes + 16); break; /* upc_free: .*no allocation begins there */
    case 24: upc_free(bytes + 3); break; /* upc_free: .*no allocation begins there */
    case 25: upc_free(bytes), upc_free(bytes); break; /* upc_free: .*freed before */
    case 26: upc_free(data); break; /* upc_free: .*no allocation begins there */
    case 260: upc_free(others); break; /* upc_free: .*no allocation begins there */
    case 27: upc_all_free(odd ? all : all_others); break; /* upc_all_free: .*another thread passes another pointer */
    case 28: upc_all_free(odd ? NULL : all); break; /* upc_all_free: .*another thread passes another pointer */
    case 29: upc_all_alloc(odd ? 1 : 100, 32); break; /* upc_all_alloc: 1 blocks of 32 bytes.*thread 0 asks for 100 of 32 */

    /* locks and barriers */
    case 30: upc_unlock(lock); break; /* upc_unlock: .*does not hold the lock */
    case 31: if (!odd) upc_lock(lock), upc_lock(lock); break; /* upc_lock: .*already holds the lock */
    case 32: upc_lock(freed); break; /* upc_lock: .*it was freed */
    case 33: upc_lock_attempt(freed); break; /* upc_lock_attempt: .*it was freed */
    case 34: upc_unlock(freed); break; /* upc_unlock: .*(does not hold the lock|it was freed) */
    case 35: upc_lock_free(freed); break; /* upc_lock_free: .*it was freed */
    case 36: upc_lock((upc_lock_t*)NULL); break; /* upc_lock: .*the null pointer is not a lock */
    case 37: upc_lock((upc_lock_t*)(shared void*)bytes); break; /* upc_lock: .*there is no lock */
    case 38: upc_all_lock_free(odd ? lock : other_lock); break; /* upc_all_lock_free: .*another thread passes another pointer */
    case 40: upc_barrier 7 + odd; break; /* upc_barrier.*: the names differ: [78] here */
    case 41: if (argc) upc_wait; break; /* upc_wait: .*no upc_notify before it */
    case 42: upc_notify 7; if (argc) upc_wait 8; break; /* upc_wait: .*its name is 8.*that of the previous upc_notify 7 */

    /* atomics */
    case 50: upc_all_atomicdomain_alloc(UPC_SHORT, UPC_ADD, 0); break; /* upc_all_atomicdomain_alloc: .*INT32 */
    case 51: upc_all_atomicdomain_alloc(UPC_DOUBLE, UPC_XOR, 0); break; /* upc_all_atomicdomain_alloc: .*operations */
    case 52: upc_atomic_relaxed(domain, NULL, UPC_XOR, words, &one, NULL); break; /* upc_atomic_relaxed: .*domain */
    case 53: upc_atomic_relaxed(domain, &value, UPC_GET, words, &one, NULL); break; /* upc_atomic_relaxed: .*0 operands */
    case 54: upc_atomic_strict(domain, NULL, UPC_GET, words, NULL, NULL); break; /* upc_atomic_strict: .*fetch_ptr */
    case 55: upc_atomic_relaxed(domain, &value, UPC_ADD, NULL, &one, NULL); break; /* upc_atomic_relaxed: .*null pointer */
    case 56: upc_atomic_relaxed(domain, &value, UPC_ADD, (shared [] char*)words + 4, &one, NULL); break; /* upc_atomic_relaxed: .*multiple of 8 */
    case 57: upc_atomic_relaxed(NULL, &value, UPC_ADD, words, &one, NULL); break; /* upc_atomic_relaxed: .*domain is null */

    /* collectives */
    case 60: upc_all_broadcast(all, all_others, 8, UPC_IN_ALLSYNC | UPC_IN_NOSYNC); break; /* upc_all_broadcast: .*flags */
    case 61: upc_all_gather(all, all_others, 8, 4096); break; /* upc_all_gather: .*flags */
    case 62: upc_all_scatter(NULL, all_others, 8, ALL); break; /* upc_all_scatter: .*null pointer */
    case 63: upc_all_exchange(all, all_others, (size_t)1 << 60, ALL); break; /* upc_all_exchange: */
    case 64: upc_all_reduceD(reals, reals, UPC_XOR, 4, 1, NULL, ALL); break; /* upc_all_reduceD: .*operation 0x10.*floating point */
    case 65: upc_all_reduceI(data, others, UPC_GET, 4, 1, NULL, ALL); break; /* upc_all_reduceI: .*operation 0x800.*integers */
    case 66: upc_all_prefix_reduceI(data, others, UPC_FUNC, 4, 1, NULL, ALL); break; /* upc_all_prefix_reduceI: .*FUNC without a function */
    case 67: upc_all_reduceI(data, others, UPC_ADD, SIZE_MAX, 1, NULL, ALL); break; /* upc_all_reduceI: .*2\^63 */
    case 68: upc_all_reduceI(data, others, UPC_ADD, 4, SIZE_MAX, NULL, ALL); break; /* upc_all_reduceI: .*blocks of 18446744073709551615 */
    case 69: upc_all_reduceI(data, &blocks[3], UPC_ADD, 4, 2, NULL, ALL); break; /* upc_all_reduceI: .*phase 3.*blocks of 2 */
    case 70: upc_all_permute(all, all_others, perm, 8, ALL); break; /* upc_all_permute: .*perm\[0\] is -3 */
    case 71: upc_all_broadcast((shared char*)all + 1, all_others, 8, ALL); break; /* upc_all_broadcast: .*dst.*thread 1.*first block */
    case 72: upc_all_gather(all, (shared char*)all_others + 1, 8, ALL); break; /* upc_all_gather: .*src.*thread 1.*first block */
    case 73: upc_all_permute(all, all_others, perm + 1, 8, ALL); break; /* upc_all_permute: .*perm.*thread 1.*first block */
    case 74: upc_all_broadcast(all, all_others, odd ? 8 : 16, ALL); break; /* upc_all_broadcast: .*(the same on all threads|something else on another) */
    case 75: upc_all_reduceD(reals, reals + 1, odd ? UPC_ADD : UPC_MAX, 4, 1, NULL, ALL); break; /* upc_all_reduceD: .*(the same on all threads|something else on another) */
    case 76: if (odd) upc_all_scatter(all, all_others, 8, ALL); else upc_barrier; break; /* .*all threads must make the same collective calls */
    default: return 2;
    }
    upc_barrier;
    upc_free(bytes);
    upc_all_free(all);
    upc_all_free(all_others);
    upc_all_lock_free(lock);
    upc_all_lock_free(other_lock);
    upc_all_atomicdomain_free(domain);
    return value != 0;
}
