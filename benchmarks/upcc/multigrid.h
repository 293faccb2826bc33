/* What both versions of the multigrid solver have in common: the problem, and what is done with one plane of a grid, so
 * that the results agree to the last bit. W. L. Briggs, V. E. Henson and S. F. McCormick, "A Multigrid Tutorial",
 * second edition, SIAM 2000: full multigrid with V-cycles, red-black relaxation, full weighting, and trilinear
 * interpolation.
 *
 * The problem is -div grad u = f in the unit cube, u = 0 on its surface, with the usual seven-point differences on
 * n * n * n cells. A plane has (n + 1) * (n + 1) points of one z. f is that of u = x(1-x) y(1-y) z(1-z), which the
 * differences have as their exact solution. */
#ifndef MULTIGRID_H
#define MULTIGRID_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_levels = 12, relaxations_before = 2, relaxations_after = 1, relaxations_last = 1 };

/* The fields of a grid. */
enum { solution, right_side, residual, field_count };

typedef struct problem {
    int cells;  /* of the finest grid, along an edge: a power of two */
    int cycles; /* after the full multigrid */
    int verbose;
} problem_t;

static inline problem_t problem_of(int argc, char** argv) {
    problem_t problem = {32, 4, 0};
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "-n") == 0) problem.cells = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "-c") == 0) problem.cycles = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "-v") == 0) problem.verbose = atoi(argv[k + 1]);
        else problem.cells = 0;
    }
    const int cells = problem.cells;
    if (cells < 4 || cells > 2048 || (cells & (cells - 1)) != 0 || problem.cycles < 0 || argc % 2 == 0) {
        fprintf(stderr, "usage: %s [-n cells, a power of two from 4 to 2048] [-c cycles] [-v 1: times]\n", argv[0]);
        exit(2);
    }
    return problem;
}

/* Level 0 is the finest; the coarsest has one point inside. */
static inline int levels_of(int cells) {
    int levels = 1;
    for (; cells > 2; cells /= 2) ++levels;
    return levels;
}
static inline int cells_of(const problem_t* problem, int level) { return problem->cells >> level; }
static inline size_t points_of(int cells) { return (size_t)(cells + 1) * (size_t)(cells + 1); }
/* Of a plane; planes 0 and n are on the surface, and belong to those beside them. Plane k of a coarse grid is with
 * plane 2k of the finer one. */
static inline int owner_of(const problem_t* problem, int parts, int level, int z) {
    const int fine = z << level;
    return (int)((long)fine * parts / (problem->cells + 1));
}
/* The first plane of a part; that of part `parts` follows the last. */
static inline int first_of(const problem_t* problem, int parts, int level, int part) {
    const long fine = ((long)part * (problem->cells + 1) + parts - 1) / parts; /* the least with fine * parts >= ... */
    return (int)((fine + (1L << level) - 1) >> level);
}

static inline double bump(double x) { return x * (1 - x); }
static inline double exact(double x, double y, double z) { return bump(x) * bump(y) * bump(z); }

static inline void set_right_side(int cells, int z, double* f) {
    const double h = 1.0 / cells;
    for (int y = 1; y < cells; ++y)
        for (int x = 1; x < cells; ++x)
            f[y * (cells + 1) + x] =
                2 * (bump(y * h) * bump(z * h) + bump(x * h) * bump(z * h) + bump(x * h) * bump(y * h));
}

/* The points of one colour: those with x + y + z even, or odd. */
static inline void relax_plane(int cells, int z, int colour, const double* below, double* u, const double* above,
                               const double* f) {
    const int row = cells + 1;
    const double square = 1.0 / ((double)cells * cells);
    for (int y = 1; y < cells; ++y)
        for (int x = 1 + ((y + z + colour + 1) & 1); x < cells; x += 2) {
            const int at = y * row + x;
            u[at] = (u[at - 1] + u[at + 1] + u[at - row] + u[at + row] + below[at] + above[at] + square * f[at]) / 6;
        }
}

static inline void residual_of_plane(int cells, const double* below, const double* u, const double* above,
                                     const double* f, double* r) {
    const int row = cells + 1;
    const double inverse = (double)cells * cells;
    for (int y = 1; y < cells; ++y)
        for (int x = 1; x < cells; ++x) {
            const int at = y * row + x;
            const double sum = u[at - 1] + u[at + 1] + u[at - row] + u[at + row] + below[at] + above[at];
            r[at] = f[at] - inverse * (6 * u[at] - sum);
        }
}

/* Weights 1, 2, 1 along each axis. */
static inline double nine_points(const double* r, int row, int at) {
    return 4 * r[at] + 2 * (r[at - 1] + r[at + 1] + r[at - row] + r[at + row]) + r[at - row - 1] + r[at - row + 1] +
           r[at + row - 1] + r[at + row + 1];
}
/* A plane of the coarse grid with `cells` cells, from three of the finer one. */
static inline void restrict_plane(int cells, const double* below, const double* r, const double* above,
                                  double* coarse) {
    const int row = 2 * cells + 1;
    for (int y = 1; y < cells; ++y)
        for (int x = 1; x < cells; ++x) {
            const int at = 2 * y * row + 2 * x;
            coarse[y * (cells + 1) + x] =
                (2 * nine_points(r, row, at) + nine_points(below, row, at) + nine_points(above, row, at)) / 64;
        }
}

/* Adds to a plane of the fine grid, with `cells` cells, what is between two of the coarse one; both are the same where
 * the plane is in both grids. */
static inline void prolong_plane(int cells, const double* below, const double* above, double* u) {
    const int row = cells + 1, coarse_row = cells / 2 + 1;
    for (int y = 1; y < cells; ++y)
        for (int x = 1; x < cells; ++x) {
            const int left = x / 2, right = (x + 1) / 2, low = y / 2 * coarse_row, high = (y + 1) / 2 * coarse_row;
            const double sum_below = below[low + left] + below[low + right] + below[high + left] + below[high + right];
            const double sum_above = above[low + left] + above[low + right] + above[high + left] + above[high + right];
            u[y * row + x] += (sum_below + sum_above) / 8;
        }
}

static inline double square_of_plane(int cells, const double* r) {
    double sum = 0;
    for (int y = 1; y < cells; ++y)
        for (int x = 1; x < cells; ++x) sum += r[y * (cells + 1) + x] * r[y * (cells + 1) + x];
    return sum;
}
static inline double error_of_plane(int cells, int z, const double* u) {
    const double h = 1.0 / cells;
    double worst = 0;
    for (int y = 1; y < cells; ++y)
        for (int x = 1; x < cells; ++x) worst = fmax(worst, fabs(u[y * (cells + 1) + x] - exact(x * h, y * h, z * h)));
    return worst;
}

/* One line a cycle, which a test compares; the sums of planes are added in their order. */
static inline double norm_of(const problem_t* problem, const double* squares) {
    double sum = 0;
    for (int z = 1; z < problem->cells; ++z) sum += squares[z];
    return sqrt(sum / pow(problem->cells, 3));
}
static inline void report(int cycle, double norm, double error) {
    printf("cycle %d: the residual is %.15e, the error at most %.15e\n", cycle, norm, error);
}

#endif
