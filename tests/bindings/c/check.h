/* Checks of the tests in C: what is wrong is printed, and the program ends with exit code 1 on all ranks. */
#ifndef CHECK_H
#define CHECK_H

#include <lapwing/lapwing.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_rank = -1;

static void check_failed(const char* file, int line, const char* text) {
    fprintf(stderr, "rank %d: %s:%d: %s\n  last error: %s\n", check_rank, file, line, text, lapwing_error_text());
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

#define CHECK(condition)                                                \
    do {                                                                \
        if (!(condition)) check_failed(__FILE__, __LINE__, #condition); \
    } while (0)
/* The call succeeds. */
#define OK(call)                                                                            \
    do {                                                                                    \
        if ((call) != LAPWING_SUCCESS) check_failed(__FILE__, __LINE__, #call " succeeds"); \
    } while (0)
/* The call fails with this code, and the text has the word. */
#define FAILS(code, word, call)                                                                                 \
    do {                                                                                                        \
        if ((call) != (code) || lapwing_error_code() != (code) || strstr(lapwing_error_text(), (word)) == NULL) \
            check_failed(__FILE__, __LINE__, #call " fails with " #code " and '" word "'");                     \
    } while (0)
/* A complex number without <complex.h>, whose macro I would be a name of all tests. */
#define COMPLEX(ctype, real, imaginary) \
    (((union {                          \
         ctype parts[2];                \
         ctype _Complex value;          \
     }){{(real), (imaginary)}})         \
         .value)

#endif
