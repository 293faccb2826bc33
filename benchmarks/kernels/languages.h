/* The kernels of lapwing-demo, with bulk patches, in C, Fortran and C++: the same functions in each, with which
   binding_kernels.cpp measures them beside C++, and a test compares their results bit by bit. */
#ifndef LAPWING_KERNELS_LANGUAGES_H
#define LAPWING_KERNELS_LANGUAGES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LAPWING_SOBEL = 0, LAPWING_TRANSPOSE = 1, LAPWING_HEAT = 2, LAPWING_PRODUCT = 3 };

/* Compressed rows of a sparse matrix, indices from 0. */
typedef struct lapwing_matrix_rows {
    int64_t rows;
    const int64_t* row_start;
    const int64_t* column;
    const double* value;
} lapwing_matrix_rows;

/* One kernel at a time; collective, and an error ends the program. start() makes a runtime, finish() frees it. make()
   makes the arrays: `extents` are those of the array that is read, in the order of C, and `input` is all of its
   elements; for LAPWING_HEAT it is not used, and for LAPWING_PRODUCT it is the whole lapwing_matrix_rows. run() is
   complete on all ranks on return; `growth` receives a number for each product. result() reads all elements of the
   array that was written, or of the vector; end() frees the arrays. */
#define LAPWING_KERNELS_IN_(language)                                                      \
    void lapwing_##language##_start(void);                                                 \
    void lapwing_##language##_make(int kernel, const int64_t* extents, const void* input); \
    void lapwing_##language##_run(int kernel, int64_t iterations, double* growth);         \
    void lapwing_##language##_result(int kernel, void* elements);                          \
    void lapwing_##language##_end(void);                                                   \
    void lapwing_##language##_finish(void);
LAPWING_KERNELS_IN_(c)
LAPWING_KERNELS_IN_(cpp)
LAPWING_KERNELS_IN_(fortran)

#ifdef __cplusplus
}
#endif

#endif
