/* MG: V-cycles of a multigrid method for Poisson's equation on a cube with periodic boundaries. A grid's planes of
 * constant z are dealt in blocks. A stencil reads the planes beside its own wherever they are, row by row, through
 * pointers. */
#include "nas.h"

enum {
    LEVELS = NAS_CHOOSE(5, 7, 8),
    N = 1 << LEVELS, /* points of the finest grid in each dimension; one more at both ends repeat the other side's */
    ITERATIONS = 4,
    CHARGES = 10 /* of each sign */
};
static const double expected = NAS_CHOOSE(0.5307707005734e-4, 0.6467329375339e-5, 0.2433365309069e-5);

typedef shared [] double* plane_t;
enum field { SOLUTION, RESIDUAL, RIGHT, FIELDS };

shared [] plane_t directory[FIELDS][LEVELS + 1][N + 2];
static plane_t planes[FIELDS][LEVELS + 1][N + 2]; /* a copy, by the number of the plane, from 0 to n + 1 */
static double sides[N + 2], corners[N + 2];       /* sums around the points of a row */

static plane_t row(enum field field, int level, int z, int y) {
    return planes[field][level][z] + (size_t)y * ((1 << level) + 2);
}

static void make_grids(void) {
    int field, level, z;
    for (field = 0; field < FIELDS; field++)
        for (level = field == RIGHT ? LEVELS : 1; level <= LEVELS; level++) {
            const int n = 1 << level;
            upc_forall (z = 1; z <= n; z++; nas_owner(z - 1, n))
                directory[field][level][z] = upc_alloc((size_t)(n + 2) * (n + 2) * sizeof(double));
        }
    upc_barrier;
    for (field = 0; field < FIELDS; field++)
        for (level = field == RIGHT ? LEVELS : 1; level <= LEVELS; level++) {
            const int n = 1 << level;
            for (z = 1; z <= n; z++) planes[field][level][z] = directory[field][level][z];
            planes[field][level][0] = planes[field][level][n];
            planes[field][level][n + 1] = planes[field][level][1];
        }
}

static void clear(enum field field, int level) {
    const int n = 1 << level;
    int z, k;
    upc_forall (z = 1; z <= n; z++; planes[field][level][z]) {
        const plane_t plane = planes[field][level][z];
        for (k = 0; k < (n + 2) * (n + 2); k++) plane[k] = 0;
    }
    upc_barrier;
}

/* The largest ten of the random numbers on the grid become 1 on the right side, the smallest -1. Each thread goes
 * through all numbers: it is not timed. */
static void make_right_side(void) {
    double largest[CHARGES], smallest[CHARGES];
    int of_largest[CHARGES], of_smallest[CHARGES];
    uint64_t state = 314159265;
    int i, k;
    for (k = 0; k < CHARGES; k++) {
        largest[k] = -1;
        smallest[k] = 2;
    }
    for (i = 0; i < N * N * N; i++) {
        const double number = nas_random(&state);
        for (k = CHARGES; k > 0 && number > largest[k - 1]; k--)
            if (k < CHARGES) {
                largest[k] = largest[k - 1];
                of_largest[k] = of_largest[k - 1];
            }
        if (k < CHARGES) {
            largest[k] = number;
            of_largest[k] = i;
        }
        for (k = CHARGES; k > 0 && number < smallest[k - 1]; k--)
            if (k < CHARGES) {
                smallest[k] = smallest[k - 1];
                of_smallest[k] = of_smallest[k - 1];
            }
        if (k < CHARGES) {
            smallest[k] = number;
            of_smallest[k] = i;
        }
    }
    clear(RIGHT, LEVELS);
    for (k = 0; k < CHARGES && MYTHREAD == 0; k++) {
        row(RIGHT, LEVELS, of_largest[k] / (N * N) + 1, of_largest[k] / N % N + 1)[of_largest[k] % N + 1] = 1;
        row(RIGHT, LEVELS, of_smallest[k] / (N * N) + 1, of_smallest[k] / N % N + 1)[of_smallest[k] % N + 1] = -1;
    }
    upc_barrier;
}

/* Around row y of plane z: of each point the four beside it in the plane across x, and the four at corners. */
static void add_up(enum field field, int level, int z, int y) {
    const int n = 1 << level;
    const plane_t below = row(field, level, z, y - 1), above = row(field, level, z, y + 1);
    const plane_t before = row(field, level, z - 1, y), behind = row(field, level, z + 1, y);
    const plane_t before_below = row(field, level, z - 1, y - 1), before_above = row(field, level, z - 1, y + 1);
    const plane_t behind_below = row(field, level, z + 1, y - 1), behind_above = row(field, level, z + 1, y + 1);
    int x;
    for (x = 0; x < n + 2; x++) sides[x] = below[x] + above[x] + before[x] + behind[x];
    for (x = 0; x < n + 2; x++) corners[x] = before_below[x] + before_above[x] + behind_below[x] + behind_above[x];
}

/* Gives a plane its ends in x and y. */
static void wrap(enum field field, int level, int z) {
    const int n = 1 << level;
    const plane_t plane = planes[field][level][z];
    int x, y;
    for (y = 1; y <= n; y++) {
        plane[y * (n + 2)] = plane[y * (n + 2) + n];
        plane[y * (n + 2) + n + 1] = plane[y * (n + 2) + 1];
    }
    for (x = 0; x < n + 2; x++) {
        plane[x] = plane[n * (n + 2) + x];
        plane[(n + 1) * (n + 2) + x] = plane[(n + 2) + x];
    }
}

/* r = v - A u; v may be r. */
static void residual(int level, enum field right) {
    const double a0 = -8.0 / 3.0, a2 = 1.0 / 6.0, a3 = 1.0 / 12.0; /* a1 is 0 */
    const int n = 1 << level;
    int x, y, z;
    upc_forall (z = 1; z <= n; z++; planes[RESIDUAL][level][z]) {
        for (y = 1; y <= n; y++) {
            const plane_t u = row(SOLUTION, level, z, y), v = row(right, level, z, y), r = row(RESIDUAL, level, z, y);
            add_up(SOLUTION, level, z, y);
            for (x = 1; x <= n; x++)
                r[x] = v[x] - a0 * u[x] - a2 * (corners[x] + sides[x - 1] + sides[x + 1]) -
                       a3 * (corners[x - 1] + corners[x + 1]);
        }
        wrap(RESIDUAL, level, z);
    }
    upc_barrier;
}

/* u += C r */
static void smooth(int level) {
    const double c0 = -3.0 / 8.0, c1 = 1.0 / 32.0, c2 = -1.0 / 64.0;
    const int n = 1 << level;
    int x, y, z;
    upc_forall (z = 1; z <= n; z++; planes[SOLUTION][level][z]) {
        for (y = 1; y <= n; y++) {
            const plane_t u = row(SOLUTION, level, z, y), r = row(RESIDUAL, level, z, y);
            add_up(RESIDUAL, level, z, y);
            for (x = 1; x <= n; x++)
                u[x] += c0 * r[x] + c1 * (r[x - 1] + r[x + 1] + sides[x]) +
                        c2 * (corners[x] + sides[x - 1] + sides[x + 1]);
        }
        wrap(SOLUTION, level, z);
    }
    upc_barrier;
}

/* The residual of this level from the next finer one's. */
static void restrict_to(int level) {
    const int n = 1 << level;
    int x, y, z;
    upc_forall (z = 1; z <= n; z++; planes[RESIDUAL][level][z]) {
        for (y = 1; y <= n; y++) {
            const plane_t coarse = row(RESIDUAL, level, z, y), fine = row(RESIDUAL, level + 1, 2 * z, 2 * y);
            add_up(RESIDUAL, level + 1, 2 * z, 2 * y);
            for (x = 1; x <= n; x++)
                coarse[x] = 0.5 * fine[2 * x] + 0.25 * (fine[2 * x - 1] + fine[2 * x + 1] + sides[2 * x]) +
                            0.125 * (sides[2 * x - 1] + sides[2 * x + 1] + corners[2 * x]) +
                            0.0625 * (corners[2 * x - 1] + corners[2 * x + 1]);
        }
        wrap(RESIDUAL, level, z);
    }
    upc_barrier;
}

/* Row y of the coarse solution at the height of fine plane z: of one plane, or between two. */
static void load_line(int level, int z, int y, double* line) {
    const int n = 1 << level;
    const plane_t from = row(SOLUTION, level, z / 2, y);
    int x;
    if (z % 2 == 0) {
        for (x = 0; x < n + 2; x++) line[x] = from[x];
    } else {
        const plane_t next = row(SOLUTION, level, z / 2 + 1, y);
        for (x = 0; x < n + 2; x++) line[x] = 0.5 * (from[x] + next[x]);
    }
}

/* Adds the solution of the next coarser level, interpolated. */
static void interpolate(int level) {
    static double lower[N / 2 + 2], upper[N / 2 + 2];
    const int n = 1 << level, half = n / 2;
    int x, y, z;
    upc_forall (z = 1; z <= n; z++; planes[SOLUTION][level][z]) {
        for (y = 0; y <= half; y++) {
            const plane_t even = row(SOLUTION, level, z, 2 * y), odd = row(SOLUTION, level, z, 2 * y + 1);
            load_line(level - 1, z, y, lower);
            load_line(level - 1, z, y + 1, upper);
            for (x = 0; x <= half; x++) {
                even[2 * x] += lower[x];
                even[2 * x + 1] += 0.5 * (lower[x] + lower[x + 1]);
            }
            for (x = 0; x <= half; x++) {
                odd[2 * x] += 0.5 * (lower[x] + upper[x]);
                odd[2 * x + 1] += 0.25 * (lower[x] + lower[x + 1] + upper[x] + upper[x + 1]);
            }
        }
    }
    upc_barrier;
}

static void start(void) {
    clear(SOLUTION, LEVELS);
    residual(LEVELS, RIGHT);
}

static void v_cycle(void) {
    int level;
    for (level = LEVELS - 1; level >= 1; level--) restrict_to(level);
    clear(SOLUTION, 1);
    smooth(1);
    for (level = 2; level <= LEVELS; level++) {
        if (level < LEVELS) clear(SOLUTION, level);
        interpolate(level);
        residual(level, level < LEVELS ? RESIDUAL : RIGHT);
        smooth(level);
    }
    residual(LEVELS, RIGHT);
}

static double norm(void) {
    double sum = 0;
    int x, y, z;
    upc_forall (z = 1; z <= N; z++; planes[RESIDUAL][LEVELS][z])
        for (y = 1; y <= N; y++) {
            const plane_t r = row(RESIDUAL, LEVELS, z, y);
            for (x = 1; x <= N; x++) sum += r[x] * r[x];
        }
    return sqrt(nas_sum(sum) / ((double)N * N * N));
}

int main(void) {
    double seconds, result;
    int k;
    make_grids();
    make_right_side();
    start(); /* as NPB does, so that everything has been touched */
    v_cycle();
    nas_start();
    start();
    (void)norm();
    for (k = 0; k < ITERATIONS; k++) v_cycle();
    result = norm();
    seconds = nas_stop();
    if (MYTHREAD == 0) printf("norm of the residual %.13e, expected %.13e\n", result, expected);
    return nas_end("MG", seconds, 58e-6 * ITERATIONS * N * N * N, nas_close(result, expected));
}
