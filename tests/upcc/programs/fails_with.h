/* For the programs here: FAILS(statement, text): the statement is an error whose message contains the text. */
#include "check.h"

#include <setjmp.h>
#include <string.h>

typedef void (*error_handler)(const char*);
error_handler lapwing_upc_set_error_handler(error_handler handler);
static jmp_buf before_error;
static char error_text[1000];
static void take_error(const char* message) {
    snprintf(error_text, sizeof error_text, "%s", message);
    longjmp(before_error, 1);
}
#define FAILS(statement, text)                                                                                \
    do {                                                                                                      \
        const error_handler outer = lapwing_upc_set_error_handler(take_error);                                \
        error_text[0] = 0;                                                                                    \
        if (setjmp(before_error) == 0) {                                                                      \
            statement;                                                                                        \
        }                                                                                                     \
        lapwing_upc_set_error_handler(outer);                                                                 \
        if (strstr(error_text, text) == 0) {                                                                  \
            fprintf(stderr, "%s:%d: thread %d: %s: '%s', which has not '%s'\n", __FILE__, __LINE__, MYTHREAD, \
                    #statement, error_text, text);                                                            \
            upc_global_exit(1);                                                                               \
        }                                                                                                     \
    } while (0)
