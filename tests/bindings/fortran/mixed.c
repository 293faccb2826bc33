/* The same array from C: dimension 1 of Fortran is the last one here. */
#include <lapwing/lapwing.h>

/* 0 if element (i, j) of Fortran is element [j][i] of C with the value 100 i + j, everywhere; writes it negated. */
int mixed_negate(lapwing_array* array);
int mixed_negate(lapwing_array* array) {
    int64_t extents[2], lower[2], index[2];
    int dimensions = 0, rank = 0;
    if (lapwing_array_shape(array, NULL, &dimensions, extents, lower) != LAPWING_SUCCESS || dimensions != 2) return 1;
    for (index[0] = lower[0]; index[0] < lower[0] + extents[0]; ++index[0])
        for (index[1] = lower[1]; index[1] < lower[1] + extents[1]; ++index[1]) {
            int local = 0;
            double value = 0;
            if (lapwing_array_get_element(array, index, &value) != LAPWING_SUCCESS) return 2;
            if (value != (double)(100 * index[1] + index[0])) return 3;
            if (lapwing_array_owner(array, index, &rank) != LAPWING_SUCCESS) return 4;
            if (lapwing_array_is_local(array, index, &local) != LAPWING_SUCCESS) return 5;
        }
    if (lapwing_array_barrier(array) != LAPWING_SUCCESS) return 6;
    {
        /* The own part, row by row of C: neighbours in memory are those of Fortran's first index. */
        void* memory = NULL;
        int64_t own[2], strides[2], i, j;
        if (lapwing_array_local(array, &memory, own, strides) != LAPWING_SUCCESS || strides[1] != 1) return 7;
        for (j = 0; j < own[0]; ++j)
            for (i = 0; i < own[1]; ++i) {
                double* const element = (double*)memory + j * strides[0] + i;
                *element = -*element;
            }
    }
    return lapwing_array_barrier(array);
}
