// The extensions of Berkeley UPC that are there.
#include <upc_relaxed.h>

#include <bupc_collectivev.h>

#include "check.h"

shared int box[THREADS];
bupc_sem_t *shared arrived[THREADS];

int main(void) {
    const int next = (MYTHREAD + 1) % THREADS;
    int values[THREADS];
    int given[THREADS];
    int i;
    bupc_tick_t begin = bupc_ticks_now();

    CHECK(bupc_allv_broadcast(int, MYTHREAD + 7, THREADS - 1) == THREADS + 6);
    CHECK(bupc_allv_reduce_all(double, MYTHREAD + 0.5, UPC_ADD) == THREADS * THREADS * 0.5);
    CHECK(bupc_allv_reduce_all(int, MYTHREAD, UPC_MAX) == THREADS - 1);
    CHECK(bupc_allv_reduce_all(int, 1 << MYTHREAD, UPC_OR) == (1 << THREADS) - 1);
    CHECK(bupc_allv_prefix_reduce(long, MYTHREAD + 1, UPC_ADD) == (MYTHREAD + 1) * (MYTHREAD + 2) / 2);
    i = bupc_allv_reduce(int, 2, 0, UPC_MULT);
    CHECK(MYTHREAD != 0 || i == 1 << THREADS);
    bupc_allv_gather_all(int, MYTHREAD * 3, values);
    for (i = 0; i < THREADS; i++) CHECK(values[i] == i * 3);
    for (i = 0; i < THREADS; i++) given[i] = i + 10;
    CHECK(bupc_allv_scatter(int, 0, given) == MYTHREAD + 10);
    CHECK(bupc_allv_permute(int, MYTHREAD, next) == (MYTHREAD + THREADS - 1) % THREADS);

    arrived[MYTHREAD] = bupc_sem_alloc(BUPC_SEM_INTEGER | BUPC_SEM_MPRODUCER);
    CHECK(!bupc_sem_try(arrived[MYTHREAD]));
    upc_barrier;
    for (i = 1; i <= 20; i++) {
        const int value = i * (MYTHREAD + 1);
        bupc_memput_signal(&box[next], &value, sizeof value, arrived[next], 2);
        bupc_sem_wait(arrived[MYTHREAD]);
        bupc_sem_waitN(arrived[MYTHREAD], 1);
        CHECK(box[MYTHREAD] == i * ((MYTHREAD + THREADS - 1) % THREADS + 1));
        upc_barrier;
    }
    bupc_sem_free(arrived[MYTHREAD]);

    i = 5;
    bupc_waitsync(bupc_memput_async(&box[MYTHREAD], &i, sizeof i));
    bupc_memget_asynci(&values[0], &box[MYTHREAD], sizeof i);
    bupc_waitsynci();
    CHECK(values[0] == 5);
    CHECK(bupc_thread_distance(MYTHREAD, MYTHREAD) == BUPC_THREADS_SAME);
    CHECK(bupc_thread_distance(MYTHREAD, next) <= BUPC_THREADS_FAR);
    CHECK(bupc_tick_granularityus() > 0 && bupc_tick_overheadus() > 0 && bupc_tick_overheadus() < 1000);
    {
        /* More bytes than are kept for it. */
        struct large {
            int number[50];
        } one = {{MYTHREAD, 7}}, all[THREADS];
        one.number[49] = -MYTHREAD;
        one = bupc_allv_permute(struct large, one, next);
        CHECK(one.number[0] == (MYTHREAD + THREADS - 1) % THREADS && one.number[1] == 7 && one.number[49] == -one.number[0]);
        bupc_allv_gather_all(struct large, one, all);
        CHECK(all[next].number[49] == -MYTHREAD);
        one = bupc_allv_broadcast(struct large, all[0], THREADS - 1);
        CHECK(one.number[49] == 1 - THREADS);
    }
    bupc_poll();
    CHECK(bupc_ticks_to_us(bupc_ticks_now() - begin) < 1000000000);
    return 0;
}
