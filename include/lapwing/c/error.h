// Room: bindings
/*
 * Error codes and error texts. See lapwing/lapwing.h for the rules that apply to all calls.
 */
#ifndef LAPWING_C_ERROR_H
#define LAPWING_C_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/// Returned by every call, unless its documentation says otherwise. The program can continue after an error: the call
/// has had no effect unless its documentation says otherwise.
enum {
    LAPWING_SUCCESS = 0,
    LAPWING_ERR_RANGE = 1, ///< a rank, offset, index, size or count is outside its limits
    LAPWING_ERR_USAGE =
        2, ///< a call that the state of the object does not allow, a null or freed handle, a null pointer
    LAPWING_ERR_SETTING = 3,  ///< a setting that is unknown or has a value that is not allowed
    LAPWING_ERR_MISMATCH = 4, ///< ranks passed different arguments to a collective call
    LAPWING_ERR_MPI = 5, ///< an MPI call failed: the text includes MPI's own, lapwing_error_mpi_code() returns its code
    LAPWING_ERR_FILE = 6,         ///< a file that cannot be read or written, or does not hold what it should
    LAPWING_ERR_PEER_LEFT = 7,    ///< another rank left early, so that a collective call or a wait cannot complete
    LAPWING_ERR_MEMORY = 8,       ///< memory of this process could not be allocated
    LAPWING_ERR_INTERNAL = 9,     ///< none of the others: please report it
    LAPWING_ERR_INTERRUPTED = 10, ///< the program's wait hook ended a wait: see lapwing_wait_set_hook()
    LAPWING_ERR_FUNCTION = 11     ///< a function at another rank failed: the text has its own
};

/// The text of this thread's last error: the call, the rank, the values, the limit and the remedy. Empty before the
/// first error. Valid until the thread's next error. Local, any thread; also before a runtime exists.
const char* lapwing_error_text(void);
/// The code of this thread's last error, LAPWING_SUCCESS before the first one. Local, any thread.
int lapwing_error_code(void);
/// The code returned by the MPI call that caused the thread's last error; 0 if MPI did not cause it. Local, any thread.
int lapwing_error_mpi_code(void);
/// The name of a code, "LAPWING_ERR_RANGE"; "?" for an unknown code. Local, any thread.
const char* lapwing_error_name(int code);

/// Called with each error, by the thread whose call failed, before the call returns `code`; `text` is
/// lapwing_error_text(). It may leave by longjmp, or end the program.
typedef void (*lapwing_error_handler)(int code, const char* text, void* context);
/// From now on `handler` is called with `context` for errors of all threads; null: none, the default. Local; must not
/// be called while other threads are in calls.
int lapwing_error_set_handler(lapwing_error_handler handler, void* context);
/// Asked by a thread that waits in a call; another value than 0 ends the wait, and the call returns
/// LAPWING_ERR_INTERRUPTED. Several threads may be in it at once, and mutexes of the call that waits may be held: it
/// must not leave by longjmp, nor wait for a thread that is in a call. Its own calls of Lapwing return
/// LAPWING_ERR_USAGE.
typedef int (*lapwing_wait_hook)(void* context);
/// From now on every thread that waits in a call asks `hook(context)`, first after 0.2 s and then about every 0.1 s,
/// whether to go on; null: none, the default. What an interrupted call waited for is not done, and cannot be taken
/// back, so this rank cannot use the runtime any more: its later calls that wait return the same, and other ranks that
/// wait for it get LAPWING_ERR_PEER_LEFT. The program should end, or call lapwing_runtime_leave(). Memory of transfers
/// that MPI carries out (lapwing_completion, path rma) must stay until MPI_Finalize then. Waits inside MPI (flushes of
/// the path rma, files, memory of windows, the creation and the end of a runtime, an error that ranks agree on) do not
/// ask, nor do waits for another thread and those of Lapwing's own threads. Local; must not be called while other
/// threads are in calls.
int lapwing_wait_set_hook(lapwing_wait_hook hook, void* context);
/// A handler for programs that should end at the first error: prints the text on standard error and calls MPI_Abort.
/// Local, any thread.
void lapwing_error_abort(int code, const char* text, void* context);

#ifdef __cplusplus
}
#endif

#endif
