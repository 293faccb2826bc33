// Room: bindings
/*
 * One side of a transfer that is not contiguous.
 */
#ifndef LAPWING_C_LAYOUT_H
#define LAPWING_C_LAYOUT_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An ordered sequence of bytes in memory, as blocks relative to a base that the transfer supplies: byte k of the
/// source goes to byte k of the target. Immutable, so that several threads may use it. All calls here are local, any
/// thread; those that create a layout return LAPWING_ERR_RANGE if a size or an offset exceeds 63 bits. Transfers and
/// plans keep what they need: a layout may be freed after the call that it was passed to.
typedef struct lapwing_layout lapwing_layout;

/// A contiguous block of bytes; the offset is relative to the base, and may be negative.
typedef struct lapwing_block {
    int64_t offset;
    uint64_t bytes;
} lapwing_block;
/// One level of a nest: `count` iterations, `stride` bytes apart.
typedef struct lapwing_level {
    uint64_t count;
    int64_t stride;
} lapwing_level;
/// Indices of one dimension: `size` of them starting at `first`, `stride` apart. Ranges of domains need a stride of at
/// least 1; slices allow any except 0.
typedef struct lapwing_range {
    int64_t first;
    uint64_t size;
    int64_t stride;
} lapwing_range;

/// One block. Local, any thread.
int lapwing_layout_create_contiguous(uint64_t bytes, int64_t offset, lapwing_layout** layout);
/// `count` blocks; `stride` is the distance in bytes between their starts. Local, any thread.
int lapwing_layout_create_strided(uint64_t count, uint64_t block_bytes, int64_t stride, int64_t offset,
                                  lapwing_layout** layout);
/// Nested levels, the outermost first. Local, any thread.
int lapwing_layout_create_nested(size_t levels, const lapwing_level* level, uint64_t block_bytes, int64_t offset,
                                 lapwing_layout** layout);
/// Blocks of equal size at these offsets, in this order. Local, any thread.
int lapwing_layout_create_indexed(size_t count, const int64_t* offsets, uint64_t block_bytes, lapwing_layout** layout);
/// Any blocks, in this order. Local, any thread.
int lapwing_layout_create_list(size_t count, const lapwing_block* blocks, lapwing_layout** layout);
/// The sequences one after another. Local, any thread.
int lapwing_layout_create_concatenated(size_t count, const lapwing_layout* const* parts, lapwing_layout** layout);
/// The elements of a domain, `range[d]` in dimension d, of a row-major array of these extents that starts at the base.
/// 1 to 8 dimensions. Local, any thread.
int lapwing_layout_create_patch(int dimensions, const lapwing_range* ranges, const int64_t* extents,
                                uint64_t element_bytes, lapwing_layout** layout);
/// `count` elements of a committed MPI datatype, which may be freed afterwards. LAPWING_ERR_USAGE for one that is null
/// or not committed. Local, any thread.
int lapwing_layout_create_mpi(MPI_Datatype type, uint64_t count, lapwing_layout** layout);
/// Frees it and sets `*layout` to null. Local, any thread.
int lapwing_layout_free(lapwing_layout** layout);
/// A committed MPI datatype with these bytes in this order, which the program frees. Local, any thread.
int lapwing_layout_to_mpi(const lapwing_layout* layout, MPI_Datatype* type);

/// New layouts: bytes [begin, end) of the sequence; every offset moved; `count` times, `stride` bytes apart; at each of
/// these offsets; the bytes with offsets in [lower, upper). Local, any thread.
int lapwing_layout_slice(const lapwing_layout* layout, uint64_t begin, uint64_t end, lapwing_layout** slice);
int lapwing_layout_shift(const lapwing_layout* layout, int64_t distance, lapwing_layout** shifted);
int lapwing_layout_repeat(const lapwing_layout* layout, uint64_t count, int64_t stride, lapwing_layout** repeated);
int lapwing_layout_repeat_at(const lapwing_layout* layout, size_t count, const int64_t* offsets,
                             lapwing_layout** repeated);
int lapwing_layout_intersect(const lapwing_layout* layout, int64_t lower, int64_t upper, lapwing_layout** part);

/// Properties of a layout.
typedef struct lapwing_layout_info {
    uint64_t bytes;         ///< in the sequence
    uint64_t blocks;        ///< the smallest possible number
    int64_t lower;          ///< the lowest offset, and
    int64_t upper;          ///< the highest plus one; both 0 when empty
    double density;         ///< bytes / (upper - lower)
    uint64_t list_memory;   ///< bytes of lists that it keeps; 0 if it is regular
    uint64_t uniform_block; ///< the size of all blocks; 0 if they differ
    uint64_t levels;        ///< of the nest around the blocks; 0: at most one block
    int ascending;          ///< whether each block starts at or above the end of the previous one
} lapwing_layout_info;
/// The properties of a layout. Local, any thread. Cost: O(levels).
int lapwing_layout_query(const lapwing_layout* layout, lapwing_layout_info* info);
/// Whether a byte of memory occurs more than once. Local, any thread. Cost: O(blocks * log(blocks)) for some.
int lapwing_layout_overlaps(const lapwing_layout* layout, int* overlaps);
/// Whether the sequences of bytes are the same. Local, any thread. Cost: O(blocks) if the forms differ.
int lapwing_layout_equal(const lapwing_layout* a, const lapwing_layout* b, int* equal);
/// "4096 blocks of 12 bytes, stride 24": `*text` is valid until the thread's next call that returns a text.
/// Local, any thread.
int lapwing_layout_text(const lapwing_layout* layout, const char** text);

#ifdef __cplusplus
}
#endif

#endif
