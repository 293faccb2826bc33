/* Plans, productions, and recordings. */
#include "job.h"

#include <stdint.h>

static int fill_numbers(void* context, uint64_t first, void* memory, uint64_t bytes) {
    const uint64_t begin = first / 8;
    uint64_t k;
    for (k = 0; k < bytes / 8; ++k) ((double*)memory)[k] = (double)(begin + k) + *(double*)context;
    return 0;
}
static int refuse(void* context, uint64_t first, void* memory, uint64_t bytes) {
    (void)context;
    (void)first;
    (void)memory;
    return bytes > 0 ? 3 : 0;
}

int main(void) {
    lapwing_window* window = NULL;
    lapwing_layout *there = NULL, *here = NULL, *shorter = NULL;
    lapwing_plan *put = NULL, *get = NULL, *copy;
    lapwing_production* production = NULL;
    lapwing_recording* recording = NULL;
    lapwing_completion* completion = NULL;
    lapwing_plan_options options;
    double buffer[64], back[64], base;
    int next, strategy = -1, k;
    uint64_t bytes = 0, puts = 0, plans = 0, blocks = 0;
    double seconds = -1;
    const char* text = NULL;
    start_job();
    next = (rank + 1) % size;
    OK(lapwing_window_create(runtime, 4096, NULL, &window));
    OK(lapwing_layout_create_strided(32, 8, 16, 0, &there));
    OK(lapwing_layout_create_contiguous(256, 0, &here));
    OK(lapwing_layout_create_contiguous(248, 0, &shorter));
    memset(&options, 0, sizeof options);
    OK(lapwing_plan_create_put(window, next, 0, there, here, NULL, &put));
    OK(lapwing_plan_create_get(window, next, 0, there, here, &options, &get));
    OK(lapwing_plan_query(put, &strategy, &bytes, &seconds));
    CHECK(strategy > LAPWING_STRATEGY_AUTOMATIC && strategy <= LAPWING_STRATEGY_SIEVED && bytes == 256 && seconds >= 0);
    OK(lapwing_plan_explain(put, &text));
    CHECK(text[0] != '\0');
    for (k = 0; k < 32; ++k) buffer[k] = 100 * rank + k;
    OK(lapwing_plan_execute_put(put, buffer));
    OK(lapwing_window_flush(window, next));
    OK(lapwing_plan_execute(get, back));
    CHECK(memcmp(buffer, back, 256) == 0);
    for (k = 0; k < 32; ++k) buffer[k] += 1000;
    OK(lapwing_plan_start(put, buffer, &completion));
    OK(lapwing_completion_wait(&completion));
    OK(lapwing_window_flush(window, next));
    OK(lapwing_plan_execute(get, back));
    CHECK(memcmp(buffer, back, 256) == 0);
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_plan_execute_notify(put, buffer, 1));
    OK(lapwing_window_wait_notified(window, 1, 1));
    OK(lapwing_runtime_barrier(runtime));
    base = 7 * rank;
    OK(lapwing_plan_execute_filled(put, 64, fill_numbers, &base));
    OK(lapwing_window_flush(window, next));
    OK(lapwing_plan_execute(get, back));
    for (k = 0; k < 32; ++k) CHECK(back[k] == k + base);
    OK(lapwing_plan_produce(put, buffer, &production));
    OK(lapwing_production_ready(production, 128));
    FAILS(LAPWING_ERR_RANGE, "256", lapwing_production_ready(production, 257));
    OK(lapwing_production_finish(&production));
    CHECK(production == NULL);
    OK(lapwing_window_flush(window, next));
    OK(lapwing_plan_execute(get, back));
    CHECK(memcmp(buffer, back, 256) == 0);
    FAILS(LAPWING_ERR_USAGE, "'fill' returned 3", lapwing_plan_execute_filled(put, 64, refuse, NULL));
    FAILS(LAPWING_ERR_RANGE, "100", lapwing_plan_execute_filled(put, 100, fill_numbers, &base));
    FAILS(LAPWING_ERR_USAGE, "get", lapwing_plan_execute_put(get, buffer));
    FAILS(LAPWING_ERR_USAGE, "get", lapwing_plan_produce(get, buffer, &production));
    FAILS(LAPWING_ERR_USAGE, "'memory'", lapwing_plan_execute(get, NULL));
    FAILS(LAPWING_ERR_RANGE, "248", lapwing_plan_create_put(window, next, 0, there, shorter, NULL, &copy));
    FAILS(LAPWING_ERR_RANGE, "4096", lapwing_plan_create_put(window, next, 4000, there, here, NULL, &copy));
    options.strategy = LAPWING_STRATEGY_SIEVED;
    FAILS(LAPWING_ERR_USAGE, "for gets", lapwing_plan_create_put(window, next, 0, there, here, &options, &copy));
    options.strategy = 8;
    FAILS(LAPWING_ERR_RANGE, "'options.strategy' is 8",
          lapwing_plan_create_put(window, next, 0, there, here, &options, &copy));
    FAILS(LAPWING_ERR_USAGE, "'plan'", lapwing_plan_create_put(window, next, 0, there, here, NULL, NULL));
    FAILS(LAPWING_ERR_USAGE, "the production is a null pointer", lapwing_production_finish(&production));
    copy = put;
    OK(lapwing_plan_free(&put));
    OK(lapwing_plan_free(&get));
    OK(lapwing_plan_free(&get));
    FAILS(LAPWING_ERR_USAGE, "the plan was freed", lapwing_plan_execute(copy, buffer));

    OK(lapwing_recording_create(window, &recording));
    for (k = 0; k < 4; ++k) OK(lapwing_recording_put(recording, next, 1024 + 16 * (uint64_t)k, &buffer[k], 8));
    OK(lapwing_recording_query(recording, &puts, NULL));
    CHECK(puts == 4);
    OK(lapwing_recording_run(recording));
    OK(lapwing_recording_query(recording, &puts, &plans));
    CHECK(puts == 0 && plans == 1);
    OK(lapwing_recording_blocks(recording, next, &blocks));
    CHECK(blocks == 4);
    OK(lapwing_window_flush_all(window));
    OK(lapwing_window_get(window, next, 1024 + 48, back, 8));
    CHECK(back[0] == buffer[3]);
    FAILS(LAPWING_ERR_RANGE, "4096", lapwing_recording_put(recording, next, 4090, buffer, 8));
    FAILS(LAPWING_ERR_USAGE, "'source'", lapwing_recording_put(recording, next, 0, NULL, 8));
    FAILS(LAPWING_ERR_USAGE, "the recording is a null pointer", lapwing_recording_run(NULL));
    OK(lapwing_layout_free(&there));
    OK(lapwing_layout_free(&here));
    OK(lapwing_layout_free(&shorter));
    OK(lapwing_runtime_barrier(runtime));
    OK(lapwing_window_free(&window));
    FAILS(LAPWING_ERR_USAGE, "window of the recording is closed", lapwing_recording_put(recording, next, 0, buffer, 8));
    FAILS(LAPWING_ERR_USAGE, "window of the recording is closed", lapwing_recording_run(recording));
    FAILS(LAPWING_ERR_USAGE, "window of the recording is closed", lapwing_recording_blocks(recording, next, &blocks));
    OK(lapwing_recording_free(&recording));
    OK(lapwing_runtime_free(&runtime));
    return 0;
}
