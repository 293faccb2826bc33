/* Berkeley UPC's collectives of values: each thread gives one of the same type. Collective; each
 * has two barriers, and allocates memory for types of more than 64 bytes. Bitwise operations are those of long long. */
#ifndef LAPWING_UPCC_BUPC_COLLECTIVEV_H
#define LAPWING_UPCC_BUPC_COLLECTIVEV_H

#include <bupc_extensions.h>
#include <upc_collective.h>

#define BUPC_COLLECTIVEV_VERSION_MAJOR 1
#define BUPC_COLLECTIVEV_VERSION_MINOR 2

struct lapwing_upcc_value {
    char bytes[64];
};
/* Kept for the whole run, one for each source that includes this. */
static shared struct lapwing_upcc_value lapwing_upcc_values[THREADS];

/* Where each thread has so many bytes: there, or in new memory. Collective. */
static inline shared struct lapwing_upcc_value* lapwing_allv_room(size_t bytes) {
    const size_t each = (bytes + sizeof(struct lapwing_upcc_value) - 1) / sizeof(struct lapwing_upcc_value);
    if (each <= 1) return lapwing_upcc_values;
    return (shared struct lapwing_upcc_value*)upc_all_alloc(THREADS * each, sizeof(struct lapwing_upcc_value));
}
static inline void lapwing_allv_leave(shared struct lapwing_upcc_value* room) {
    if (room != lapwing_upcc_values) upc_all_free(room);
}
static inline void lapwing_upcc_give(shared struct lapwing_upcc_value* room, int thread, const void* value,
                                     size_t bytes) {
    lapwing_upc_require_private("bupc_allv_scatter", value, bytes);
    upc_memput(&room[thread], value, bytes);
}
static inline void lapwing_upcc_take(shared struct lapwing_upcc_value* room, int thread, void* value, size_t bytes) {
    upc_memget(value, &room[thread], bytes);
}

#define bupc_allv_broadcast(TYPE, value, root)                                                         \
    ({                                                                                                 \
        TYPE lapwing_x = (value);                                                                      \
        shared struct lapwing_upcc_value* lapwing_at = lapwing_allv_room(sizeof lapwing_x);            \
        if (MYTHREAD == (root)) lapwing_upcc_give(lapwing_at, MYTHREAD, &lapwing_x, sizeof lapwing_x); \
        upc_barrier;                                                                                   \
        lapwing_upcc_take(lapwing_at, (root), &lapwing_x, sizeof lapwing_x);                           \
        upc_barrier;                                                                                   \
        lapwing_allv_leave(lapwing_at);                                                                \
        lapwing_x;                                                                                     \
    })
/* A thread whose array is null gets nothing. */
#define LAPWING_UPCC_GATHER(TYPE, value, array, receives)                                       \
    ({                                                                                          \
        TYPE lapwing_x = (value);                                                               \
        shared struct lapwing_upcc_value* lapwing_at = lapwing_allv_room(sizeof lapwing_x);     \
        TYPE* lapwing_to = (array);                                                             \
        lapwing_upcc_give(lapwing_at, MYTHREAD, &lapwing_x, sizeof lapwing_x);                  \
        upc_barrier;                                                                            \
        for (int lapwing_i = 0; (receives) && lapwing_to && lapwing_i < THREADS; ++lapwing_i)   \
            lapwing_upcc_take(lapwing_at, lapwing_i, &lapwing_to[lapwing_i], sizeof lapwing_x); \
        upc_barrier;                                                                            \
        lapwing_allv_leave(lapwing_at);                                                         \
        lapwing_to;                                                                             \
    })
#define bupc_allv_gather_all(TYPE, value, array) LAPWING_UPCC_GATHER(TYPE, value, array, 1)
/* With the root -1 for every thread, as in Berkeley's. */
#define bupc_allv_gather(TYPE, value, root, array) \
    LAPWING_UPCC_GATHER(TYPE, value, array, MYTHREAD == (root) || (root) == -1)
#define bupc_allv_scatter(TYPE, root, array)                                                      \
    ({                                                                                            \
        TYPE lapwing_x;                                                                           \
        shared struct lapwing_upcc_value* lapwing_at = lapwing_allv_room(sizeof lapwing_x);       \
        TYPE* lapwing_from = (array);                                                             \
        for (int lapwing_i = 0; MYTHREAD == (root) && lapwing_i < THREADS; ++lapwing_i)           \
            lapwing_upcc_give(lapwing_at, lapwing_i, &lapwing_from[lapwing_i], sizeof lapwing_x); \
        upc_barrier;                                                                              \
        lapwing_upcc_take(lapwing_at, MYTHREAD, &lapwing_x, sizeof lapwing_x);                    \
        upc_barrier;                                                                              \
        lapwing_allv_leave(lapwing_at);                                                           \
        lapwing_x;                                                                                \
    })
#define bupc_allv_permute(TYPE, value, to)                                                  \
    ({                                                                                      \
        TYPE lapwing_x = (value);                                                           \
        shared struct lapwing_upcc_value* lapwing_at = lapwing_allv_room(sizeof lapwing_x); \
        lapwing_upcc_give(lapwing_at, (to), &lapwing_x, sizeof lapwing_x);                  \
        upc_barrier;                                                                        \
        lapwing_upcc_take(lapwing_at, MYTHREAD, &lapwing_x, sizeof lapwing_x);              \
        upc_barrier;                                                                        \
        lapwing_allv_leave(lapwing_at);                                                     \
        lapwing_x;                                                                          \
    })

#define LAPWING_UPCC_COMBINE(TYPE, a, b, op)                        \
    ((op) == UPC_ADD      ? (TYPE)((a) + (b))                       \
     : (op) == UPC_MULT   ? (TYPE)((a) * (b))                       \
     : (op) == UPC_MIN    ? ((b) < (a) ? (b) : (a))                 \
     : (op) == UPC_MAX    ? ((b) > (a) ? (b) : (a))                 \
     : (op) == UPC_LOGAND ? (TYPE)((a) && (b))                      \
     : (op) == UPC_LOGOR  ? (TYPE)((a) || (b))                      \
     : (op) == UPC_AND    ? (TYPE)((long long)(a) & (long long)(b)) \
     : (op) == UPC_OR     ? (TYPE)((long long)(a) | (long long)(b)) \
                          : (TYPE)((long long)(a) ^ (long long)(b)))
/* The values of threads 0 to last combined. */
#define LAPWING_UPCC_REDUCE(TYPE, value, op, last)                                          \
    ({                                                                                      \
        TYPE lapwing_x = (value);                                                           \
        shared struct lapwing_upcc_value* lapwing_at = lapwing_allv_room(sizeof lapwing_x); \
        lapwing_upcc_give(lapwing_at, MYTHREAD, &lapwing_x, sizeof lapwing_x);              \
        upc_barrier;                                                                        \
        lapwing_upcc_take(lapwing_at, 0, &lapwing_x, sizeof lapwing_x);                     \
        for (int lapwing_i = 1; lapwing_i <= (last); ++lapwing_i) {                         \
            TYPE lapwing_y;                                                                 \
            lapwing_upcc_take(lapwing_at, lapwing_i, &lapwing_y, sizeof lapwing_y);         \
            lapwing_x = LAPWING_UPCC_COMBINE(TYPE, lapwing_x, lapwing_y, op);               \
        }                                                                                   \
        upc_barrier;                                                                        \
        lapwing_allv_leave(lapwing_at);                                                     \
        lapwing_x;                                                                          \
    })
#define bupc_allv_reduce_all(TYPE, value, op) LAPWING_UPCC_REDUCE(TYPE, value, op, THREADS - 1)
/* With the root -1 every thread has the result. */
#define bupc_allv_reduce(TYPE, value, root, op) \
    LAPWING_UPCC_REDUCE(TYPE, value, op, MYTHREAD == (root) || (root) == -1 ? THREADS - 1 : 0)
#define bupc_allv_prefix_reduce(TYPE, value, op) LAPWING_UPCC_REDUCE(TYPE, value, op, MYTHREAD)

#endif
