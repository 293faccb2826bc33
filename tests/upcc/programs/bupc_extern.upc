#include "check.h"

int sum_of_shared(int* own, int thread) {
    shared[] int* numbers = (shared[] int*)bupc_local_to_shared(own, thread, 0);
    CHECK(upc_threadof(numbers) == MYTHREAD && (int*)numbers == own);
    return numbers[0] + numbers[1] + numbers[2] + numbers[3];
}

int first_of_all(int* own) {
    shared int* all = (shared int*)bupc_local_to_shared(own, 0, 0);
    CHECK(upc_threadof(all) == 0 && (int*)&all[MYTHREAD] == own);
    CHECK(all[(MYTHREAD + 1) % THREADS] == 10 + (MYTHREAD + 1) % THREADS);
    CHECK(bupc_local_to_shared(&all, 0, 0) == NULL);
    return all[0];
}
