// Room: bindings
/*
 * Functions that run at other ranks, where the data is. docs/functions.md says what they may do, and how calls are
 * ordered.
 */
#ifndef LAPWING_C_FUNCTION_H
#define LAPWING_C_FUNCTION_H

#include <lapwing/c/array.h>
#include <lapwing/c/runtime.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A function that other ranks call. `context`: of lapwing_function_register() on the rank where it runs. `element`: in
/// the owner's memory, of calls about an element of an array; null otherwise. `argument`: valid until it returns, at an
/// address that is a multiple of 8. `result`: at a multiple of 8; `*result_bytes` is how many bytes the caller takes, 0
/// where it takes none, and the function makes it less if it writes less. Returns 0, or what makes the call fail:
/// lapwing_function_fail(text), or the code of a call of the library's own that has failed, whose text then travels
/// back.
typedef int (*lapwing_owner_function)(void* context, void* element, const void* argument, uint64_t argument_bytes,
                                      void* result, uint64_t* result_bytes);

/// Which thread of the owner runs a function.
enum {
    /// Whichever makes progress there: the progress thread, or a call of the program's. The function must be short and
    /// must not wait.
    LAPWING_WHERE_PROGRESS = 0,
    /// A thread of the program, in its next collective call, lapwing_runtime_progress(), release, or wait for a result.
    /// The function may wait, but make no collective call.
    LAPWING_WHERE_PROGRAM = 1
};

/// Local, any thread; also before a runtime exists, and best there: every rank must have registered the name when the
/// first call of it comes. From now on ranks that run this process's part of a program call the function by `name`,
/// which is compared by a hash. LAPWING_ERR_USAGE if the name belongs to another function already, or to the same with
/// another context. Names are never removed.
int lapwing_function_register(const char* name, lapwing_owner_function function, void* context);
/// In a function that another rank has called: `return lapwing_function_fail("no such word");` makes the call fail with
/// this text, and LAPWING_ERR_FUNCTION. Returns that code. Local, any thread.
int lapwing_function_fail(const char* text);

/// The result of a function, which may still be on its way.
typedef struct lapwing_future lapwing_future;

/// Local, any thread. Runs the function of this name at `rank` and returns when it has returned, with its result, of
/// `result_bytes` bytes; zeros where it has written less. `argument` and `result` may be null where their bytes are 0.
/// `where`: LAPWING_WHERE_... Calls of one rank to one other run there in the order in which they are made, those with
/// LAPWING_WHERE_PROGRAM among themselves. LAPWING_ERR_FUNCTION with its text if the function has failed, or if the
/// rank has none of that name; LAPWING_ERR_USAGE if this rank has none, and in a function that must not wait;
/// LAPWING_ERR_RANGE for no rank, and for more bytes than 1 MiB or, for the program, than a packet has (about 7900,
/// LAPWING_SERVICE_PACKET); LAPWING_ERR_PEER_LEFT. Cost: one message and its answer; another where the argument
/// is larger than a packet.
int lapwing_runtime_call(lapwing_runtime* runtime, int where, int rank, const char* name, const void* argument,
                         uint64_t argument_bytes, void* result, uint64_t result_bytes);
/// Local, any thread. The same without waiting: `argument` may be reused on return, and lapwing_future_get() has the
/// result, of at most `result_bytes` bytes and 1 MiB.
int lapwing_runtime_start_call(lapwing_runtime* runtime, int where, int rank, const char* name, const void* argument,
                               uint64_t argument_bytes, uint64_t result_bytes, lapwing_future** future);
/// Local, any thread. The same without a result, as a put: the function has run when a later release of this rank
/// returns, which returns LAPWING_ERR_FUNCTION if it has failed. It may be called in a function that another rank has
/// sent here. Cost: a message, which carries those to the same rank that are made meanwhile, too.
int lapwing_runtime_post(lapwing_runtime* runtime, int where, int rank, const char* name, const void* argument,
                         uint64_t argument_bytes);
/// Collective, one thread. Returns on every rank when all functions have run that any rank has called or posted, and
/// those that they have posted, and so on; and acquires. LAPWING_ERR_FUNCTION if one has failed that this rank has
/// posted. Cost: two reductions or more.
int lapwing_runtime_quiesce(lapwing_runtime* runtime);

/// Local, any thread. The same at the owner of an element, which the function gets; after this rank's earlier accesses
/// to it. LAPWING_ERR_RANGE for an index outside of the array, LAPWING_ERR_USAGE for a replicated one.
int lapwing_array_apply(lapwing_array* array, const int64_t* index, const char* name, const void* argument,
                        uint64_t argument_bytes, void* result, uint64_t result_bytes);
int lapwing_array_start_apply(lapwing_array* array, const int64_t* index, const char* name, const void* argument,
                              uint64_t argument_bytes, uint64_t result_bytes, lapwing_future** future);
int lapwing_array_post(lapwing_array* array, const int64_t* index, const char* name, const void* argument,
                       uint64_t argument_bytes);
/// Local, any thread. For `count` elements, whose indices follow each other, in any order: element k with the k-th
/// argument of `argument_bytes` bytes, or the first for all if `one_argument` is not 0; its result is the k-th of
/// `result_bytes` bytes. Those at one owner run in the order of the list. apply returns when all results are here, and
/// LAPWING_ERR_FUNCTION if one has failed: the others have run all the same; post is complete as lapwing_array_post().
/// Cost: for each owner a message for some hundred elements, and its answer.
int lapwing_array_apply_list(lapwing_array* array, size_t count, const int64_t* indices, const char* name,
                             const void* arguments, uint64_t argument_bytes, int one_argument, void* results,
                             uint64_t result_bytes);
int lapwing_array_post_list(lapwing_array* array, size_t count, const int64_t* indices, const char* name,
                            const void* arguments, uint64_t argument_bytes, int one_argument);

/// Whether the result is here; makes progress if it is not. LAPWING_ERR_PEER_LEFT. Local; one thread at a time for each
/// future.
int lapwing_future_ready(lapwing_future* future, int* ready);
/// Waits for the result and copies it to `result`, which has room for `room` bytes; `*bytes`, which may be null, is how
/// many it has. The future is freed and `*future` set to null, also if the function failed: LAPWING_ERR_FUNCTION.
/// LAPWING_ERR_RANGE for a result of more bytes than `room`: the future stays. Local; one thread at a time for each
/// future.
int lapwing_future_get(lapwing_future** future, void* result, uint64_t room, uint64_t* bytes);
/// Drops the result, and sets `*future` to null; the function runs all the same. Does nothing for a null pointer.
/// Local, any thread.
int lapwing_future_free(lapwing_future** future);

#ifdef __cplusplus
}
#endif

#endif
