// Room: bindings
/*
 * Non-contiguous transfers that are repeated, and recorded puts.
 */
#ifndef LAPWING_C_PLAN_H
#define LAPWING_C_PLAN_H

#include <lapwing/c/layout.h>
#include <lapwing/c/window.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A transfer between memory of this rank and a rank's part of a window, with a layout on either side: made once,
/// executed as often as needed. The window must stay open while it is used. For one thread at a time; all calls are
/// local.
typedef struct lapwing_plan lapwing_plan;

/// How the bytes travel: docs/noncontiguous.md.
enum {
    LAPWING_STRATEGY_AUTOMATIC = 0, ///< whichever the cost model finds fastest
    LAPWING_STRATEGY_PER_BLOCK = 1,
    LAPWING_STRATEGY_FULL_PACK = 2,
    LAPWING_STRATEGY_FIXED_PIPELINE = 3,
    LAPWING_STRATEGY_SUPERPIPELINE = 4,
    LAPWING_STRATEGY_DIRECT_COPY = 5,
    LAPWING_STRATEGY_OWNER_PACKED = 6,
    LAPWING_STRATEGY_SIEVED = 7 ///< gets only
};
/// For programs that know better than the cost model; a member of zero bytes leaves the choice to it.
typedef struct lapwing_plan_options {
    int strategy;           ///< LAPWING_STRATEGY_...
    uint64_t first_chunk;   ///< bytes of the first chunk of a pipeline
    double growth;          ///< factor by which each chunk is larger than the previous one
    uint64_t largest_chunk; ///< limit of the growth in bytes; 0 leaves each of the three open
} lapwing_plan_options;

/// `here` is relative to the memory that is passed later, `there` to `offset` of the rank's part. `options` may be
/// null. LAPWING_ERR_RANGE if the layouts have different numbers of bytes, or leave the part. Local, any thread; the
/// plan is for one thread at a time. Cost: microseconds.
int lapwing_plan_create_get(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                            const lapwing_layout* here, const lapwing_plan_options* options, lapwing_plan** plan);
int lapwing_plan_create_put(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                            const lapwing_layout* here, const lapwing_plan_options* options, lapwing_plan** plan);
/// Frees it and sets `*plan` to null. Local; one thread at a time for each plan.
int lapwing_plan_free(lapwing_plan** plan);
/// Blocking: on return a get is complete, a put complete locally. LAPWING_ERR_PEER_LEFT, _MPI.
/// Local; one thread at a time for each plan.
int lapwing_plan_execute(lapwing_plan* plan, void* memory);
/// The same for puts, from memory that may be constant: LAPWING_ERR_USAGE for a get.
/// Local; one thread at a time for each plan.
int lapwing_plan_execute_put(lapwing_plan* plan, const void* memory);
/// The same for puts, and then adds one to a notification counter of the rank, after the bytes.
/// Local; one thread at a time for each plan.
int lapwing_plan_execute_notify(lapwing_plan* plan, const void* memory, unsigned int counter);
/// Non-blocking: the memory must remain valid until the completion is done. Local; one thread at a time for each plan.
int lapwing_plan_start(lapwing_plan* plan, void* memory, lapwing_completion** completion);
/// Computes bytes [first, first + bytes) of a put into `memory`. A nonzero result ends the call: LAPWING_ERR_USAGE, and
/// an unspecified part has been put.
typedef int (*lapwing_fill_function)(void* context, uint64_t first, void* memory, uint64_t bytes);
/// A put whose bytes are computed while it travels, in order, each call for a multiple of `granule` bytes.
/// LAPWING_ERR_RANGE unless the plan's bytes are a multiple of that, LAPWING_ERR_USAGE for a get.
/// Local; one thread at a time for each plan.
int lapwing_plan_execute_filled(lapwing_plan* plan, uint64_t granule, lapwing_fill_function fill, void* context);
/// The strategy in use, never LAPWING_STRATEGY_AUTOMATIC; the bytes of an execution; and its time in seconds, as
/// predicted by the cost model. Each pointer may be null. Local; one thread at a time for each plan.
int lapwing_plan_query(const lapwing_plan* plan, int* strategy, uint64_t* bytes, double* seconds);
/// Which strategy, and why not the others, in several lines: `*text` is valid until the thread's next call that returns
/// a text. Local; one thread at a time for each plan.
int lapwing_plan_explain(const lapwing_plan* plan, const char** text);

/// A put driven by the program while it computes the bytes.
typedef struct lapwing_production lapwing_production;
/// Starts the put of a plan from this memory; the plan must exist until it is finished.
/// Local; one thread at a time for each plan.
int lapwing_plan_produce(lapwing_plan* plan, const void* memory, lapwing_production** production);
/// The first `bytes` bytes of the sequence are computed. Does not wait. LAPWING_ERR_RANGE.
/// Local; one thread at a time for each production.
int lapwing_production_ready(lapwing_production* production, uint64_t bytes);
/// All bytes are computed: complete locally on return; sets `*production` to null.
/// Local; one thread at a time for each production.
int lapwing_production_finish(lapwing_production** production);

/// Puts that are made one by one, and travel as one planned transfer for each rank. For one thread; all calls are
/// local.
typedef struct lapwing_recording lapwing_recording;
/// Nothing is recorded yet. The window must outlive it. Local, any thread; the
/// recording is for one thread at a time.
int lapwing_recording_create(lapwing_window* window, lapwing_recording** recording);
/// Discards puts that have not run; sets `*recording` to null. Local; one thread at a time for each recording.
int lapwing_recording_free(lapwing_recording** recording);
/// Records a put of these bytes, which must stay where they are until the run. LAPWING_ERR_RANGE.
/// Local; one thread at a time for each recording.
int lapwing_recording_put(lapwing_recording* recording, int rank, uint64_t offset, const void* source, uint64_t bytes);
/// Puts what was recorded, complete locally on return, and starts a new recording.
/// Local; one thread at a time for each recording.
int lapwing_recording_run(lapwing_recording* recording);
/// The number of puts since the last run, and how often a run had to plan. Either may be null.
/// Local; one thread at a time for each recording.
int lapwing_recording_query(const lapwing_recording* recording, uint64_t* puts, uint64_t* plans_made);
/// The number of blocks to a rank in the current puts, or in those of the last run. LAPWING_ERR_RANGE.
/// Local; one thread at a time for each recording.
int lapwing_recording_blocks(const lapwing_recording* recording, int rank, uint64_t* blocks);

#ifdef __cplusplus
}
#endif

#endif
