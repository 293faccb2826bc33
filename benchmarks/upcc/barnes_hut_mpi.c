/* The tree code of barnes_hut.upc in plain MPI, as it is usually parallelised with messages at this size: each rank
 * gathers all bodies, builds the whole tree, and computes the forces on its own bodies. The same lines come out. */
#include "barnes_hut.h"

#include <mpi.h>

static problem_t problem;
static int rank, ranks;
static int per_rank;
static int own_first, own_count;

static body_t* bodies; /* all of them */
static cell_t* cells;
static int cell_count, cell_capacity;
static int *counts, *firsts; /* of each rank, in bytes */

static double phase_seconds[4];
static const char* const phase_names[4] = {"gathering", "tree", "forces", "motion"};

static void fail(const char* what, long value) {
    fprintf(stderr, "rank %d: %s: %ld\n", rank, what, value);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int count_of(int of) {
    const int left = problem.bodies - of * per_rank;
    return left < 0 ? 0 : left < per_rank ? left : per_rank;
}

static void allocate(void) {
    per_rank = (problem.bodies + ranks - 1) / ranks;
    own_first = rank * per_rank;
    own_count = count_of(rank);
    cell_capacity = 2 * problem.bodies + 1000;
    bodies = malloc(sizeof(body_t) * (size_t)problem.bodies);
    cells = malloc(sizeof(cell_t) * (size_t)cell_capacity);
    counts = malloc(sizeof(int) * (size_t)ranks);
    firsts = malloc(sizeof(int) * (size_t)ranks);
    if (bodies == NULL || cells == NULL || counts == NULL || firsts == NULL)
        fail("no memory for bodies", problem.bodies);
    for (int of = 0; of < ranks; ++of) {
        counts[of] = count_of(of) * (int)sizeof(body_t);
        firsts[of] = counts[of] > 0 ? of * per_rank * (int)sizeof(body_t) : 0;
    }
}

/* Links of cells are their numbers, from 1. */
static link_t new_cell(void) {
    if (cell_count == cell_capacity) fail("the tree has too many cells", cell_capacity);
    return ++cell_count;
}
static cell_t* cell_of(link_t link) { return &cells[link - 1]; }

static void insert(int body) {
    link_t here = 1;
    for (;;) {
        cell_t* const cell = cell_of(here);
        const int place = octant(cell->centre, bodies[body].position);
        const link_t found = cell->child[place];
        if (found == 0) {
            cell->child[place] = link_of_body(body);
            return;
        }
        if (found < 0) {
            const link_t link = new_cell();
            cell_t* const child = cell_of(link);
            start_child(child, cell, place);
            if (child->level > deepest_level) fail("two bodies are at one place; one of them is", body);
            child->child[octant(child->centre, bodies[body_of_link(found)].position)] = found;
            cell->child[place] = link;
        }
        here = cell->child[place];
    }
}

static void sum_below(link_t link) {
    cell_t* const cell = cell_of(link);
    cell->bodies = 0;
    for (int child = 0; child < 8; ++child) {
        const link_t below = cell->child[child];
        if (below == 0) continue;
        if (below < 0) {
            const body_t* const body = &bodies[body_of_link(below)];
            memcpy(cell->at[child], body->position, sizeof body->position);
            cell->at[child][3] = body->mass;
            ++cell->bodies;
        } else {
            sum_below(below);
            sum_cell(cell_of(below), cell->at[child]);
            cell->bodies += cell_of(below)->bodies;
        }
    }
}

static void build_tree(void) {
    const double centre[3] = {0, 0, 0};
    cell_count = 0;
    start_cell(cell_of(new_cell()), centre, root_half(farthest(bodies, problem.bodies)), 0);
    for (int body = 0; body < problem.bodies; ++body) insert(body);
    sum_below(1);
    if (cell_of(1)->bodies != problem.bodies) fail("bodies in the tree", cell_of(1)->bodies);
}

static void attract_by_cell(body_t* body, int number, link_t link) {
    const cell_t* const cell = cell_of(link);
    for (int child = 0; child < 8; ++child) {
        const link_t below = cell->child[child];
        if (below == 0 || below == link_of_body(number)) continue;
        if (below < 0 || is_far(&problem, body->position, cell->at[child], cell->half / 2))
            attract(&problem, body, cell->at[child]);
        else attract_by_cell(body, number, below);
    }
}

static void gather(void) {
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, bodies, counts, firsts, MPI_BYTE, MPI_COMM_WORLD);
}

static void find_forces(void) {
    double began = MPI_Wtime();
    gather();
    phase_seconds[0] += MPI_Wtime() - began;
    began = MPI_Wtime();
    build_tree();
    phase_seconds[1] += MPI_Wtime() - began;
    began = MPI_Wtime();
    for (int body = own_first; body < own_first + own_count; ++body) {
        clear_forces(&bodies[body]);
        attract_by_cell(&bodies[body], body, 1);
    }
    phase_seconds[2] += MPI_Wtime() - began;
}

static void move_bodies(int first_half) {
    const double began = MPI_Wtime();
    for (int body = own_first; body < own_first + own_count; ++body) advance(&problem, &bodies[body], first_half);
    phase_seconds[3] += MPI_Wtime() - began;
}

static void tell(int step) {
    gather();
    if (rank != 0) return;
    report(&problem, step, bodies);
    if (step == 0) printf("forces differ from exact ones by %.3e at most\n", error_of_forces(&problem, bodies));
}

static void tell_times(void) {
    double seconds[4];
    MPI_Reduce(phase_seconds, seconds, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int phase = 0; rank == 0 && phase < 4; ++phase) printf("%-10s %9.3f s\n", phase_names[phase], seconds[phase]);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    problem = problem_of(argc, argv);
    allocate();
    for (int body = own_first; body < own_first + own_count; ++body) bodies[body] = plummer(&problem, body);
    find_forces();
    tell(0);
    for (int step = 1; step <= problem.steps; ++step) {
        move_bodies(1);
        find_forces();
        move_bodies(0);
        tell(step);
    }
    if (problem.verbose) tell_times();
    free(bodies);
    free(cells);
    free(counts);
    free(firsts);
    MPI_Finalize();
    return 0;
}
