/* The multigrid solver of multigrid.upc in plain MPI. Which planes a rank sends to whom, in each exchange of each grid,
 * is found once: on coarse grids most ranks have no planes, and the neighbours are far away. The same lines come out.
 */
#include "multigrid.h"

#include <mpi.h>

/* The exchanges of a grid's planes: with those beside own ones, for the next coarser grid, and for the next finer. */
enum { beside, to_coarse, to_fine, exchange_count };

typedef struct send {
    int rank;
    int plane;
} send_t;

typedef struct grid {
    int cells;
    size_t points;
    int first, end;    /* own planes, with those on the surface */
    int inner, behind; /* own planes inside */
    double* own;       /* own planes */
    double* below;     /* copies of the planes beside own ones */
    double* above;
    send_t* sends[exchange_count];
    int send_count[exchange_count];
} grid_t;

static problem_t problem;
static int rank, ranks, levels;
static grid_t grids[most_levels];
static MPI_Request* requests;
static double seconds_of_level[most_levels];

static void* memory(size_t count, size_t bytes) {
    void* const made = calloc(count > 0 ? count : 1, bytes);
    if (made == NULL) {
        fprintf(stderr, "rank %d: no memory for %zu objects of %zu bytes\n", rank, count, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return made;
}

/* --- grids */

static int inner_of(int level, int of) {
    const int first = first_of(&problem, ranks, level, of);
    return first < 1 ? 1 : first;
}
static int behind_of(int level, int of) {
    const int end = first_of(&problem, ranks, level, of + 1), cells = cells_of(&problem, level);
    return end > cells ? cells : end;
}

/* The planes of a grid that a rank needs, own ones or not; whether it needs any. */
static int needs(int exchange, int level, int of, int* low, int* high) {
    const int other = exchange == to_coarse ? level + 1 : exchange == to_fine ? level - 1 : level;
    const int inner = inner_of(other, of), behind = behind_of(other, of);
    if (inner >= behind) return 0;
    *low = exchange == to_coarse ? 2 * inner - 1 : exchange == to_fine ? inner / 2 : inner - 1;
    *high = exchange == to_coarse ? 2 * behind - 1 : exchange == to_fine ? behind / 2 : behind;
    return 1;
}

static int is_own(const grid_t* grid, int z) { return grid->first <= z && z < grid->end; }

static void plan_sends(int exchange, int level) {
    grid_t* const grid = &grids[level];
    const int no_other = (exchange == to_coarse && level + 1 == levels) || (exchange == to_fine && level == 0);
    grid->sends[exchange] = memory(2 * (size_t)ranks, sizeof(send_t));
    grid->send_count[exchange] = 0;
    for (int to = 0; !no_other && to < ranks; ++to) {
        int low, high;
        if (to == rank || !needs(exchange, level, to, &low, &high)) continue;
        if (is_own(grid, low)) grid->sends[exchange][grid->send_count[exchange]++] = (send_t){to, low};
        if (is_own(grid, high) && high != low) grid->sends[exchange][grid->send_count[exchange]++] = (send_t){to, high};
    }
}

static void make_grid(int level) {
    grid_t* const grid = &grids[level];
    grid->cells = cells_of(&problem, level);
    grid->points = points_of(grid->cells);
    grid->first = first_of(&problem, ranks, level, rank);
    grid->end = first_of(&problem, ranks, level, rank + 1);
    grid->inner = inner_of(level, rank);
    grid->behind = behind_of(level, rank);
    grid->below = memory(grid->points, sizeof(double));
    grid->above = memory(grid->points, sizeof(double));
    grid->own = memory((size_t)(grid->end - grid->first) * field_count * grid->points, sizeof(double));
    for (int exchange = 0; exchange < exchange_count; ++exchange) plan_sends(exchange, level);
}

static void release_grid(int level) {
    grid_t* const grid = &grids[level];
    free(grid->own);
    free(grid->below);
    free(grid->above);
    for (int exchange = 0; exchange < exchange_count; ++exchange) free(grid->sends[exchange]);
}

static double* own_plane(const grid_t* grid, int field, int z) {
    return grid->own + ((size_t)(z - grid->first) * field_count + (size_t)field) * grid->points;
}
/* An own plane, or the copy of one beside own ones. */
static const double* seen(const grid_t* grid, int field, int z, int middle) {
    if (is_own(grid, z)) return own_plane(grid, field, z);
    return z < middle ? grid->below : grid->above;
}

/* --- planes of others: messages have the plane as their tag */

static int begin_exchange(int exchange, int level, int field) {
    const grid_t* const grid = &grids[level];
    const int points = (int)grid->points;
    int count = 0, low, high;
    if (needs(exchange, level, rank, &low, &high)) {
        if (!is_own(grid, low))
            MPI_Irecv(grid->below, points, MPI_DOUBLE, owner_of(&problem, ranks, level, low), low, MPI_COMM_WORLD,
                      &requests[count++]);
        if (!is_own(grid, high))
            MPI_Irecv(grid->above, points, MPI_DOUBLE, owner_of(&problem, ranks, level, high), high, MPI_COMM_WORLD,
                      &requests[count++]);
    }
    for (int k = 0; k < grid->send_count[exchange]; ++k) {
        const send_t send = grid->sends[exchange][k];
        MPI_Isend(own_plane(grid, field, send.plane), points, MPI_DOUBLE, send.rank, send.plane, MPI_COMM_WORLD,
                  &requests[count++]);
    }
    return count;
}
static void end_exchange(int count) { MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); }

/* --- on one grid */

static void relax_one(const grid_t* grid, int colour, int z) {
    relax_plane(grid->cells, z, colour, seen(grid, solution, z - 1, z), own_plane(grid, solution, z),
                seen(grid, solution, z + 1, z), own_plane(grid, right_side, z));
}

static void relax(int level) {
    const grid_t* const grid = &grids[level];
    for (int colour = 0; colour < 2; ++colour) {
        const int count = begin_exchange(beside, level, solution);
        for (int z = grid->inner + 1; z < grid->behind - 1; ++z) relax_one(grid, colour, z);
        end_exchange(count);
        if (grid->inner < grid->behind) relax_one(grid, colour, grid->inner);
        if (grid->behind - 1 > grid->inner) relax_one(grid, colour, grid->behind - 1);
    }
}

static void find_residual(int level) {
    const grid_t* const grid = &grids[level];
    end_exchange(begin_exchange(beside, level, solution));
    for (int z = grid->inner; z < grid->behind; ++z)
        residual_of_plane(grid->cells, seen(grid, solution, z - 1, z), own_plane(grid, solution, z),
                          seen(grid, solution, z + 1, z), own_plane(grid, right_side, z), own_plane(grid, residual, z));
}

static void clear_solution(int level) {
    const grid_t* const grid = &grids[level];
    for (int z = grid->first; z < grid->end; ++z)
        memset(own_plane(grid, solution, z), 0, grid->points * sizeof(double));
}

/* --- between grids */

static void restrict_field(int level, int field) {
    const grid_t* const fine = &grids[level];
    const grid_t* const coarse = &grids[level + 1];
    end_exchange(begin_exchange(to_coarse, level, field));
    for (int z = coarse->inner; z < coarse->behind; ++z)
        restrict_plane(coarse->cells, seen(fine, field, 2 * z - 1, 2 * z), own_plane(fine, field, 2 * z),
                       seen(fine, field, 2 * z + 1, 2 * z), own_plane(coarse, right_side, z));
}

static void prolong(int level) {
    const grid_t* const fine = &grids[level];
    const grid_t* const coarse = &grids[level + 1];
    end_exchange(begin_exchange(to_fine, level + 1, solution));
    for (int z = fine->inner; z < fine->behind; ++z) {
        const int low = z / 2, high = (z + 1) / 2;
        const double* const below = seen(coarse, solution, low, low + 1);
        const double* const above = low == high ? below : seen(coarse, solution, high, low);
        prolong_plane(fine->cells, below, above, own_plane(fine, solution, z));
    }
}

/* --- cycles */

static void cycle(int level) {
    const double began = MPI_Wtime();
    if (level == levels - 1) {
        for (int k = 0; k < relaxations_last; ++k) relax(level);
    } else {
        for (int k = 0; k < relaxations_before; ++k) relax(level);
        find_residual(level);
        restrict_field(level, residual);
        clear_solution(level + 1);
        cycle(level + 1);
        prolong(level);
        for (int k = 0; k < relaxations_after; ++k) relax(level);
    }
    seconds_of_level[level] += MPI_Wtime() - began;
}

static void full_multigrid(void) {
    for (int level = 0; level + 1 < levels; ++level) restrict_field(level, right_side);
    for (int level = levels - 1; level >= 0; --level) {
        clear_solution(level);
        if (level + 1 < levels) prolong(level);
        cycle(level);
    }
}

/* --- all */

static void tell(int number) {
    const grid_t* const grid = &grids[0];
    const size_t planes = (size_t)problem.cells + 1;
    double* const squares = memory(planes, sizeof(double));
    double* const all_squares = memory(planes, sizeof(double));
    double error = 0, largest_error;
    find_residual(0);
    for (int z = grid->inner; z < grid->behind; ++z) {
        squares[z] = square_of_plane(grid->cells, own_plane(grid, residual, z));
        error = fmax(error, error_of_plane(grid->cells, z, own_plane(grid, solution, z)));
    }
    /* Each sum has one number that is not 0. */
    MPI_Reduce(squares, all_squares, (int)planes, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&error, &largest_error, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) report(number, norm_of(&problem, all_squares), largest_error);
    free(squares);
    free(all_squares);
}

static void tell_times(void) {
    if (!problem.verbose || rank != 0) return;
    for (int level = 0; level < levels; ++level) {
        const double below = level + 1 < levels ? seconds_of_level[level + 1] : 0;
        printf("grid of %4d cells: %9.4f s\n", grids[level].cells, seconds_of_level[level] - below);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    problem = problem_of(argc, argv);
    levels = levels_of(problem.cells);
    requests = memory(2 * (size_t)ranks + 2, sizeof(MPI_Request));
    for (int level = 0; level < levels; ++level) make_grid(level);
    for (int z = grids[0].inner; z < grids[0].behind; ++z)
        set_right_side(problem.cells, z, own_plane(&grids[0], right_side, z));
    full_multigrid();
    tell(0);
    for (int number = 1; number <= problem.cycles; ++number) {
        cycle(0);
        tell(number);
    }
    tell_times();
    for (int level = 0; level < levels; ++level) release_grid(level);
    free(requests);
    MPI_Finalize();
    return 0;
}
