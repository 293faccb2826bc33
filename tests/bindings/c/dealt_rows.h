/* A distribution of the program's own for tests: row i is with rank i mod the number of ranks. */
#ifndef DEALT_ROWS_H
#define DEALT_ROWS_H

#include <lapwing/c/array.h>

#include <stdint.h>

static void dealt_rows_locate(void* context, const lapwing_shape* shape, const int64_t* index, lapwing_place* place) {
    const int64_t m = shape->extents[1];
    (void)context;
    place->owner = (int)(index[0] % shape->ranks);
    place->offset = (uint64_t)(index[0] / shape->ranks * m + index[1]);
    place->contiguous = (uint64_t)(m - index[1]);
}
static uint64_t dealt_rows_capacity(void* context, const lapwing_shape* shape) {
    (void)context;
    return (uint64_t)((shape->extents[0] + shape->ranks - 1) / shape->ranks * shape->extents[1]);
}
static uint64_t dealt_rows_domain_count(void* context, const lapwing_shape* shape, int of) {
    (void)context;
    return of < shape->extents[0] ? 1 : 0;
}
static void dealt_rows_domain(void* context, const lapwing_shape* shape, int of, uint64_t k, lapwing_range* ranges) {
    (void)context;
    (void)k;
    ranges[0].first = of;
    ranges[0].size = (uint64_t)((shape->extents[0] - 1 - of) / shape->ranks + 1);
    ranges[0].stride = shape->ranks;
    ranges[1].first = 0;
    ranges[1].size = (uint64_t)shape->extents[1];
    ranges[1].stride = 1;
}
static const lapwing_distribution_functions dealt_rows = {dealt_rows_locate, dealt_rows_capacity,
                                                          dealt_rows_domain_count, dealt_rows_domain, 0};

#endif
