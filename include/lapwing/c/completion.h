// Room: bindings
/*
 * Transfers that are under way.
 */
#ifndef LAPWING_C_COMPLETION_H
#define LAPWING_C_COMPLETION_H

#ifdef __cplusplus
extern "C" {
#endif

/// A transfer that a call with `start` in its name has started; null: it is complete. For a get complete means that the
/// values are there, for a put that the source may be reused. It may outlive its window.
typedef struct lapwing_completion lapwing_completion;

/// Whether the transfer is complete; makes progress. Where it is, `*completion` is freed and becomes null. What the
/// transfer failed with;
/// `*completion` is then null, too. Local; one thread at a time for each completion.
int lapwing_completion_test(lapwing_completion** completion, int* complete);
/// Returns when the transfer is complete; `*completion` is freed and becomes null, also where the transfer failed.
/// Local, as above.
int lapwing_completion_wait(lapwing_completion** completion);

#ifdef __cplusplus
}
#endif

#endif
