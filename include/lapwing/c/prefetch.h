// Room: bindings
/*
 * Copies of what other ranks have, moved in bulk and kept consistent: of elements by patterns, and of bytes of windows.
 */
#ifndef LAPWING_C_PREFETCH_H
#define LAPWING_C_PREFETCH_H

#include <lapwing/c/array.h>
#include <lapwing/c/completion.h>
#include <lapwing/c/layout.h>
#include <lapwing/c/window.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How copies of elements are stored. LAPWING_STORE_BY_INDEX: a block for each rectangle. LAPWING_STORE_BY_OWNER: a
/// block for each owner. LAPWING_STORE_IN_HALO: around the local block, in the space that lapwing_array_options.halo
/// reserves, so that lapwing_array_halo_view() has both as plain memory; what a pattern needs beyond it is stored by
/// index.
enum { LAPWING_STORE_BY_INDEX = 0, LAPWING_STORE_BY_OWNER = 1, LAPWING_STORE_IN_HALO = 2 };
/// What a program promises about what it prefetches, and leaves to Lapwing.
typedef struct lapwing_prefetch_options {
    int consistent; ///< 1: automatic copies, filled again by the first read after an acquire; 0: manual ones, unchanged
                    ///< until an update, except by this rank's own writes
    int static_domain; ///< 1: promises that the array keeps its extents: lapwing_array_resize() is then an error
    int storage;       ///< LAPWING_STORE_..., for arrays
} lapwing_prefetch_options;
/// The options that null means: consistent, no promise, by index. Returns no error code. Local, any thread.
lapwing_prefetch_options lapwing_prefetch_options_default(void);

/// Which elements a rank will read besides its own.
enum {
    LAPWING_PATTERN_STENCIL = 0,     ///< those up to `depth` away from one of its own
    LAPWING_PATTERN_ROW_WISE = 1,    ///< the rows of its own: all indices of the last dimension
    LAPWING_PATTERN_COLUMN_WISE = 2, ///< the columns of its own: all indices of the first dimension
    LAPWING_PATTERN_TRANSPOSE = 3,   ///< its own with the dimensions in reverse order
    LAPWING_PATTERN_ALL = 4,         ///< all elements
    LAPWING_PATTERN_DOMAINS = 5,     ///< a list of domains, which each rank has for itself
    LAPWING_PATTERN_FUNCTION = 6     ///< what a function of the program's names
};
/// The domains that a function names.
typedef struct lapwing_needed lapwing_needed;
/// Names, by lapwing_needed_add(), the domains that the rank reads because it owns `own`, which has a range for each
/// dimension and is empty where the rank owns nothing. Returns 0; any other value makes the calling function return
/// LAPWING_ERR_USAGE.
typedef int (*lapwing_domains_function)(void* context, const lapwing_range* own, lapwing_needed* needed);
/// Adds a domain; indices that the array does not have are skipped. LAPWING_ERR_RANGE. Local, within the function, by
/// its thread.
int lapwing_needed_add(lapwing_needed* needed, const lapwing_range* ranges);
/// A pattern; members that its kind does not name are ignored.
typedef struct lapwing_pattern {
    int kind;            ///< LAPWING_PATTERN_...
    int64_t depth;       ///< of LAPWING_PATTERN_STENCIL, to each side
    int corners;         ///< of LAPWING_PATTERN_STENCIL; 1: a square or cube, 0: a star
    const int* periodic; ///< of LAPWING_PATTERN_STENCIL: for each dimension, whether it wraps around; null: none does
    uint64_t count;      ///< of LAPWING_PATTERN_DOMAINS: how many domains
    const lapwing_range* domains; ///< of LAPWING_PATTERN_DOMAINS: one range a dimension for each of them; indices that
                                  ///< the array does not have are skipped
    lapwing_domains_function function; ///< of LAPWING_PATTERN_FUNCTION: called for each domain that the rank owns, and
                                       ///< again when extents or the distribution change
    void* context;                     ///< passed to the function
} lapwing_pattern;

/// Collective, one thread: the same options on all ranks. Elements that the pattern names, and that the rank does not
/// own, are copied; lapwing_array_get_element() and the like read the copies, and this rank's writes go to them too.
/// Patches and lists read the elements themselves. Several patterns add up, and are evaluated again when the extents or
/// the distribution change. Manual copies are filled. LAPWING_ERR_RANGE for a negative depth, _USAGE if the options
/// differ from those of the array's other patterns, _MISMATCH. Cost: memory for the copies, and planning a transfer for
/// each owner.
int lapwing_array_prefetch(lapwing_array* array, const lapwing_pattern* pattern,
                           const lapwing_prefetch_options* options);
/// Local; one thread, while no other reads elements. Removes the patterns and their copies. Blocks that were found by
/// lapwing_array_block_at() must no longer be used.
int lapwing_array_evict(lapwing_array* array);
/// Local; one thread. Fills all copies, and is complete on return. What other ranks have written must have been
/// released before this rank's last acquire. LAPWING_ERR_USAGE if nothing is prefetched. Cost: a planned transfer for
/// each owner, all under way at once.
int lapwing_array_update_copies(lapwing_array* array);
/// The same without waiting: until it is complete, this rank must neither read nor write what is prefetched. Local;
/// one thread.
int lapwing_array_start_update_copies(lapwing_array* array, lapwing_completion** completion);
/// Whether an element has a copy here. LAPWING_ERR_RANGE. Local, any thread.
int lapwing_array_is_prefetched(const lapwing_array* array, const int64_t* index, int* prefetched);
/// The memory block around an element that is local, prefetched, or on the same node, for loops that read many:
/// `*memory` is the block's first element, `strides` the distance in elements between neighbours in each dimension,
/// `ranges` the indices that the block has. Automatic copies are filled first if they are stale, and stay as they are
/// until a read after an acquire. Result pointers other than `memory` may be null. LAPWING_ERR_RANGE for elements that
/// are elsewhere. Local, any thread.
int lapwing_array_block_at(lapwing_array* array, const int64_t* index, const void** memory, int64_t* strides,
                           lapwing_range* ranges);

/// The local block and the copies around it, for arrays that prefetch with LAPWING_STORE_IN_HALO: `*memory` is the
/// first element, `strides` the distance in elements between neighbours in each dimension, `ranges` the indices, those
/// beyond the array's edges left out. Elements that are neither local nor prefetched are undefined. Automatic copies
/// are filled first if they are stale, and stay as they are until a read after an acquire. A rank that owns nothing
/// gets a null pointer and empty ranges. Result pointers other than `memory` may be null. LAPWING_ERR_USAGE if there
/// are no such copies. Local, any thread.
int lapwing_array_halo_view(lapwing_array* array, const void** memory, int64_t* strides, lapwing_range* ranges);

/// Copies of parts of other ranks' segments of a window. All calls are local. This rank's writes to the window, and to
/// elements of the array that it belongs to, go to the copies too; stores to lapwing_window_memory() do not. It may
/// outlive the window: it is then empty, and calls return LAPWING_ERR_USAGE.
typedef struct lapwing_prefetch lapwing_prefetch;

/// Nothing is requested yet. Other threads of this rank must not write to the window during the call. `options` may be
/// null; `storage` is ignored. Local, one thread.
int lapwing_prefetch_create(lapwing_window* window, const lapwing_prefetch_options* options,
                            lapwing_prefetch** prefetch);
/// Waits for an update that is under way, frees the copies and sets `*prefetch` to null. Other threads of this
/// rank must not write to the window during the call. Local, one thread.
int lapwing_prefetch_free(lapwing_prefetch** prefetch);
/// Prefetches the bytes that `part`, a layout that begins at `offset`, selects of the rank's segment; null: the whole
/// segment from `offset` on. `*slice` is its number in the calls below, until lapwing_prefetch_evict(). Automatic
/// copies are filled by the first read, manual ones by an update. LAPWING_ERR_RANGE, and LAPWING_ERR_USAGE for this
/// rank, whose own part needs no copy. From the first request of a rank of this node until lapwing_prefetch_evict(),
/// an array that the window belongs to reads and writes the elements of the node's other ranks by calls in place of
/// loads and stores: lapwing_array_address_1() and the like return null for them, and addresses from before must not be
/// written to. Local, one thread, while no other accesses the array's elements. Cost: memory for the copy, and planning
/// the transfer.
int lapwing_prefetch_request(lapwing_prefetch* prefetch, int rank, uint64_t offset, const lapwing_layout* part,
                             uint64_t* slice);
/// The copy, packed; `bytes` may be null. An automatic copy is filled first if it is stale; it stays unchanged until
/// the next update, and in automatic mode until a read after an acquire. LAPWING_ERR_RANGE for a number that no request
/// returned, LAPWING_ERR_USAGE for a slice that was evicted. Local, one thread: with several,
/// use lapwing_prefetch_read().
int lapwing_prefetch_access(lapwing_prefetch* prefetch, uint64_t slice, const void** memory, uint64_t* bytes);
/// Value `k` of the copy, seen as values of `type`, of 1, 2, 4, 8 or 16 bytes: LAPWING_ERR_USAGE for others. Errors as
/// above, and LAPWING_ERR_RANGE for a value beyond the copy. Local, any thread.
int lapwing_prefetch_read(lapwing_prefetch* prefetch, uint64_t slice, lapwing_type type, uint64_t k, void* value);
/// Fills all copies, and is complete on return; what other ranks have written must have been released before. Local,
/// one thread. Cost: a planned transfer for each owner, all under way at once.
int lapwing_prefetch_update(lapwing_prefetch* prefetch);
/// The same without waiting: until it is complete, this rank must neither read the copies nor write what they mirror.
/// Local, one thread.
int lapwing_prefetch_start_update(lapwing_prefetch* prefetch, lapwing_completion** completion);
/// Removes all slices, and frees the copies. Local, one thread.
int lapwing_prefetch_evict(lapwing_prefetch* prefetch);
/// Bytes of all copies. Local, any thread.
int lapwing_prefetch_memory(const lapwing_prefetch* prefetch, uint64_t* bytes);

#ifdef __cplusplus
}
#endif

#endif
