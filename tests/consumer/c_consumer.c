/* A C program outside of Lapwing's build: every thread adds to a counter of thread 0. */
#include <lapwing/upc.h>

#include <stdint.h>
#include <stdio.h>

int main(int argc, char** argv) {
    lapwing_upc_start(&argc, &argv);
    const lapwing_upc_pointer mine = lapwing_upc_all_alloc((size_t)lapwing_upc_threads(), sizeof(int64_t));
    lapwing_upc_pointer own = mine;
    own.thread = (uint32_t)lapwing_upc_mythread();
    *(int64_t*)lapwing_upc_cast(own) = lapwing_upc_mythread() + 1;
    lapwing_upc_barrier(NULL);
    int64_t sum = 0;
    for (int i = 0; i < lapwing_upc_threads(); ++i) {
        lapwing_upc_pointer other = mine;
        other.thread = (uint32_t)i;
        int64_t value = 0;
        lapwing_upc_memget(&value, other, sizeof value);
        sum += value;
    }
    const int wrong = sum != (int64_t)lapwing_upc_threads() * (lapwing_upc_threads() + 1) / 2;
    if (wrong) fprintf(stderr, "c_consumer: the sum is %ld\n", (long)sum);
    lapwing_upc_barrier(NULL);
    lapwing_upc_end();
    return wrong;
}
