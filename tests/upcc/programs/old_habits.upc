/* Keywords of UPC 1.0, and a header in the source's own folder that is included as one of the system. */
#include <check.h>
#include <upc.h>

shared int a[THREADS];

int main(void) {
    int count = 0;
    forall (int i = 0; i < 5 * THREADS; i++; i) count++;
    a[MYTHREAD] = count;
    notify 3;
    wait 3;
    fence;
    CHECK(a[(MYTHREAD + 1) % THREADS] == 5);
    barrier 7;
    barrier;
    return 0;
}
