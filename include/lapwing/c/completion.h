// Room: bindings
/*
 * Transfers that are under way.
 */
#ifndef LAPWING_C_COMPLETION_H
#define LAPWING_C_COMPLETION_H

#ifdef __cplusplus
extern "C" {
#endif

/// A transfer started by a call with `start` in its name; null means that it is complete. Complete means: for a get the
/// values have arrived, for a put the source may be reused. It may outlive its window.
typedef struct lapwing_completion lapwing_completion;

/// Whether the transfer is complete; makes progress. If it is, or if it has failed, `*completion` is freed and set to
/// null. Returns the error that the transfer failed with. Local; one thread at a time for each completion.
int lapwing_completion_test(lapwing_completion** completion, int* complete);
/// Returns when the transfer is complete; `*completion` is freed and set to null, also if the transfer failed. Local;
/// one thread at a time for each completion.
int lapwing_completion_wait(lapwing_completion** completion);

#ifdef __cplusplus
}
#endif

#endif
