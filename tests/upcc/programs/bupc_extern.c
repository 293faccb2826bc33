/* A main in C that calls UPC through Berkeley's header for C and C++. */
#include <bupc_extern.h>
#include <stdio.h>
int sum_of_shared(int* own, int thread);
int first_of_all(int* own);

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: " #condition "\n", __FILE__, __LINE__); \
            bupc_exit(1);                                                           \
        }                                                                           \
    } while (0)

int main(int argc, char** argv) {
    bupc_init(&argc, &argv);
    const int own = bupc_extern_mythread(), threads = bupc_extern_threads();
    CHECK(own >= 0 && own < threads);
    CHECK(bupc_extern_getenv("PATH") != NULL);

    int* const numbers = bupc_extern_alloc(4 * sizeof(int));
    for (int k = 0; k < 4; ++k) numbers[k] = own + k;
    CHECK(sum_of_shared(numbers, own) == 4 * own + 6);
    bupc_extern_free(numbers, own);

    int* const part = bupc_extern_all_alloc((size_t)threads, sizeof(int));
    *part = 10 + own;
    bupc_extern_barrier(5);
    CHECK(first_of_all(part) == 10);
    bupc_extern_notify(6);
    bupc_extern_wait(6);
    bupc_extern_all_free(part, 0);
    bupc_exit(0);
}
