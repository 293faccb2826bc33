/* FT: a diffusion equation, solved by Fourier transforms in three dimensions. While lines along x and y are transformed,
 * each thread has some planes of constant z, and while lines along z are, some planes of constant y. Between the two
 * everything moves, element by element. */
#include "nas.h"

enum { NX = NAS_CHOOSE(64, 128, 256), NY = NAS_CHOOSE(64, 128, 256), NZ = NAS_CHOOSE(64, 32, 128), ITERATIONS = 6 };
enum { LONGEST = NX > NZ ? NX : NZ, TERMS = 1024 }; /* NY is not more than NX */

struct complex {
    double re, im;
};
static const struct complex expected[3][ITERATIONS] = {{{5.546087004964e2, 4.845363331978e2},
                                                        {5.546385409189e2, 4.865304269511e2},
                                                        {5.546148406171e2, 4.883910722336e2},
                                                        {5.545423607415e2, 4.901273169046e2},
                                                        {5.544255039624e2, 4.917475857993e2},
                                                        {5.542683411902e2, 4.932597244941e2}},
                                                       {{5.673612178944e2, 5.293246849175e2},
                                                        {5.631436885271e2, 5.282149986629e2},
                                                        {5.594024089970e2, 5.270996558037e2},
                                                        {5.560698047020e2, 5.260027904925e2},
                                                        {5.530898991250e2, 5.249400845633e2},
                                                        {5.504159734538e2, 5.239212247086e2}},
                                                       {{5.046735008193e2, 5.114047905510e2},
                                                        {5.059412319734e2, 5.098809666433e2},
                                                        {5.069376896287e2, 5.098144042213e2},
                                                        {5.077892868474e2, 5.101336130759e2},
                                                        {5.085233095391e2, 5.104914655194e2},
                                                        {5.091487099959e2, 5.107917842803e2}}};

typedef shared [] struct complex* plane_t;
shared [] plane_t z_directory[NZ], y_directory[NY], work_directory[NY];
static plane_t planes[NZ];            /* [y][x] */
static plane_t columns[NY], work[NY]; /* [z][x] */
static double factor_x[NX], factor_y[NY], factor_z[NZ];

static void make_arrays(void) {
    int k;
    upc_forall (k = 0; k < NZ; k++; nas_owner(k, NZ)) z_directory[k] = upc_alloc(NX * NY * sizeof(struct complex));
    upc_forall (k = 0; k < NY; k++; nas_owner(k, NY)) {
        y_directory[k] = upc_alloc(NX * NZ * sizeof(struct complex));
        work_directory[k] = upc_alloc(NX * NZ * sizeof(struct complex));
    }
    upc_barrier;
    for (k = 0; k < NZ; k++) planes[k] = z_directory[k];
    for (k = 0; k < NY; k++) {
        columns[k] = y_directory[k];
        work[k] = work_directory[k];
    }
}

static void make_factors(double* factors, int size) {
    int k;
    for (k = 0; k < size; k++) {
        const double frequency = k < size / 2 ? k : k - size;
        factors[k] = exp(-4 * 1e-6 * M_PI * M_PI * frequency * frequency);
    }
}

/* Stockham's algorithm on a private line; the sign is that of the exponent. Not scaled. */
static void transform(struct complex* line, int size, int sign) {
    static struct complex roots[LONGEST], other[LONGEST];
    static int roots_size = 0, roots_sign = 0;
    struct complex *from = line, *to = other;
    int length, stride, p, q;
    if (roots_size != size || roots_sign != sign) {
        for (p = 0; p < size; p++) {
            roots[p].re = cos(2 * M_PI * p / size);
            roots[p].im = sign * sin(2 * M_PI * p / size);
        }
        roots_size = size;
        roots_sign = sign;
    }
    for (length = size, stride = 1; length > 1; length /= 2, stride *= 2) {
        const int half = length / 2;
        struct complex* const made = to;
        for (p = 0; p < half; p++) {
            const struct complex w = roots[p * stride];
            for (q = 0; q < stride; q++) {
                const struct complex a = from[q + stride * p], b = from[q + stride * (p + half)];
                const struct complex d = {a.re - b.re, a.im - b.im};
                to[q + stride * 2 * p].re = a.re + b.re;
                to[q + stride * 2 * p].im = a.im + b.im;
                to[q + stride * (2 * p + 1)].re = w.re * d.re - w.im * d.im;
                to[q + stride * (2 * p + 1)].im = w.re * d.im + w.im * d.re;
            }
        }
        to = from;
        from = made;
    }
    for (p = 0; p < size && from != line; p++) line[p] = from[p];
}

static void along_x(int sign) {
    static struct complex line[NX];
    int x, y, z;
    upc_forall (z = 0; z < NZ; z++; planes[z])
        for (y = 0; y < NY; y++) {
            const plane_t row = planes[z] + y * NX;
            for (x = 0; x < NX; x++) line[x] = row[x];
            transform(line, NX, sign);
            for (x = 0; x < NX; x++) row[x] = line[x];
        }
}

static void along_y(int sign) {
    static struct complex line[NY];
    int x, y, z;
    upc_forall (z = 0; z < NZ; z++; planes[z])
        for (x = 0; x < NX; x++) {
            for (y = 0; y < NY; y++) line[y] = planes[z][y * NX + x];
            transform(line, NY, sign);
            for (y = 0; y < NY; y++) planes[z][y * NX + x] = line[y];
        }
}

static void along_z(plane_t* array, int sign) {
    static struct complex line[NZ];
    int x, y, z;
    upc_forall (y = 0; y < NY; y++; array[y])
        for (x = 0; x < NX; x++) {
            for (z = 0; z < NZ; z++) line[z] = array[y][z * NX + x];
            transform(line, NZ, sign);
            for (z = 0; z < NZ; z++) array[y][z * NX + x] = line[z];
        }
}

static void start(void) {
    int x, y, z;
    upc_forall (z = 0; z < NZ; z++; planes[z]) {
        uint64_t state = nas_skip(314159265, (uint64_t)2 * NX * NY * (uint64_t)z);
        for (y = 0; y < NY; y++)
            for (x = 0; x < NX; x++) {
                planes[z][y * NX + x].re = nas_random(&state);
                planes[z][y * NX + x].im = nas_random(&state);
            }
    }
    along_x(1);
    along_y(1);
    upc_barrier;
    upc_forall (y = 0; y < NY; y++; columns[y])
        for (z = 0; z < NZ; z++) {
            const plane_t to = columns[y] + z * NX, from = planes[z] + y * NX;
            for (x = 0; x < NX; x++) to[x] = from[x];
        }
    along_z(columns, 1);
}

static struct complex step(void) {
    struct complex sum = {0, 0};
    int x, y, z, k;
    upc_forall (y = 0; y < NY; y++; columns[y])
        for (z = 0; z < NZ; z++) {
            const plane_t values = columns[y] + z * NX, copy = work[y] + z * NX;
            const double of_row = factor_y[y] * factor_z[z];
            for (x = 0; x < NX; x++) {
                values[x].re *= of_row * factor_x[x];
                values[x].im *= of_row * factor_x[x];
                copy[x] = values[x];
            }
        }
    along_z(work, -1);
    upc_barrier;
    upc_forall (z = 0; z < NZ; z++; planes[z])
        for (y = 0; y < NY; y++) {
            const plane_t to = planes[z] + y * NX, from = work[y] + z * NX;
            for (x = 0; x < NX; x++) to[x] = from[x];
        }
    along_y(-1);
    along_x(-1);
    for (k = 1; k <= TERMS; k++)
        if (nas_owner(5 * k % NZ, NZ) == MYTHREAD) {
            sum.re += planes[5 * k % NZ][3 * k % NY * NX + k % NX].re;
            sum.im += planes[5 * k % NZ][3 * k % NY * NX + k % NX].im;
        }
    sum.re = nas_sum(sum.re) / ((double)NX * NY * NZ);
    sum.im = nas_sum(sum.im) / ((double)NX * NY * NZ);
    return sum;
}

int main(void) {
    const double points = (double)NX * NY * NZ;
    double seconds, largest = 0;
    struct complex sums[ITERATIONS];
    int k, right = 0;
    make_arrays();
    make_factors(factor_x, NX);
    make_factors(factor_y, NY);
    make_factors(factor_z, NZ);
    start(); /* as NPB does, so that everything has been touched */
    nas_start();
    start();
    for (k = 0; k < ITERATIONS; k++) sums[k] = step();
    seconds = nas_stop();
    for (k = 0; k < ITERATIONS; k++) {
        const struct complex wanted = expected[NAS_CHOOSE(0, 1, 2)][k];
        const double error = hypot(sums[k].re - wanted.re, sums[k].im - wanted.im) / hypot(wanted.re, wanted.im);
        right += error <= 1e-12;
        largest = fmax(largest, error);
    }
    if (MYTHREAD == 0) printf("%d of %d checksums right, largest error %.1e\n", right, ITERATIONS, largest);
    return nas_end("FT", seconds,
                   1e-6 * points *
                       (14.8157 + 7.19641 * log(points) + (5.23518 + 7.21113 * log(points)) * ITERATIONS),
                   right == ITERATIONS);
}
