// Room: bindings
/*
 * Transfers with gaps that come often, and puts that are recorded.
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
/// executed as often as needed. The window must stay as long as it is used. For one thread at a time; all calls are
/// local.
typedef struct lapwing_plan lapwing_plan;

/// How the bytes travel: docs/noncontiguous.md.
enum {
    LAPWING_STRATEGY_AUTOMATIC = 0, ///< what the cost model finds fastest
    LAPWING_STRATEGY_PER_BLOCK = 1,
    LAPWING_STRATEGY_FULL_PACK = 2,
    LAPWING_STRATEGY_FIXED_PIPELINE = 3,
    LAPWING_STRATEGY_SUPERPIPELINE = 4,
    LAPWING_STRATEGY_DIRECT_COPY = 5,
    LAPWING_STRATEGY_OWNER_PACKED = 6
};
/// Where the program knows better than the cost model; zero bytes: nowhere.
typedef struct lapwing_plan_options {
    int strategy;           ///< LAPWING_STRATEGY_...
    uint64_t first_chunk;   ///< bytes of the first chunk of a pipeline, and
    double growth;          ///< how many times larger each is than the one before, up to
    uint64_t largest_chunk; ///< so many bytes; 0 leaves each open
} lapwing_plan_options;

/// `here` is relative to the memory that is passed later, `there` to `offset` of the rank's part. `options` may be
/// null. LAPWING_ERR_RANGE for layouts of different numbers of bytes, and where the part is left. Cost: microseconds.
int lapwing_plan_create_get(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                            const lapwing_layout* here, const lapwing_plan_options* options, lapwing_plan** plan);
int lapwing_plan_create_put(lapwing_window* window, int rank, uint64_t offset, const lapwing_layout* there,
                            const lapwing_layout* here, const lapwing_plan_options* options, lapwing_plan** plan);
/// Makes `*plan` null.
int lapwing_plan_free(lapwing_plan** plan);
/// Blocking: a get is complete on return, a put locally. LAPWING_ERR_PEER_LEFT, _MPI.
int lapwing_plan_execute(lapwing_plan* plan, void* memory);
/// The same for puts, from memory that may be constant: LAPWING_ERR_USAGE for a get.
int lapwing_plan_execute_put(lapwing_plan* plan, const void* memory);
/// The same for puts, and one more in a notification counter of the rank behind the bytes.
int lapwing_plan_execute_notify(lapwing_plan* plan, const void* memory, unsigned int counter);
/// Without waiting: the memory must stay until the completion says so.
int lapwing_plan_start(lapwing_plan* plan, void* memory, lapwing_completion** completion);
/// Computes bytes [first, first + bytes) of a put into `memory`; what is not 0 ends the call: LAPWING_ERR_USAGE, and an
/// unknown part has been put.
typedef int (*lapwing_fill_function)(void* context, uint64_t first, void* memory, uint64_t bytes);
/// A put whose bytes are computed on the way, in order, each call for a multiple of `granule` bytes. LAPWING_ERR_RANGE
/// unless the plan's bytes are a multiple of that, LAPWING_ERR_USAGE for a get.
int lapwing_plan_execute_filled(lapwing_plan* plan, uint64_t granule, lapwing_fill_function fill, void* context);
/// The strategy in use, never LAPWING_STRATEGY_AUTOMATIC; bytes of an execution; and seconds that it takes, as the cost
/// model sees it. Each may be null.
int lapwing_plan_query(const lapwing_plan* plan, int* strategy, uint64_t* bytes, double* seconds);
/// Which strategy, and why not the others, in several lines.
int lapwing_plan_explain(const lapwing_plan* plan, const char** text);

/// A put that the program drives while it computes the bytes.
typedef struct lapwing_production lapwing_production;
/// The put of a plan from this memory begins; the plan must stay until it is finished.
int lapwing_plan_produce(lapwing_plan* plan, const void* memory, lapwing_production** production);
/// The first `bytes` bytes of the sequence are computed. Does not wait. LAPWING_ERR_RANGE.
int lapwing_production_ready(lapwing_production* production, uint64_t bytes);
/// All are: complete locally on return; makes `*production` null.
int lapwing_production_finish(lapwing_production** production);

/// Puts that are made one by one, and travel as one planned transfer for each rank. For one thread; all calls are
/// local.
typedef struct lapwing_recording lapwing_recording;
/// Nothing is recorded yet. The window must outlive it.
int lapwing_recording_create(lapwing_window* window, lapwing_recording** recording);
/// What has not run is forgotten; makes `*recording` null.
int lapwing_recording_free(lapwing_recording** recording);
/// Records a put of these bytes, which stay where they are until the run. LAPWING_ERR_RANGE.
int lapwing_recording_put(lapwing_recording* recording, int rank, uint64_t offset, const void* source, uint64_t bytes);
/// Puts what was recorded, complete locally on return, and begins anew.
int lapwing_recording_run(lapwing_recording* recording);
/// Puts since the last run, and how many times a run had to plan. Either may be null.
int lapwing_recording_query(const lapwing_recording* recording, uint64_t* puts, uint64_t* plans_made);
/// Blocks of what is to go to a rank, or went with the last run.
int lapwing_recording_blocks(const lapwing_recording* recording, int rank, uint64_t* blocks);

#ifdef __cplusplus
}
#endif

#endif
