/* EP: pairs of Gaussian deviates by the polar method, their sums, and how many lie in each square annulus. upc_forall
 * deals the batches; counts are in a shared array, totals are added under a lock. */
#include "nas.h"

enum { LOG2_PAIRS = NAS_CHOOSE(24, 25, 28), LOG2_BATCH = 16, ANNULI = 10 };

static const double expected_x = NAS_CHOOSE(-3.247834652034740e3, -2.863319731645753e3, -4.295875165629892e3);
static const double expected_y = NAS_CHOOSE(-6.958407078382297e3, -6.320053679109499e3, -1.580732573678431e4);
static const double expected_pairs = NAS_CHOOSE(13176389, 26354769, 210832767);

shared [ANNULI] double counts[THREADS][ANNULI];
shared [] double totals[2 + ANNULI];
upc_lock_t* totals_lock;

static void one_batch(int batch, double* sum_x, double* sum_y) {
    uint64_t state = nas_skip(271828183, ((uint64_t)2 << LOG2_BATCH) * (uint64_t)batch);
    int k;
    for (k = 0; k < 1 << LOG2_BATCH; k++) {
        const double x = 2 * nas_random(&state) - 1;
        const double y = 2 * nas_random(&state) - 1;
        const double square = x * x + y * y;
        if (square <= 1) {
            const double factor = sqrt(-2 * log(square) / square);
            const double a = x * factor, b = y * factor;
            counts[MYTHREAD][(int)fmax(fabs(a), fabs(b))] += 1;
            *sum_x += a;
            *sum_y += b;
        }
    }
}

static void run(void) {
    double sum_x = 0, sum_y = 0;
    int batch, k;
    upc_forall (batch = 0; batch < 1 << (LOG2_PAIRS - LOG2_BATCH); batch++; batch) one_batch(batch, &sum_x, &sum_y);
    upc_lock(totals_lock);
    totals[0] += sum_x;
    totals[1] += sum_y;
    for (k = 0; k < ANNULI; k++) totals[2 + k] += counts[MYTHREAD][k];
    upc_unlock(totals_lock);
    upc_barrier;
}

int main(void) {
    double seconds, pairs = 0;
    int k;
    totals_lock = upc_all_lock_alloc();
    nas_start();
    run();
    seconds = nas_stop();
    for (k = 0; k < ANNULI; k++) pairs += totals[2 + k];
    if (MYTHREAD == 0) printf("sums %.15e %.15e, %.0f Gaussian pairs\n", totals[0], totals[1], pairs);
    return nas_end("EP", seconds, ldexp(1, LOG2_PAIRS + 1) * 1e-6,
                   nas_close(totals[0], expected_x) && nas_close(totals[1], expected_y) && pairs == expected_pairs);
}
