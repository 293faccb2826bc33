/* Elements of other threads, one by one, in several orders: by all threads of the next one's (upc/ring, upc/vector and
 * upc/coalesce of benchmarks/upc), by all others of thread 0's (upc/flush), by thread 0 alone of the last one's
 * (upc/stream), and of any other thread's in blocks of 1 (upc/baseline). */
#include "bench.h"

#ifndef PART_BITS
#define PART_BITS 21 /* 16 MiB of each thread */
#endif
#ifndef ACCESSES
#define ACCESSES (1L << 17)
#endif
#define PART (1L << PART_BITS)
#define SEQUENCE (PART >> 5) /* elements of a vector, or a cluster of strides up to 16 */

shared [PART] double parts[PART * THREADS];
shared double dealt[PART * THREADS];

enum kind { STRIDE_1, RANDOM, VECTORS, CLUSTERS };
typedef struct order {
    enum kind kind;
    uint64_t draws;
    int64_t next, left;
} order_t;

static order_t order_of(enum kind kind, int thread) {
    const order_t order = {kind, draws_of(thread), 0, 0};
    return order;
}
static int64_t next_place(order_t* order) {
    int64_t place;
    if (order->kind == RANDOM) return draw(&order->draws, PART_BITS);
    if (order->kind == STRIDE_1) return order->next++ % PART;
    if (order->left == 0) {
        order->left = SEQUENCE;
        order->next = draw(&order->draws, PART_BITS) % (PART - SEQUENCE * (order->kind == VECTORS ? 1 : 16));
    }
    place = order->next;
    order->next += order->kind == VECTORS ? 1 : 1 + draw(&order->draws, 4);
    order->left--;
    return place;
}

/* --- elements of one thread's part */

static shared [] double* part_of(int thread) { return (shared [] double*)&parts[PART * thread]; }

static double read_part(shared [] double* part, order_t order) {
    double sum = 0;
    if (order.kind == STRIDE_1)
        for (long i = 0; i < ACCESSES; i++) sum += part[i % PART];
    else
        for (long k = 0; k < ACCESSES; k++) sum += part[next_place(&order)];
    return sum;
}
static void write_part(shared [] double* part, order_t order) {
    if (order.kind == STRIDE_1)
        for (long i = 0; i < ACCESSES; i++) part[i % PART] = -(i % PART) - 1;
    else
        for (long k = 0; k < ACCESSES; k++) {
            const int64_t i = next_place(&order);
            part[i] = -i - 1;
        }
}

static void fill(void) {
    double* own = (double*)part_of(MYTHREAD);
    for (long i = 0; i < PART; i++) own[i] = i + MYTHREAD;
    upc_barrier;
}
static double sum_of(order_t order, int thread) {
    double sum = 0;
    for (long k = 0; k < ACCESSES; k++) sum += next_place(&order) + thread;
    return sum;
}
/* Of the thread's own part, which `writers` have written to, and nobody else. */
static void check_written(const char* what, enum kind kind, int first, int writers) {
    const double* own = (double*)part_of(MYTHREAD);
    static char written[PART];
    long wrong_values = 0;
    for (long i = 0; i < PART; i++) written[i] = 0;
    for (int t = first; t < first + writers; t++) {
        order_t order = order_of(kind, t % THREADS);
        for (long k = 0; k < ACCESSES; k++) written[next_place(&order)] = 1;
    }
    for (long i = 0; i < PART; i++) wrong_values += own[i] != (written[i] ? -i - 1 : i + MYTHREAD);
    expect(what, wrong_values, 0);
}

enum who { ALL_OF_NEXT, OTHERS_OF_FIRST, FIRST_OF_LAST };
static void measure(const char* name, enum kind kind, enum who who) {
    char what[80];
    const order_t order = order_of(kind, MYTHREAD);
    const int accesses = who == ALL_OF_NEXT || (who == OTHERS_OF_FIRST ? MYTHREAD != 0 : MYTHREAD == 0);
    const int whose = who == ALL_OF_NEXT ? (MYTHREAD + 1) % THREADS : who == OTHERS_OF_FIRST ? 0 : THREADS - 1;
    shared [] double* part = part_of(whose);
    double sum = 0, begin;
    fill();
    begin = now();
    if (accesses) sum = read_part(part, order);
    upc_barrier;
    snprintf(what, sizeof what, "%s, reads", name);
    report_sum(what, now() - begin, ACCESSES, sum);
    if (accesses) expect(what, sum, sum_of(order, whose));

    upc_barrier;
    begin = now();
    if (accesses) write_part(part, order);
    upc_barrier;
    snprintf(what, sizeof what, "%s, writes", name);
    report(what, now() - begin, ACCESSES);
    if (who == ALL_OF_NEXT) check_written(what, kind, MYTHREAD + THREADS - 1, 1);
    else if (who == OTHERS_OF_FIRST) check_written(what, kind, 1, MYTHREAD == 0 ? THREADS - 1 : 0);
    else check_written(what, kind, 0, MYTHREAD == THREADS - 1 ? 1 : 0);
    upc_barrier;
}

/* --- elements of any other thread */

static int64_t next_of_others(uint64_t* draws) {
    const int64_t element = draw(draws, PART_BITS);
    return element * THREADS + (MYTHREAD + 1 + (draw(draws, 31) * (THREADS - 1) >> 31)) % THREADS;
}
static void measure_dealt(void) {
    uint64_t draws = draws_of(MYTHREAD);
    double sum = 0, expected = 0, begin;
    for (long i = 0; i < PART; i++) dealt[i * THREADS + MYTHREAD] = i * THREADS + MYTHREAD;
    upc_barrier;
    begin = now();
    for (long k = 0; k < ACCESSES; k++) sum += dealt[next_of_others(&draws)];
    upc_barrier;
    report_sum("baseline, reads", now() - begin, ACCESSES, sum);
    draws = draws_of(MYTHREAD);
    for (long k = 0; k < ACCESSES; k++) expected += next_of_others(&draws);
    expect("baseline, reads", sum, expected);
    upc_barrier;

    begin = now();
    for (long k = 0; k < ACCESSES; k++) {
        const int64_t i = next_of_others(&draws);
        dealt[i] = i; /* several threads may write to the same one */
    }
    upc_barrier;
    report("baseline, writes", now() - begin, ACCESSES);
    for (long i = 0; i < PART; i++) {
        const long element = i * THREADS + MYTHREAD;
        if (dealt[element] != element) expect("baseline, writes", dealt[element], element);
    }
}

int main(void) {
    measure("ring, stride 1", STRIDE_1, ALL_OF_NEXT);
    measure("ring, random", RANDOM, ALL_OF_NEXT);
    measure("flush, stride 1", STRIDE_1, OTHERS_OF_FIRST);
    measure("flush, random", RANDOM, OTHERS_OF_FIRST);
    measure("stream, stride 1", STRIDE_1, FIRST_OF_LAST);
    measure("stream, random", RANDOM, FIRST_OF_LAST);
    measure("vector", VECTORS, ALL_OF_NEXT);
    measure("coalesce", CLUSTERS, ALL_OF_NEXT);
    measure_dealt();
    return wrong;
}
