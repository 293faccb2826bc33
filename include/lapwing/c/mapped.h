// Room: bindings
/*
 * A whole array as memory that is read by a plain pointer.
 */
#ifndef LAPWING_C_MAPPED_H
#define LAPWING_C_MAPPED_H

#include <lapwing/c/array.h>
#include <lapwing/c/completion.h>
#include <lapwing/c/prefetch.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// All elements of an array in the row-major order of its indices, whatever the distribution, for kernels that know
/// nothing of Lapwing: element k of that order is `memory[k]`. It has memory for what has been named, in whole pages,
/// and addresses for all else. A read of a page with nothing that was named ends the program, with a message that says
/// the array, the index (counted from 0), the rank and the line.
///
/// Elements are as they were at the last refresh, or as they are now: which of the two, docs/mapped.md says. So nobody
/// may write an element while somebody reads it in such memory. Elements of a strided index range are contiguous,
/// too.
///
/// It may outlive its array: the memory stays until lapwing_mapped_free(), and a refresh returns LAPWING_ERR_USAGE.
typedef struct lapwing_mapped lapwing_mapped;

/// Local, one thread. Maps the elements that the calling rank owns and those that the pattern names; null: all. They
/// are filled on return: what other ranks have written must have been released before this rank's last acquire. A
/// function of the pattern is called within this call alone. LAPWING_ERR_RANGE for a negative depth, and if the system
/// gives no memory. Cost: addresses for the whole array, memory for the pages of what is named and not here, planning a
/// transfer for each owner, and the transfers. Of the same elements as the one of this array that was freed last: only
/// the transfers, since the array keeps that one's memory.
int lapwing_mapped_create(const lapwing_array* array, const lapwing_pattern* pattern, lapwing_mapped** mapped);
/// The same for the elements of one domain, and no others: `ranges` has one range for each dimension.
/// LAPWING_ERR_RANGE if it leaves the array. Local, one thread.
int lapwing_mapped_create_domain(const lapwing_array* array, const lapwing_range* ranges, lapwing_mapped** mapped);
/// Maps all elements, of which none is fetched before it is read: the read waits for the system's fault and a transfer,
/// some 30 us, and a refresh fetches again, in bulk, what is in use. Memory that has not been read yet must not be
/// handed to MPI or to the system: lapwing_mapped_pin(). A transfer that fails ends the program with a message. At most
/// LAPWING_MAPPED_BYTES are held. Nor may it be read for the first time within the library: as the source of a put,
/// or in a function that Lapwing calls. LAPWING_ERR_USAGE for an array with a distribution of the program's own, and
/// where MPI is initialised with less than MPI_THREAD_MULTIPLE and there are several nodes; LAPWING_ERR_RANGE if the
/// system gives no addresses. Local, one thread.
int lapwing_mapped_create_on_demand(const lapwing_array* array, lapwing_mapped** mapped);
/// Of a mapped array on demand: fetches the elements of a domain, with a range for each dimension, so that they can be
/// handed to MPI or to the system, until the next refresh, or until more is read than LAPWING_MAPPED_BYTES. Others have
/// them already, or have not named them. LAPWING_ERR_RANGE if the domain leaves the array, and the errors of a refresh.
/// Local, any thread, but not during a refresh.
int lapwing_mapped_pin(const lapwing_mapped* mapped, const lapwing_range* ranges);
/// Sets `*mapped` to null, and waits for nothing: completions of its refreshes keep the memory until they are complete.
/// Local, one thread.
int lapwing_mapped_free(lapwing_mapped** mapped);
/// The memory, which must not be written to: where the array's first element is or would be, the distance in elements
/// between neighbours in each dimension, and the indices, those of the whole array. Null if nothing was named. Result
/// pointers may be null. They stay the same as long as the mapped array exists, also when the array is resized. Local,
/// any thread.
int lapwing_mapped_view(const lapwing_mapped* mapped, const void** memory, int64_t* strides, lapwing_range* ranges);
/// The elements become those of their owners, and are complete on return. What other ranks have written must have been
/// released before this rank's last acquire, and nobody may write it meanwhile. LAPWING_ERR_USAGE once the array is
/// freed, or has got other extents or another distribution: map it again. Local; one thread at a time for each mapped
/// array, while no other reads it. Cost: a planned transfer for each owner, all under way at once, and a copy of own
/// elements that are not shown where they are.
int lapwing_mapped_refresh(lapwing_mapped* mapped);
/// The same without waiting: until it is complete, the elements are undefined. Local; one thread at a time for each
/// mapped array.
int lapwing_mapped_start_refresh(lapwing_mapped* mapped, lapwing_completion** completion);
/// Bytes of the pages that it has of its own. Local, any thread.
int lapwing_mapped_memory(const lapwing_mapped* mapped, uint64_t* bytes);

#ifdef __cplusplus
}
#endif

#endif
