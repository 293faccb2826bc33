/* The tree code of Barnes and Hut in UPC. One tree for all threads: its cells are in shared memory, with the thread
 * that made them, and are put into it under locks. The shape of the tree does not depend on the order of insertion, and
 * sums go over children in their order, so that the result is that of one thread, to the last bit.
 *
 * A step: the size of the root; insertion of all bodies; sums from the leaves up, a level of the tree at a time; forces,
 * by pieces of bodies which idle threads take from others; motion. */
#include "barnes_hut.h"

#include <upc_relaxed.h>

#include <upc_atomic.h>
#include <upc_collective.h>
#include <upc_tick.h>

enum { lock_count = 256, piece = 16, cache_bits = 12 };

typedef shared [] cell_t* cell_pointer;
typedef shared [] body_t* body_pointer;

/* Where each thread's cells and bodies are. */
shared cell_pointer cells_of[THREADS];
shared body_pointer bodies_of[THREADS];

/* For reductions: each thread's value, and all threads' result. */
shared double values[THREADS];
shared double result;

/* The number of the next piece of each thread's bodies that nobody has taken. */
shared int64_t next_piece[THREADS];

shared link_t root;

/* The same in private memory: directories are read often, and never change. */
static cell_pointer* cells;
static body_pointer* bodies;
static upc_lock_t* locks[lock_count];
static upc_atomicdomain_t* counters;

static problem_t problem;
static int per_thread;    /* bodies of each thread but the last ones */
static int own_count;     /* bodies of this thread */
static body_t* own_bodies;
static cell_t* own_cells;
static int cell_capacity;
static int cell_count;    /* cells that this thread has made in this step */
static int deepest;       /* level of any of them */

/* Copies of other threads' cells, for one step. */
typedef struct cached {
    link_t link;
    cell_t cell;
} cached_t;
static cached_t cache[1 << cache_bits];
static long cache_hits, cache_misses;

static upc_tick_t phase_began;
static double phase_seconds[5];
static const char* const phase_names[5] = {"size", "insertion", "sums", "forces", "motion"};

/* --- links */

static link_t link_of_cell(int thread, int number) { return ((link_t)thread << 32 | number) + 1; }
static int thread_of_link(link_t link) { return (int)((link - 1) >> 32); }
static int number_of_link(link_t link) { return (int)((link - 1) & 0xffffffff); }
static cell_pointer cell_of(link_t link) { return &cells[thread_of_link(link)][number_of_link(link)]; }

static int owner_of_body(int body) { return body / per_thread; }
static body_pointer place_of_body(int body) { return &bodies[owner_of_body(body)][body % per_thread]; }
static int count_of(int thread) {
    const int first = thread * per_thread;
    const int left = problem.bodies - first;
    return left < 0 ? 0 : left < per_thread ? left : per_thread;
}

static void fail(const char* what, long value) {
    fprintf(stderr, "thread %d: %s: %ld\n", MYTHREAD, what, value);
    upc_global_exit(1);
}

/* --- set-up */

static void allocate(void) {
    per_thread = (problem.bodies + THREADS - 1) / THREADS;
    own_count = count_of(MYTHREAD);
    cell_capacity = 2 * per_thread + 1000;
    cells = malloc(THREADS * sizeof *cells);
    bodies = malloc(THREADS * sizeof *bodies);
    if (cells == NULL || bodies == NULL) fail("no memory for directories of threads", THREADS);
    cells_of[MYTHREAD] = (cell_pointer)upc_alloc(cell_capacity * sizeof(cell_t));
    bodies_of[MYTHREAD] = (body_pointer)upc_alloc(per_thread * sizeof(body_t));
    upc_barrier;
    for (int thread = 0; thread < THREADS; ++thread) {
        cells[thread] = cells_of[thread];
        bodies[thread] = bodies_of[thread];
    }
    own_cells = (cell_t*)cells[MYTHREAD];
    own_bodies = (body_t*)bodies[MYTHREAD];
    for (int k = 0; k < lock_count; ++k) locks[k] = upc_all_lock_alloc();
    counters = upc_all_atomicdomain_alloc(UPC_INT64, UPC_ADD, 0);
}

static void release(void) {
    upc_barrier;
    upc_all_atomicdomain_free(counters);
    for (int k = 0; k < lock_count; ++k) upc_all_lock_free(locks[k]);
    upc_free(cells_of[MYTHREAD]);
    upc_free(bodies_of[MYTHREAD]);
    free(cells);
    free(bodies);
}

static void make_bodies(void) {
    for (int i = 0; i < own_count; ++i) own_bodies[i] = plummer(&problem, MYTHREAD * per_thread + i);
}

/* --- phases and reductions */

static void begin_phase(void) { phase_began = upc_ticks_now(); }
static void end_phase(int phase) {
    upc_barrier;
    phase_seconds[phase] += 1e-9 * (double)upc_ticks_to_ns(upc_ticks_now() - phase_began);
}

static double reduce(double value, upc_op_t operation) {
    values[MYTHREAD] = value;
    upc_all_reduceD(&result, values, operation, THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    const double all = result;
    upc_barrier;
    return all;
}

/* --- the tree */

static link_t new_cell(const cell_t* cell) {
    if (cell_count == cell_capacity) fail("the tree has too many cells for this thread's part", cell_capacity);
    own_cells[cell_count] = *cell;
    if (cell->level > deepest) deepest = cell->level;
    return link_of_cell(MYTHREAD, cell_count++);
}

static upc_lock_t* lock_of(link_t link) {
    return locks[((uint64_t)link * 0x9e3779b97f4a7c15u) >> 56 & (lock_count - 1)];
}

static void set_size(void) {
    const double half = root_half(reduce(farthest(own_bodies, own_count), UPC_MAX));
    cell_count = 0;
    deepest = 0;
    if (MYTHREAD == 0) {
        const double centre[3] = {0, 0, 0};
        cell_t cell;
        start_cell(&cell, centre, half, 0);
        root = new_cell(&cell);
    }
    next_piece[MYTHREAD] = 0;
    for (int k = 0; k < 1 << cache_bits; ++k) cache[k].link = 0;
}

/* A cell for a place that a body has already, with that body in it. */
static link_t cell_around(const cell_t* parent, int place, int body) {
    cell_t cell;
    double position[3];
    start_child(&cell, parent, place);
    if (cell.level > deepest_level) fail("two bodies are at one place; one of them is", body);
    upc_memget(position, &place_of_body(body)->position, sizeof position);
    cell.child[octant(cell.centre, position)] = link_of_body(body);
    return new_cell(&cell);
}

/* What is in the place: a cell to go on with, or 0 if the body is there now. Another thread may have come first. */
static link_t put_into(link_t here, const cell_t* frame, int place, int body) {
    const cell_pointer cell = cell_of(here);
    upc_lock_t* const lock = lock_of(here);
    upc_lock(lock);
    link_t found = cell->child[place];
    if (found == 0) {
        cell->child[place] = link_of_body(body);
    } else if (found < 0) {
        found = cell_around(frame, place, body_of_link(found));
        upc_fence; /* the cell is whole before others see it */
        cell->child[place] = found;
    }
    upc_unlock(lock);
    return found;
}

static void insert(int body, const double position[3], link_t here, const cell_t* top) {
    cell_t frame = *top; /* what is the same in all threads' eyes: place and size */
    for (;;) {
        const int place = octant(frame.centre, position);
        link_t next = cell_of(here)->child[place];
        if (next <= 0) next = put_into(here, &frame, place, body);
        if (next == 0) return;
        cell_t child;
        start_child(&child, &frame, place);
        frame = child;
        here = next;
    }
}

static void insert_all(void) {
    const link_t top = root;
    cell_t frame;
    upc_memget(&frame, cell_of(top), sizeof frame);
    for (int i = 0; i < own_count; ++i)
        insert(MYTHREAD * per_thread + i, own_bodies[i].position, top, &frame);
}

/* --- sums */

/* The mass and centre of a child, from where it is. */
static int sum_of_child(link_t link, double at[4]) {
    if (link < 0) {
        body_t body;
        upc_memget(&body, place_of_body(body_of_link(link)), sizeof body);
        memcpy(at, body.position, sizeof body.position);
        at[3] = body.mass;
        return 1;
    }
    cell_t cell;
    upc_memget(&cell, cell_of(link), sizeof cell);
    sum_cell(&cell, at);
    return cell.bodies;
}

static void sum_own_cells(int level) {
    for (int number = 0; number < cell_count; ++number) {
        cell_t* const cell = &own_cells[number];
        if (cell->level != level) continue;
        cell->bodies = 0;
        for (int child = 0; child < 8; ++child)
            if (cell->child[child] != 0) cell->bodies += sum_of_child(cell->child[child], cell->at[child]);
    }
}

static void sum_all(void) {
    const int levels = (int)reduce(deepest, UPC_MAX);
    for (int level = levels; level >= 0; --level) {
        sum_own_cells(level);
        upc_barrier level;
    }
    if (MYTHREAD == 0 && own_cells[number_of_link(root)].bodies != problem.bodies)
        fail("bodies in the tree", own_cells[number_of_link(root)].bodies);
}

/* --- forces */

/* The cell itself where it is this thread's, else a copy. */
static const cell_t* look_at(link_t link) {
    if (thread_of_link(link) == MYTHREAD) return &own_cells[number_of_link(link)];
    cached_t* const place = &cache[((uint64_t)link * 0x9e3779b97f4a7c15u) >> (64 - cache_bits)];
    if (place->link == link) {
        ++cache_hits;
        return &place->cell;
    }
    ++cache_misses;
    upc_memget(&place->cell, cell_of(link), sizeof place->cell);
    place->link = link;
    return &place->cell;
}

/* The children of the cell from `first` on, of which those that are near are opened. A cell in the cache may be
 * replaced below: what is needed of it is copied. */
static void attract_by_cell(body_t* body, int number, link_t link) {
    const cell_t cell = *look_at(link);
    for (int child = 0; child < 8; ++child) {
        const link_t below = cell.child[child];
        if (below == 0 || below == link_of_body(number)) continue;
        if (below < 0 || is_far(&problem, body->position, cell.at[child], cell.half / 2))
            attract(&problem, body, cell.at[child]);
        else attract_by_cell(body, number, below);
    }
}

static void forces_of_piece(int thread, int first) {
    const int left = count_of(thread) - first;
    const int count = left < piece ? left : piece;
    body_t copies[piece];
    body_t* const part = thread == MYTHREAD ? own_bodies + first : copies;
    if (thread != MYTHREAD) upc_memget(copies, &bodies[thread][first], count * sizeof(body_t));
    const link_t top = root;
    for (int i = 0; i < count; ++i) {
        clear_forces(&part[i]);
        attract_by_cell(&part[i], thread * per_thread + first + i, top);
    }
    if (thread != MYTHREAD) upc_memput(&bodies[thread][first], copies, count * sizeof(body_t));
}

/* Own pieces first, and then those of the next threads. */
static int forces(void) {
    int taken = 0;
    for (int distance = 0; distance < THREADS; ++distance) {
        const int thread = (MYTHREAD + distance) % THREADS;
        for (;;) {
            int64_t number;
            const int64_t one = 1;
            upc_atomic_relaxed(counters, &number, UPC_ADD, &next_piece[thread], &one, NULL);
            if (number * piece >= count_of(thread)) break;
            forces_of_piece(thread, (int)number * piece);
            taken += distance > 0;
        }
    }
    return taken;
}

/* --- all */

/* Once the forces are known: thread 0 sees all bodies in their order. */
static void tell(int step) {
    upc_barrier;
    if (MYTHREAD == 0) {
        body_t* const all = malloc(problem.bodies * sizeof *all);
        if (all == NULL) fail("no memory for bodies", problem.bodies);
        for (int thread = 0; thread < THREADS; ++thread)
            if (count_of(thread) > 0)
                upc_memget(all + thread * per_thread, bodies[thread], count_of(thread) * sizeof *all);
        report(&problem, step, all);
        if (step == 0) printf("forces differ from exact ones by %.3e at most\n", error_of_forces(&problem, all));
        free(all);
    }
    upc_barrier;
}

static void find_forces(void) {
    begin_phase();
    set_size();
    end_phase(0);
    begin_phase();
    insert_all();
    end_phase(1);
    begin_phase();
    sum_all();
    end_phase(2);
    begin_phase();
    const int taken = forces();
    end_phase(3);
    const double pieces = reduce(taken, UPC_ADD);
    if (problem.verbose && MYTHREAD == 0) printf("%.0f pieces were taken over from other threads\n", pieces);
}

static void move_bodies(int first_half) {
    begin_phase();
    for (int i = 0; i < own_count; ++i) advance(&problem, &own_bodies[i], first_half);
    end_phase(4);
}

static void tell_times(void) {
    if (!problem.verbose) return;
    for (int phase = 0; phase < 5; ++phase) {
        const double seconds = reduce(phase_seconds[phase], UPC_MAX);
        if (MYTHREAD == 0) printf("%-10s %9.3f s\n", phase_names[phase], seconds);
    }
    const double hits = reduce((double)cache_hits, UPC_ADD);
    const double misses = reduce((double)cache_misses, UPC_ADD);
    if (MYTHREAD == 0) printf("cells of other threads: %.0f reads, of which %.0f from the cache\n", hits + misses, hits);
}

int main(int argc, char** argv) {
    problem = problem_of(argc, argv);
    allocate();
    make_bodies();
    upc_barrier;
    find_forces();
    tell(0);
    for (int step = 1; step <= problem.steps; ++step) {
        move_bodies(1);
        find_forces();
        move_bodies(0);
        tell(step);
    }
    tell_times();
    release();
    return 0;
}
