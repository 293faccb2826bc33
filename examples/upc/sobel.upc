/* The edges of an image, whose rows are with the threads in blocks.
 *
 *     lapwing-upcc -O2 -o sobel sobel.upc -lm && lapwing-upcrun -n 4 ./sobel */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <upc.h>

#define N 240
#define ROWS ((N - 1) / THREADS + 1) /* of each thread */

shared [] uint8_t *shared image[THREADS], *shared edges[THREADS]; /* ROWS rows of N pixels with each thread */

static int pixel(int i, int j) { return image[i / ROWS][i % ROWS * N + j]; }

int main(void) {
    const int first = ROWS * MYTHREAD < N ? ROWS * MYTHREAD : N;
    const int last = first + ROWS < N ? first + ROWS : N;
    int i, j, wrong = 0;
    image[MYTHREAD] = (shared [] uint8_t *)upc_alloc((size_t)ROWS * N);
    edges[MYTHREAD] = (shared [] uint8_t *)upc_alloc((size_t)ROWS * N);
    upc_memset(edges[MYTHREAD], 0, (size_t)ROWS * N);
    for (i = first; i < last; i++) /* a disc */
        for (j = 0; j < N; j++) image[MYTHREAD][(i - first) * N + j] = hypot(i - N / 2, j - N / 2) < 80.5 ? 200 : 20;
    upc_barrier;

    for (i = first > 1 ? first : 1; i < last && i < N - 1; i++)
        for (j = 1; j < N - 1; j++) {
            const int down = pixel(i + 1, j - 1) + 2 * pixel(i + 1, j) + pixel(i + 1, j + 1) - pixel(i - 1, j - 1) -
                             2 * pixel(i - 1, j) - pixel(i - 1, j + 1);
            const int across = pixel(i - 1, j + 1) + 2 * pixel(i, j + 1) + pixel(i + 1, j + 1) -
                               pixel(i - 1, j - 1) - 2 * pixel(i, j - 1) - pixel(i + 1, j - 1);
            edges[MYTHREAD][(i - first) * N + j] = (uint8_t)fmin(255.0, sqrt(down * down + across * across));
        }
    upc_barrier;

    /* The disc's rim is there, and nothing else. */
    for (i = first; i < last; i++)
        for (j = 0; j < N; j++) {
            const double distance = fabs(hypot(i - N / 2, j - N / 2) - 80.5);
            const int edge = edges[MYTHREAD][(i - first) * N + j];
            if ((distance > 2 && edge != 0) || (distance < 0.4 && edge == 0)) wrong++;
        }
    printf("thread %d of %d: rows %d to %d, %d pixels wrong\n", MYTHREAD, THREADS, first, last, wrong);
    return wrong != 0;
}
