// A PMPI library that postpones every RMA operation to the last legal moment, to show programs that use a value, reuse
// a buffer or tell another rank too early. Most MPIs do small operations at once, so that such programs work by luck.
//
// What MPI 3.1 (chapter 11) leaves open, and what becomes of it here:
//   - An operation need not start before the call that completes it: it is queued. A get's destination stays as it was
//     and a put reads its source only then. Calls that complete: flush*, unlock*, fence, complete, and for the request
//     of Rput, Rget and so on the wait or test.
//   - Operations between two completing calls are unordered: they are started in reverse. Accumulates (Accumulate,
//     Get_accumulate, Fetch_and_op, Compare_and_swap) of one origin at one target keep their mutual order (11.7.2).
//   - Local completion is not remote completion: after flush_local, and after waiting for an Rput's request, the source
//     has been copied, and the operation is still queued until a flush, unlock or fence.
//   - A test need not find a request complete at once: the first `idle_tests` tests of a request do nothing.
// Every operation still starts before the completing call does its own work, so a correct program runs as before.
//
// Bounds: sources of derived types are not copied; such operations start where others would be copied. Operations with
// large counts (MPI 4) and Fortran are not covered. Errors of an operation are returned by the call that starts it.
//
// Threads: the queue of a window is guarded by its mutex, which stays locked while operations are started: a second
// thread that flushes must not overtake the first one, which may have taken the second one's operations along.

#include <mpi.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define EXPORT __attribute__((visibility("default")))

enum { idle_tests = 2 };

enum kind { put, get, accumulate, get_accumulate, fetch_and_op, compare_and_swap };

struct operation {
    TAILQ_ENTRY(operation) place; // in the queue of the window, which has the order of the calls
    enum kind kind;
    int target;
    const void* source;
    void* owned_source; // a copy of the source, made when the program was told that it may reuse it
    int source_count;
    MPI_Datatype source_type;
    const void* compare;
    void* result;
    int result_count;
    MPI_Datatype result_type;
    MPI_Aint displacement;
    int target_count;
    MPI_Datatype target_type;
    MPI_Op op;
    struct pending_request* request; // of the R… calls, else null
};

TAILQ_HEAD(queue, operation);

struct window {
    struct window* next;
    MPI_Win handle;
    pthread_mutex_t mutex;
    struct queue queue;
};

// The request that an R… call returned. A generalized request stands in until the operation is started, then either the
// real one takes its place in the program's variable, or, if the operation has only been copied, it is completed
// itself.
struct pending_request {
    struct pending_request* next;
    MPI_Request placeholder;
    MPI_Request real; // after the start, unless the program has freed the request
    struct window* window;
    struct operation* operation; // null once started
    int tests;
};

static struct window* windows;
static pthread_mutex_t windows_mutex = PTHREAD_MUTEX_INITIALIZER;

// Guards the list, not its elements; those are guarded by the mutex of their window. Never taken before a window's
// mutex.
static struct pending_request* requests;
static pthread_mutex_t requests_mutex = PTHREAD_MUTEX_INITIALIZER;

static void stop(const char* reason) {
    fprintf(stderr, "delay shim: %s\n", reason);
    PMPI_Abort(MPI_COMM_WORLD, 3);
    abort();
}

static void* allocate(size_t bytes) {
    void* memory = calloc(1, bytes);
    if (memory == NULL) stop("out of memory");
    return memory;
}

// --- windows and queues ----------------------------------------------------------------------------------------------

static struct window* window_of(MPI_Win handle) {
    pthread_mutex_lock(&windows_mutex);
    struct window* window = windows;
    while (window != NULL && window->handle != handle) window = window->next;
    if (window == NULL) {
        window = allocate(sizeof *window);
        window->handle = handle;
        pthread_mutex_init(&window->mutex, NULL);
        TAILQ_INIT(&window->queue);
        window->next = windows;
        windows = window;
    }
    pthread_mutex_unlock(&windows_mutex);
    return window;
}

static bool is_predefined(MPI_Datatype type) {
    int integers, addresses, types, combiner;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return combiner == MPI_COMBINER_NAMED;
}

// The program may free a derived type before the operation is started.
static MPI_Datatype keep_type(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL || is_predefined(type)) return type;
    MPI_Datatype kept;
    PMPI_Type_dup(type, &kept);
    return kept;
}

static void release_type(MPI_Datatype type) {
    if (type != MPI_DATATYPE_NULL && !is_predefined(type)) PMPI_Type_free(&type);
}

static bool is_ordered(enum kind kind) { return kind != put && kind != get; }
static bool has_result(enum kind kind) { return kind != put && kind != accumulate; }

static int append(MPI_Win handle, struct operation operation) {
    struct operation* queued = allocate(sizeof *queued);
    *queued = operation;
    queued->source_type = keep_type(operation.source_type);
    queued->result_type = keep_type(operation.result_type);
    queued->target_type = keep_type(operation.target_type);
    struct window* window = window_of(handle);
    pthread_mutex_lock(&window->mutex);
    TAILQ_INSERT_TAIL(&window->queue, queued, place);
    if (queued->request != NULL) {
        queued->request->window = window;
        queued->request->operation = queued;
    }
    pthread_mutex_unlock(&window->mutex);
    return MPI_SUCCESS;
}

static int start_now(MPI_Win window, const struct operation* o, MPI_Request* request) {
    const void* source = o->owned_source != NULL ? o->owned_source : o->source;
    switch (o->kind) {
    case put:
        return request != NULL ? PMPI_Rput(source, o->source_count, o->source_type, o->target, o->displacement,
                                           o->target_count, o->target_type, window, request)
                               : PMPI_Put(source, o->source_count, o->source_type, o->target, o->displacement,
                                          o->target_count, o->target_type, window);
    case get:
        return request != NULL ? PMPI_Rget(o->result, o->result_count, o->result_type, o->target, o->displacement,
                                           o->target_count, o->target_type, window, request)
                               : PMPI_Get(o->result, o->result_count, o->result_type, o->target, o->displacement,
                                          o->target_count, o->target_type, window);
    case accumulate:
        return request != NULL ? PMPI_Raccumulate(source, o->source_count, o->source_type, o->target, o->displacement,
                                                  o->target_count, o->target_type, o->op, window, request)
                               : PMPI_Accumulate(source, o->source_count, o->source_type, o->target, o->displacement,
                                                 o->target_count, o->target_type, o->op, window);
    case get_accumulate:
        return request != NULL ? PMPI_Rget_accumulate(source, o->source_count, o->source_type, o->result,
                                                      o->result_count, o->result_type, o->target, o->displacement,
                                                      o->target_count, o->target_type, o->op, window, request)
                               : PMPI_Get_accumulate(source, o->source_count, o->source_type, o->result,
                                                     o->result_count, o->result_type, o->target, o->displacement,
                                                     o->target_count, o->target_type, o->op, window);
    case fetch_and_op:
        return PMPI_Fetch_and_op(source, o->result, o->target_type, o->target, o->displacement, o->op, window);
    case compare_and_swap:
        return PMPI_Compare_and_swap(source, o->compare, o->result, o->target_type, o->target, o->displacement, window);
    }
    return MPI_ERR_INTERN;
}

// Memory that must outlive a started operation: copied sources, until the completing call has returned.
struct leftover {
    struct leftover* next;
    void* memory;
};

static void free_leftovers(struct leftover* leftovers) {
    while (leftovers != NULL) {
        struct leftover* next = leftovers->next;
        free(leftovers->memory);
        free(leftovers);
        leftovers = next;
    }
}

// Takes one operation out of the queue and starts it. The window's mutex is locked.
static int start(struct window* window, struct operation* operation, struct leftover** leftovers) {
    struct pending_request* request = operation->request;
    TAILQ_REMOVE(&window->queue, operation, place);
    const int error = start_now(window->handle, operation, request != NULL ? &request->real : NULL);
    if (request != NULL) request->operation = NULL;
    if (operation->owned_source != NULL) {
        struct leftover* leftover = allocate(sizeof *leftover);
        leftover->memory = operation->owned_source;
        leftover->next = *leftovers;
        *leftovers = leftover;
    }
    release_type(operation->source_type);
    release_type(operation->result_type);
    release_type(operation->target_type);
    free(operation);
    return error;
}

// Starts what is queued for `target` (all targets: -1) in reverse; accumulates of one target change places among
// themselves so that their order is that of the calls. The window's mutex is locked.
static int start_all(struct window* window, int target, struct leftover** leftovers) {
    struct operation* o;
    size_t count = 0;
    TAILQ_FOREACH(o, &window->queue, place) count += target < 0 || o->target == target;
    if (count == 0) return MPI_SUCCESS;
    struct operation** reversed = allocate(count * sizeof(struct operation*));
    size_t end = count;
    TAILQ_FOREACH(o, &window->queue, place) {
        if (target < 0 || o->target == target) reversed[--end] = o;
    }
    for (size_t i = 0; i < count; ++i) {
        if (!is_ordered(reversed[i]->kind)) continue;
        // The last one of this target in the reversed order is the earliest call.
        for (size_t j = count - 1; j > i; --j) {
            if (is_ordered(reversed[j]->kind) && reversed[j]->target == reversed[i]->target) {
                struct operation* earliest = reversed[j];
                // Keep the others' order: close the gap from behind.
                size_t gap = j;
                for (size_t k = j; k-- > i;) {
                    if (is_ordered(reversed[k]->kind) && reversed[k]->target == earliest->target) {
                        reversed[gap] = reversed[k];
                        gap = k;
                    }
                }
                reversed[i] = earliest;
                break;
            }
        }
    }
    int error = MPI_SUCCESS;
    for (size_t i = 0; i < count; ++i) {
        const int own = start(window, reversed[i], leftovers);
        if (error == MPI_SUCCESS) error = own;
    }
    free(reversed);
    return error;
}

// Starts one queued operation, after those accumulates at its target that were called before if it is one itself.
static int start_one(struct window* window, struct operation* wanted, struct leftover** leftovers) {
    int error = MPI_SUCCESS;
    struct operation* o = is_ordered(wanted->kind) ? TAILQ_FIRST(&window->queue) : wanted;
    while (o != wanted) {
        struct operation* after = TAILQ_NEXT(o, place);
        if (is_ordered(o->kind) && o->target == wanted->target) {
            const int own = start(window, o, leftovers);
            if (error == MPI_SUCCESS) error = own;
        }
        o = after;
    }
    const int own = start(window, wanted, leftovers);
    return error != MPI_SUCCESS ? error : own;
}

// Copies the source, so that the program may reuse it while the operation stays queued; false if that cannot be done.
static bool copy_source(struct operation* o) {
    if (o->owned_source != NULL) return true;
    if (has_result(o->kind) || !is_predefined(o->source_type)) return false;
    MPI_Aint lower, extent;
    PMPI_Type_get_extent(o->source_type, &lower, &extent);
    const size_t bytes = (size_t)o->source_count * (size_t)extent;
    o->owned_source = allocate(bytes > 0 ? bytes : 1);
    memcpy(o->owned_source, o->source, bytes);
    return true;
}

// Local completion only: what has no result is copied, the rest started.
static int complete_locally(struct window* window, int target, struct leftover** leftovers) {
    int error = MPI_SUCCESS;
    struct operation* o = TAILQ_FIRST(&window->queue);
    while (o != NULL) {
        // Starting one may also start others, but only some that were queued before it.
        struct operation* after = TAILQ_NEXT(o, place);
        if ((target < 0 || o->target == target) && !copy_source(o)) {
            const int own = start_one(window, o, leftovers);
            if (error == MPI_SUCCESS) error = own;
        }
        o = after;
    }
    return error;
}

// --- the RMA operations ----------------------------------------------------------------------------------------------

EXPORT int MPI_Put(const void* source, int source_count, MPI_Datatype source_type, int target, MPI_Aint displacement,
                   int target_count, MPI_Datatype target_type, MPI_Win window) {
    return append(window, (struct operation){.kind = put,
                                             .target = target,
                                             .source = source,
                                             .source_count = source_count,
                                             .source_type = source_type,
                                             .result_type = MPI_DATATYPE_NULL,
                                             .displacement = displacement,
                                             .target_count = target_count,
                                             .target_type = target_type});
}

EXPORT int MPI_Get(void* result, int result_count, MPI_Datatype result_type, int target, MPI_Aint displacement,
                   int target_count, MPI_Datatype target_type, MPI_Win window) {
    return append(window, (struct operation){.kind = get,
                                             .target = target,
                                             .source_type = MPI_DATATYPE_NULL,
                                             .result = result,
                                             .result_count = result_count,
                                             .result_type = result_type,
                                             .displacement = displacement,
                                             .target_count = target_count,
                                             .target_type = target_type});
}

EXPORT int MPI_Accumulate(const void* source, int source_count, MPI_Datatype source_type, int target,
                          MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op,
                          MPI_Win window) {
    return append(window, (struct operation){.kind = accumulate,
                                             .target = target,
                                             .source = source,
                                             .source_count = source_count,
                                             .source_type = source_type,
                                             .result_type = MPI_DATATYPE_NULL,
                                             .displacement = displacement,
                                             .target_count = target_count,
                                             .target_type = target_type,
                                             .op = op});
}

EXPORT int MPI_Get_accumulate(const void* source, int source_count, MPI_Datatype source_type, void* result,
                              int result_count, MPI_Datatype result_type, int target, MPI_Aint displacement,
                              int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
    return append(window, (struct operation){.kind = get_accumulate,
                                             .target = target,
                                             .source = source,
                                             .source_count = source_count,
                                             .source_type = source_type,
                                             .result = result,
                                             .result_count = result_count,
                                             .result_type = result_type,
                                             .displacement = displacement,
                                             .target_count = target_count,
                                             .target_type = target_type,
                                             .op = op});
}

EXPORT int MPI_Fetch_and_op(const void* source, void* result, MPI_Datatype type, int target, MPI_Aint displacement,
                            MPI_Op op, MPI_Win window) {
    return append(window, (struct operation){.kind = fetch_and_op,
                                             .target = target,
                                             .source = source,
                                             .source_type = MPI_DATATYPE_NULL,
                                             .result = result,
                                             .result_type = MPI_DATATYPE_NULL,
                                             .displacement = displacement,
                                             .target_type = type,
                                             .op = op});
}

EXPORT int MPI_Compare_and_swap(const void* source, const void* compare, void* result, MPI_Datatype type, int target,
                                MPI_Aint displacement, MPI_Win window) {
    return append(window, (struct operation){.kind = compare_and_swap,
                                             .target = target,
                                             .source = source,
                                             .source_type = MPI_DATATYPE_NULL,
                                             .compare = compare,
                                             .result = result,
                                             .result_type = MPI_DATATYPE_NULL,
                                             .displacement = displacement,
                                             .target_type = type});
}

// --- operations with requests ----------------------------------------------------------------------------------------

static int query_placeholder(void* state, MPI_Status* status) {
    (void)state;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
static int free_placeholder(void* state) {
    (void)state;
    return MPI_SUCCESS;
}
static int cancel_placeholder(void* state, int complete) {
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static int append_with_request(MPI_Win window, struct operation operation, MPI_Request* request) {
    struct pending_request* pending = allocate(sizeof *pending);
    PMPI_Grequest_start(query_placeholder, free_placeholder, cancel_placeholder, NULL, &pending->placeholder);
    pending->real = MPI_REQUEST_NULL;
    *request = pending->placeholder;
    operation.request = pending;
    append(window, operation);
    pthread_mutex_lock(&requests_mutex);
    pending->next = requests;
    requests = pending;
    pthread_mutex_unlock(&requests_mutex);
    return MPI_SUCCESS;
}

EXPORT int MPI_Rput(const void* source, int source_count, MPI_Datatype source_type, int target, MPI_Aint displacement,
                    int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
    return append_with_request(window,
                               (struct operation){.kind = put,
                                                  .target = target,
                                                  .source = source,
                                                  .source_count = source_count,
                                                  .source_type = source_type,
                                                  .result_type = MPI_DATATYPE_NULL,
                                                  .displacement = displacement,
                                                  .target_count = target_count,
                                                  .target_type = target_type},
                               request);
}

EXPORT int MPI_Rget(void* result, int result_count, MPI_Datatype result_type, int target, MPI_Aint displacement,
                    int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
    return append_with_request(window,
                               (struct operation){.kind = get,
                                                  .target = target,
                                                  .source_type = MPI_DATATYPE_NULL,
                                                  .result = result,
                                                  .result_count = result_count,
                                                  .result_type = result_type,
                                                  .displacement = displacement,
                                                  .target_count = target_count,
                                                  .target_type = target_type},
                               request);
}

EXPORT int MPI_Raccumulate(const void* source, int source_count, MPI_Datatype source_type, int target,
                           MPI_Aint displacement, int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window,
                           MPI_Request* request) {
    return append_with_request(window,
                               (struct operation){.kind = accumulate,
                                                  .target = target,
                                                  .source = source,
                                                  .source_count = source_count,
                                                  .source_type = source_type,
                                                  .result_type = MPI_DATATYPE_NULL,
                                                  .displacement = displacement,
                                                  .target_count = target_count,
                                                  .target_type = target_type,
                                                  .op = op},
                               request);
}

EXPORT int MPI_Rget_accumulate(const void* source, int source_count, MPI_Datatype source_type, void* result,
                               int result_count, MPI_Datatype result_type, int target, MPI_Aint displacement,
                               int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window,
                               MPI_Request* request) {
    return append_with_request(window,
                               (struct operation){.kind = get_accumulate,
                                                  .target = target,
                                                  .source = source,
                                                  .source_count = source_count,
                                                  .source_type = source_type,
                                                  .result = result,
                                                  .result_count = result_count,
                                                  .result_type = result_type,
                                                  .displacement = displacement,
                                                  .target_count = target_count,
                                                  .target_type = target_type,
                                                  .op = op},
                               request);
}

static void forget(struct pending_request* pending) {
    pthread_mutex_lock(&requests_mutex);
    struct pending_request** link = &requests;
    while (*link != pending) link = &(*link)->next;
    *link = pending->next;
    pthread_mutex_unlock(&requests_mutex);
}

// Makes the program's request one that MPI can complete, if it is one of ours. `testing`: it may stay incomplete.
static int settle(MPI_Request* request, bool testing) {
    if (*request == MPI_REQUEST_NULL) return MPI_SUCCESS;
    pthread_mutex_lock(&requests_mutex);
    struct pending_request* pending = requests;
    while (pending != NULL && pending->placeholder != *request) pending = pending->next;
    pthread_mutex_unlock(&requests_mutex);
    // Two threads must not wait for one request at the same time (3.7.3), so nobody else removes it meanwhile.
    if (pending == NULL) return MPI_SUCCESS;

    struct window* window = pending->window;
    struct leftover* leftovers = NULL;
    int error = MPI_SUCCESS;
    bool swap = false;
    pthread_mutex_lock(&window->mutex);
    if (pending->operation != NULL && testing && pending->tests++ < idle_tests) {
        pthread_mutex_unlock(&window->mutex);
        return MPI_SUCCESS;
    }
    if (pending->operation != NULL && copy_source(pending->operation)) {
        pending->operation->request = NULL;
    } else {
        // Started here, or by a flush before.
        if (pending->operation != NULL) error = start_one(window, pending->operation, &leftovers);
        swap = true;
    }
    if (leftovers != NULL) {
        // Earlier accumulates with copied sources had to go along. Rare: wait for them rather than track them.
        PMPI_Win_flush_local_all(window->handle);
    }
    pthread_mutex_unlock(&window->mutex);
    free_leftovers(leftovers);

    forget(pending);
    PMPI_Grequest_complete(pending->placeholder);
    if (swap) {
        PMPI_Wait(&pending->placeholder, MPI_STATUS_IGNORE);
        *request = pending->real;
    }
    free(pending);
    return error;
}

static int settle_all(int count, MPI_Request* list, bool testing) {
    int error = MPI_SUCCESS;
    for (int i = 0; i < count; ++i) {
        const int own = settle(&list[i], testing);
        if (error == MPI_SUCCESS) error = own;
    }
    return error;
}

static int first_error(int a, int b) { return a != MPI_SUCCESS ? a : b; }

EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    const int error = settle(request, false);
    return first_error(error, PMPI_Wait(request, status));
}
EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
    const int error = settle(request, true);
    return first_error(error, PMPI_Test(request, flag, status));
}
EXPORT int MPI_Waitall(int count, MPI_Request* list, MPI_Status* statuses) {
    const int error = settle_all(count, list, false);
    return first_error(error, PMPI_Waitall(count, list, statuses));
}
EXPORT int MPI_Testall(int count, MPI_Request* list, int* flag, MPI_Status* statuses) {
    const int error = settle_all(count, list, true);
    return first_error(error, PMPI_Testall(count, list, flag, statuses));
}
EXPORT int MPI_Waitany(int count, MPI_Request* list, int* index, MPI_Status* status) {
    const int error = settle_all(count, list, false);
    return first_error(error, PMPI_Waitany(count, list, index, status));
}
EXPORT int MPI_Testany(int count, MPI_Request* list, int* index, int* flag, MPI_Status* status) {
    const int error = settle_all(count, list, true);
    return first_error(error, PMPI_Testany(count, list, index, flag, status));
}
EXPORT int MPI_Waitsome(int count, MPI_Request* list, int* done, int* indices, MPI_Status* statuses) {
    const int error = settle_all(count, list, false);
    return first_error(error, PMPI_Waitsome(count, list, done, indices, statuses));
}
EXPORT int MPI_Testsome(int count, MPI_Request* list, int* done, int* indices, MPI_Status* statuses) {
    const int error = settle_all(count, list, true);
    return first_error(error, PMPI_Testsome(count, list, done, indices, statuses));
}
// Starts the operation; the program finds out by other means when it is complete.
EXPORT int MPI_Request_free(MPI_Request* request) {
    const int error = settle(request, false);
    return first_error(error, PMPI_Request_free(request));
}

// --- calls that complete operations ----------------------------------------------------------------------------------

// Starts what is queued for `target` (all: -1) and makes the completing call.
#define COMPLETE(handle, target, call)                              \
    do {                                                            \
        struct window* window_ = window_of(handle);                 \
        struct leftover* leftovers_ = NULL;                         \
        pthread_mutex_lock(&window_->mutex);                        \
        const int error_ = start_all(window_, target, &leftovers_); \
        pthread_mutex_unlock(&window_->mutex);                      \
        const int own_ = call;                                      \
        free_leftovers(leftovers_);                                 \
        return first_error(error_, own_);                           \
    } while (0)

EXPORT int MPI_Win_flush(int target, MPI_Win window) { COMPLETE(window, target, PMPI_Win_flush(target, window)); }
EXPORT int MPI_Win_flush_all(MPI_Win window) { COMPLETE(window, -1, PMPI_Win_flush_all(window)); }
EXPORT int MPI_Win_unlock(int target, MPI_Win window) { COMPLETE(window, target, PMPI_Win_unlock(target, window)); }
EXPORT int MPI_Win_unlock_all(MPI_Win window) { COMPLETE(window, -1, PMPI_Win_unlock_all(window)); }
EXPORT int MPI_Win_fence(int assertion, MPI_Win window) { COMPLETE(window, -1, PMPI_Win_fence(assertion, window)); }
EXPORT int MPI_Win_complete(MPI_Win window) { COMPLETE(window, -1, PMPI_Win_complete(window)); }

static int flush_locally(MPI_Win handle, int target) {
    struct window* window = window_of(handle);
    struct leftover* leftovers = NULL;
    pthread_mutex_lock(&window->mutex);
    const int error = complete_locally(window, target, &leftovers);
    pthread_mutex_unlock(&window->mutex);
    const int own =
        target < 0 || leftovers != NULL ? PMPI_Win_flush_local_all(handle) : PMPI_Win_flush_local(target, handle);
    free_leftovers(leftovers);
    return first_error(error, own);
}

EXPORT int MPI_Win_flush_local(int target, MPI_Win window) { return flush_locally(window, target); }
EXPORT int MPI_Win_flush_local_all(MPI_Win window) { return flush_locally(window, -1); }

EXPORT int MPI_Win_free(MPI_Win* handle) {
    pthread_mutex_lock(&windows_mutex);
    struct window** link = &windows;
    while (*link != NULL && (*link)->handle != *handle) link = &(*link)->next;
    struct window* window = *link;
    if (window != NULL) *link = window->next;
    pthread_mutex_unlock(&windows_mutex);
    if (window != NULL) {
        if (!TAILQ_EMPTY(&window->queue)) stop("MPI_Win_free with operations that nothing has completed");
        pthread_mutex_destroy(&window->mutex);
        free(window);
    }
    return PMPI_Win_free(handle);
}
