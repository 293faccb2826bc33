/* CG: inverse iteration for the smallest eigenvalue of a large sparse matrix of random pattern, whose linear systems are
 * solved by 25 steps of conjugate gradients. Vectors are dealt element by element, and rows of the matrix with them; a
 * product needs elements of the whole vector, wherever the row's nonzero elements are. */
#include "nas.h"

enum { N = NAS_CHOOSE(1400, 7000, 14000), NONZEROS = NAS_CHOOSE(7, 8, 11), ITERATIONS = 15, STEPS = 25 };
static const double shift = NAS_CHOOSE(10., 12., 20.);
static const double expected = NAS_CHOOSE(8.5971775078648, 10.362595087124, 17.130235054029);

shared double *x, *z, *p, *q, *r; /* N each */

/* The thread's rows: row i is its row i / THREADS. */
static int *row_starts, *columns;
static double* values;

struct element {
    int place;
    double value;
};
/* The sparse vectors whose outer products make the matrix: 1/2 at place i, and random elsewhere. Returns the number of
 * elements. */
static int next_vector(uint64_t* state, int i, struct element* vector) {
    int places = 1, size = 0, k;
    while (places < N) places *= 2;
    while (size < NONZEROS) {
        const double value = nas_random(state);
        const int place = (int)(nas_random(state) * places);
        for (k = 0; k < size && vector[k].place != place; k++)
            ;
        if (place >= N || k < size) continue;
        vector[size].place = place;
        vector[size++].value = value;
    }
    for (k = 0; k < size && vector[k].place != i; k++)
        ;
    vector[k].place = i;
    vector[k].value = 0.5;
    return k == size ? size + 1 : size;
}

struct entry {
    int row, column, order;
    double value;
};
static int compare(const void* a, const void* b) {
    const struct entry *one = a, *other = b;
    if (one->row != other->row) return one->row < other->row ? -1 : 1;
    if (one->column != other->column) return one->column < other->column ? -1 : 1;
    return one->order < other->order ? -1 : 1; /* contributions are added in the order in which NPB adds them */
}

/* Each thread goes through all vectors, as NPB's do, and keeps its own rows. */
static void make_rows(void) {
    const double condition = 0.1, ratio = pow(condition, 1.0 / N);
    const size_t most = (size_t)N * (NONZEROS + 1) * (NONZEROS + 1);
    const int rows = N / THREADS + 1;
    struct entry* const entries = malloc(most * sizeof *entries);
    struct element vector[NONZEROS + 1];
    uint64_t state = 314159265;
    double scale = 1;
    int i, j, k, row, size = 0, made = 0;
    (void)nas_random(&state); /* NPB draws a first guess, which it does not use */
    for (i = 0; i < N; i++, scale *= ratio) {
        const int elements = next_vector(&state, i, vector);
        for (j = 0; j < elements; j++) {
            if (upc_threadof(&x[vector[j].place]) != MYTHREAD) continue;
            for (k = 0; k < elements; k++) {
                double value = vector[k].value * (scale * vector[j].value);
                if (vector[j].place == i && vector[k].place == i) value += condition - shift;
                entries[size].row = vector[j].place / THREADS;
                entries[size].column = vector[k].place;
                entries[size].order = size;
                entries[size++].value = value;
            }
        }
    }
    qsort(entries, (size_t)size, sizeof *entries, compare);
    row_starts = calloc((size_t)rows + 1, sizeof *row_starts);
    columns = malloc((size_t)(size + 1) * sizeof *columns);
    values = malloc((size_t)(size + 1) * sizeof *values);
    for (k = 0, row = 0; row < rows; row++) {
        row_starts[row] = made;
        for (; k < size && entries[k].row == row; k++) {
            if (made > row_starts[row] && columns[made - 1] == entries[k].column) {
                values[made - 1] += entries[k].value;
            } else {
                columns[made] = entries[k].column;
                values[made++] = entries[k].value;
            }
        }
    }
    row_starts[rows] = made;
    free(entries);
}

static double dot(shared double* a, shared double* b) {
    double sum = 0;
    int i;
    upc_forall (i = 0; i < N; i++; &a[i]) sum += a[i] * b[i];
    return nas_sum(sum);
}

/* b = A a */
static void multiply(shared double* a, shared double* b) {
    int i;
    upc_forall (i = 0; i < N; i++; &b[i]) {
        const int row = i / THREADS;
        double sum = 0;
        int k;
        for (k = row_starts[row]; k < row_starts[row + 1]; k++) sum += values[k] * a[columns[k]];
        b[i] = sum;
    }
    upc_barrier;
}

/* z is what 25 steps find for A z = x. */
static void solve(void) {
    double rho;
    int i, step;
    upc_forall (i = 0; i < N; i++; &x[i]) {
        z[i] = 0;
        r[i] = x[i];
        p[i] = x[i];
    }
    rho = dot(r, r);
    for (step = 0; step < STEPS; step++) {
        double alpha, before = rho, beta;
        upc_barrier;
        multiply(p, q);
        alpha = rho / dot(p, q);
        upc_forall (i = 0; i < N; i++; &z[i]) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rho = dot(r, r);
        beta = rho / before;
        upc_forall (i = 0; i < N; i++; &p[i]) p[i] = r[i] + beta * p[i];
    }
    upc_barrier;
}

static double run(int iterations) {
    double zeta = 0;
    int i, k;
    upc_forall (i = 0; i < N; i++; &x[i]) x[i] = 1;
    for (k = 0; k < iterations; k++) {
        double scale;
        solve();
        zeta = shift + 1 / dot(x, z);
        scale = 1 / sqrt(dot(z, z));
        upc_forall (i = 0; i < N; i++; &x[i]) x[i] = scale * z[i];
    }
    return zeta;
}

int main(void) {
    double seconds, zeta;
    x = upc_all_alloc(N, sizeof(double));
    z = upc_all_alloc(N, sizeof(double));
    p = upc_all_alloc(N, sizeof(double));
    q = upc_all_alloc(N, sizeof(double));
    r = upc_all_alloc(N, sizeof(double));
    make_rows();
    (void)run(1); /* as NPB does, so that everything has been touched */
    nas_start();
    zeta = run(ITERATIONS);
    seconds = nas_stop();
    if (MYTHREAD == 0) printf("zeta %.13f, expected %.13f\n", zeta, expected);
    /* NPB's own tolerance is 1e-10 of the difference. */
    return nas_end("CG", seconds,
                   1e-6 * 2 * ITERATIONS * N *
                       (3 + NONZEROS * (NONZEROS + 1) + 25. * (5 + NONZEROS * (NONZEROS + 1)) + 3),
                   fabs(zeta - expected) <= 1e-10);
}
