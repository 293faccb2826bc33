// Room: upc
/* UPC's collectives (UPC required library specification 1.3, section 7.3.1 and 7.3.2). All threads call them, with the
 * same arguments. `flags` is one of LAPWING_UPC_IN_... | one of LAPWING_UPC_OUT_...; 0 is ALLSYNC for both.
 *
 * ALLSYNC is a barrier. So is MYSYNC, if a thread reads or writes the memory of others (scatter, gather, exchange,
 * permute; broadcast on one node; gather_all on one node, or of large results; prefix_reduce to threads other than
 * those that have the elements): finding out that each of them has entered takes as many messages. Otherwise the
 * threads access their own memory only, and MYSYNC costs nothing. Pointers to arrays with one block for each thread
 * must point to the first block, at thread 0. */
#ifndef LAPWING_UPC_COLLECTIVE_H
#define LAPWING_UPC_COLLECTIVE_H

#include <lapwing/upc/pointer.h>
#include <lapwing/upc/types.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* shared [] char src[nbytes] to each block of shared [nbytes] char dst[nbytes * THREADS]. Cost: on one node a copy for
 * each thread, otherwise a tree of messages. */
void lapwing_upc_all_broadcast(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags);
/* Block i of shared [] char src[nbytes * THREADS] to that of thread i of shared [nbytes] char dst[nbytes * THREADS].
 * Cost: a get for each thread. */
void lapwing_upc_all_scatter(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags);
/* The reverse. Cost: a put for each thread. */
void lapwing_upc_all_gather(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags);
/* All blocks of shared [nbytes] char src[nbytes * THREADS] to each block of shared [nbytes * THREADS] char dst[nbytes *
 * THREADS * THREADS]. Cost: on one node copies; otherwise MPI_Allgather for results of up to 4 MiB a thread, above that
 * gets from all threads, many under way at once. */
void lapwing_upc_all_gather_all(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags);
/* Block i of thread j to block j of thread i, of nbytes; both are shared [nbytes * THREADS] char[nbytes * THREADS *
 * THREADS]. Cost: gets from all threads, many under way at once; each thread begins with its right neighbour. */
void lapwing_upc_all_exchange(lapwing_upc_pointer dst, lapwing_upc_pointer src, size_t nbytes, int flags);
/* The block of thread i to that of thread perm[i], of shared int perm[THREADS]; both are shared [nbytes] char[nbytes *
 * THREADS]. Cost: a put for each thread. */
void lapwing_upc_all_permute(lapwing_upc_pointer dst, lapwing_upc_pointer src, lapwing_upc_pointer perm, size_t nbytes,
                             int flags);

/* upc_all_reduceT: *dst becomes the combination of the elements of shared [blk_size] T src[nelems] (0: indefinite); src
 * may have any phase and thread. `op` is ADD, MULT, MIN, MAX, LOGAND, LOGOR, for integers AND, OR, XOR, or FUNC and
 * NONCOMM_FUNC, whose func must be associative, and for FUNC commutative. Without elements *dst is unchanged. Cost: a
 * tree of messages of one value; with NONCOMM_FUNC and blocks in several rounds, of one value for each round.
 * upc_all_prefix_reduceT: dst[i] becomes the combination of src[0] to src[i]; dst is shared [blk_size] T[nelems], too,
 * and may be src. Cost: a tree of messages, up and down, of a value for each round; and puts unless dst begins with the
 * phase and the thread of src. */
#define LAPWING_UPC_REDUCTIONS(suffix, type)                                                                        \
    void lapwing_upc_all_reduce##suffix(lapwing_upc_pointer dst, lapwing_upc_pointer src, lapwing_upc_op op,        \
                                        size_t nelems, size_t blk_size, type (*func)(type, type), int flags);       \
    void lapwing_upc_all_prefix_reduce##suffix(lapwing_upc_pointer dst, lapwing_upc_pointer src, lapwing_upc_op op, \
                                               size_t nelems, size_t blk_size, type (*func)(type, type), int flags);
LAPWING_UPC_REDUCTIONS(C, signed char)
LAPWING_UPC_REDUCTIONS(UC, unsigned char)
LAPWING_UPC_REDUCTIONS(S, short)
LAPWING_UPC_REDUCTIONS(US, unsigned short)
LAPWING_UPC_REDUCTIONS(I, int)
LAPWING_UPC_REDUCTIONS(UI, unsigned int)
LAPWING_UPC_REDUCTIONS(L, long)
LAPWING_UPC_REDUCTIONS(UL, unsigned long)
LAPWING_UPC_REDUCTIONS(F, float)
LAPWING_UPC_REDUCTIONS(D, double)
LAPWING_UPC_REDUCTIONS(LD, long double)
#undef LAPWING_UPC_REDUCTIONS

#ifdef __cplusplus
}
#endif

#endif /* LAPWING_UPC_COLLECTIVE_H */
