/* A multigrid solver in UPC. Each grid is cut into runs of planes, one run for each thread. A thread reads a plane of
 * its neighbours by the pointer in a directory, whoever they are: on coarse grids most threads have no planes, and the
 * neighbours are far away. While the first and the last plane wait for theirs, those between are relaxed. */
#include "multigrid.h"

#include <upc_relaxed.h>

#include <upc_collective.h>
#include <upc_nb.h>
#include <upc_tick.h>

typedef shared [] double* plane_pointer;

/* The planes of a thread in one grid, one after the other, each with its fields. */
typedef struct part {
    plane_pointer planes;
    int first;
    int end;
} part_t;
shared [most_levels] part_t parts[THREADS][most_levels];

/* Sums of the residual's squares by plane, and errors, with thread 0. */
shared [] double* shared all_squares;
shared double errors[THREADS];
shared double largest_error;

/* A grid as this thread sees it. */
typedef struct grid {
    int cells;
    size_t points;
    int first, end;      /* own planes, with those on the surface */
    int inner, behind;   /* own planes inside */
    double* own;         /* own planes */
    part_t* directory;   /* parts of all threads */
    double* below;       /* copies of the planes beside own ones */
    double* above;
    upc_handle_t get_below, get_above;
} grid_t;

static problem_t problem;
static int levels;
static grid_t grids[most_levels];
static double seconds_of_level[most_levels];

static void fail(const char* what, long value) {
    fprintf(stderr, "thread %d: %s: %ld\n", MYTHREAD, what, value);
    upc_global_exit(1);
}

/* --- grids */

static void* memory(size_t count, size_t bytes) {
    void* const made = calloc(count > 0 ? count : 1, bytes);
    if (made == NULL) fail("no memory for objects", (long)count);
    return made;
}

static void make_grid(int level) {
    grid_t* const grid = &grids[level];
    grid->cells = cells_of(&problem, level);
    grid->points = points_of(grid->cells);
    grid->first = first_of(&problem, THREADS, level, MYTHREAD);
    grid->end = first_of(&problem, THREADS, level, MYTHREAD + 1);
    grid->inner = grid->first < 1 ? 1 : grid->first;
    grid->behind = grid->end > grid->cells ? grid->cells : grid->end;
    grid->below = memory(grid->points, sizeof(double));
    grid->above = memory(grid->points, sizeof(double));
    grid->get_below = grid->get_above = UPC_COMPLETE_HANDLE;
    const size_t count = (size_t)(grid->end - grid->first) * field_count * grid->points;
    part_t part = {NULL, grid->first, grid->end};
    if (count > 0) {
        part.planes = (plane_pointer)upc_alloc(count * sizeof(double));
        grid->own = (double*)part.planes;
        memset(grid->own, 0, count * sizeof(double));
    }
    parts[MYTHREAD][level] = part;
}

/* After all threads have made theirs. */
static void know_grid(int level) {
    grid_t* const grid = &grids[level];
    grid->directory = memory(THREADS, sizeof(part_t));
    for (int thread = 0; thread < THREADS; ++thread) grid->directory[thread] = parts[thread][level];
}

static void release_grid(int level) {
    grid_t* const grid = &grids[level];
    if (grid->own != NULL) upc_free(parts[MYTHREAD][level].planes);
    free(grid->directory);
    free(grid->below);
    free(grid->above);
}

static int is_own(const grid_t* grid, int z) { return grid->first <= z && z < grid->end; }

/* A field of an own plane. */
static double* own_plane(const grid_t* grid, int field, int z) {
    return grid->own + ((size_t)(z - grid->first) * field_count + field) * grid->points;
}
/* Of any. */
static plane_pointer plane(const grid_t* grid, int level, int field, int z) {
    const part_t* const part = &grid->directory[owner_of(&problem, THREADS, level, z)];
    return part->planes + ((size_t)(z - part->first) * field_count + field) * grid->points;
}

/* --- planes of others */

/* Begins to read the planes `low` and `high`, where they are others'. */
static void begin_reading(int level, int field, int low, int high) {
    grid_t* const grid = &grids[level];
    const size_t bytes = grid->points * sizeof(double);
    if (!is_own(grid, low)) grid->get_below = upc_memget_nb(grid->below, plane(grid, level, field, low), bytes);
    if (!is_own(grid, high)) grid->get_above = upc_memget_nb(grid->above, plane(grid, level, field, high), bytes);
}
static void end_reading(int level) {
    grid_t* const grid = &grids[level];
    if (grid->get_below != UPC_COMPLETE_HANDLE) upc_sync(grid->get_below);
    if (grid->get_above != UPC_COMPLETE_HANDLE) upc_sync(grid->get_above);
    grid->get_below = grid->get_above = UPC_COMPLETE_HANDLE;
}
/* An own plane, or the copy of one beside own ones. */
static const double* seen(const grid_t* grid, int field, int z, int middle) {
    if (is_own(grid, z)) return own_plane(grid, field, z);
    return z < middle ? grid->below : grid->above;
}

/* --- on one grid */

static void relax_one(const grid_t* grid, int colour, int z) {
    relax_plane(grid->cells, z, colour, seen(grid, solution, z - 1, z), own_plane(grid, solution, z),
                seen(grid, solution, z + 1, z), own_plane(grid, right_side, z));
}

/* A neighbour may be changing its points of this colour while its plane is read: only the others are used. */
static void relax(int level) {
    const grid_t* const grid = &grids[level];
    for (int colour = 0; colour < 2; ++colour) {
        if (grid->inner < grid->behind) {
            begin_reading(level, solution, grid->inner - 1, grid->behind);
            for (int z = grid->inner + 1; z < grid->behind - 1; ++z) relax_one(grid, colour, z);
            end_reading(level);
            relax_one(grid, colour, grid->inner);
            if (grid->behind - 1 > grid->inner) relax_one(grid, colour, grid->behind - 1);
        }
        upc_barrier;
    }
}

static void find_residual(int level) {
    const grid_t* const grid = &grids[level];
    if (grid->inner < grid->behind) {
        begin_reading(level, solution, grid->inner - 1, grid->behind);
        end_reading(level);
    }
    for (int z = grid->inner; z < grid->behind; ++z)
        residual_of_plane(grid->cells, seen(grid, solution, z - 1, z), own_plane(grid, solution, z),
                          seen(grid, solution, z + 1, z), own_plane(grid, right_side, z),
                          own_plane(grid, residual, z));
    upc_barrier;
}

static void clear_solution(int level) {
    const grid_t* const grid = &grids[level];
    for (int z = grid->first; z < grid->end; ++z)
        memset(own_plane(grid, solution, z), 0, grid->points * sizeof(double));
}

/* --- between grids */

/* A field of one grid to the right side of the next. */
static void restrict_field(int level, int field) {
    const grid_t* const fine = &grids[level];
    const grid_t* const coarse = &grids[level + 1];
    if (coarse->inner < coarse->behind) {
        begin_reading(level, field, 2 * coarse->inner - 1, 2 * coarse->behind - 1);
        end_reading(level);
    }
    for (int z = coarse->inner; z < coarse->behind; ++z)
        restrict_plane(coarse->cells, seen(fine, field, 2 * z - 1, 2 * z), own_plane(fine, field, 2 * z),
                       seen(fine, field, 2 * z + 1, 2 * z), own_plane(coarse, right_side, z));
    upc_barrier;
}

/* Adds the solution of the next grid. */
static void prolong(int level) {
    const grid_t* const fine = &grids[level];
    const grid_t* const coarse = &grids[level + 1];
    if (fine->inner < fine->behind) {
        begin_reading(level + 1, solution, fine->inner / 2, fine->behind / 2);
        end_reading(level + 1);
    }
    for (int z = fine->inner; z < fine->behind; ++z) {
        const int low = z / 2, high = (z + 1) / 2;
        const double* const below = seen(coarse, solution, low, low + 1);
        const double* const above = low == high ? below : seen(coarse, solution, high, low);
        prolong_plane(fine->cells, below, above, own_plane(fine, solution, z));
    }
    upc_barrier;
}

/* --- cycles */

static void cycle(int level) {
    const upc_tick_t began = upc_ticks_now();
    if (level == levels - 1) {
        for (int k = 0; k < relaxations_last; ++k) relax(level);
    } else {
        for (int k = 0; k < relaxations_before; ++k) relax(level);
        find_residual(level);
        restrict_field(level, residual);
        clear_solution(level + 1);
        upc_barrier;
        cycle(level + 1);
        prolong(level);
        for (int k = 0; k < relaxations_after; ++k) relax(level);
    }
    seconds_of_level[level] += 1e-9 * (double)upc_ticks_to_ns(upc_ticks_now() - began);
}

/* From the coarsest grid to the finest, each with a V-cycle that begins with the solution of the one before. */
static void full_multigrid(void) {
    for (int level = 0; level + 1 < levels; ++level) restrict_field(level, right_side);
    for (int level = levels - 1; level >= 0; --level) {
        clear_solution(level);
        upc_barrier;
        if (level + 1 < levels) prolong(level);
        cycle(level);
    }
}

/* --- all */

static void tell(int number) {
    const grid_t* const grid = &grids[0];
    double error = 0;
    find_residual(0);
    for (int z = grid->inner; z < grid->behind; ++z) {
        all_squares[z] = square_of_plane(grid->cells, own_plane(grid, residual, z));
        error = fmax(error, error_of_plane(grid->cells, z, own_plane(grid, solution, z)));
    }
    errors[MYTHREAD] = error;
    upc_all_reduceD(&largest_error, errors, UPC_MAX, THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    if (MYTHREAD == 0) report(number, norm_of(&problem, (double*)all_squares), largest_error);
    upc_barrier;
}

static void tell_times(void) {
    if (!problem.verbose || MYTHREAD != 0) return;
    for (int level = 0; level < levels; ++level) {
        const double below = level + 1 < levels ? seconds_of_level[level + 1] : 0;
        printf("grid of %4d cells: %9.4f s\n", grids[level].cells, seconds_of_level[level] - below);
    }
}

int main(int argc, char** argv) {
    problem = problem_of(argc, argv);
    levels = levels_of(problem.cells);
    for (int level = 0; level < levels; ++level) make_grid(level);
    if (MYTHREAD == 0) all_squares = (shared [] double*)upc_alloc((problem.cells + 1) * sizeof(double));
    upc_barrier;
    for (int level = 0; level < levels; ++level) know_grid(level);
    for (int z = grids[0].inner; z < grids[0].behind; ++z)
        set_right_side(problem.cells, z, own_plane(&grids[0], right_side, z));
    upc_barrier;
    full_multigrid();
    tell(0);
    for (int number = 1; number <= problem.cycles; ++number) {
        cycle(0);
        tell(number);
    }
    tell_times();
    upc_barrier;
    for (int level = 0; level < levels; ++level) release_grid(level);
    if (MYTHREAD == 0) upc_free(all_squares);
    return 0;
}
