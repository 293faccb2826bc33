/* A graph in shared memory: breadth-first searches, connected components, and triangles. Vertices are told things by
 * pairs, which a thread gathers for each other thread and writes in pieces into its inbox, at a place that it gets from
 * an atomic counter. Neighbours of other threads' vertices, for triangles, are read where they are. */
#include "graph.h"

#include <upc_relaxed.h>

#include <upc_atomic.h>
#include <upc_collective.h>
#include <upc_tick.h>

enum { piece = 128 }; /* pairs that are written at once */

typedef shared [] pair_t* pairs_pointer;
typedef shared [] int64_t* numbers_pointer;

/* What each thread has for others to see. */
typedef struct visible {
    numbers_pointer begin;
    numbers_pointer neighbours;
    pairs_pointer inbox;
} visible_t;
shared visible_t visible[THREADS];
shared int64_t inbox_count[THREADS];

shared int64_t values[THREADS];
shared int64_t result;

static problem_t problem;
static visible_t* seen; /* visible, in private memory */
static part_t part;
static pair_t* inbox; /* of this thread */
static int64_t inbox_capacity;
static upc_atomicdomain_t* counters;

/* Pairs on their way, `piece` for each thread. */
static pair_t* outgoing;
static int* outgoing_count;

static upc_tick_t began;

/* --- all threads together */

static void fail(const char* what, long value) {
    fprintf(stderr, "thread %d: %s: %ld\n", MYTHREAD, what, value);
    upc_global_exit(1);
}

static void* memory(int64_t count, size_t bytes) {
    void* const made = calloc(count > 0 ? (size_t)count : 1, bytes);
    if (made == NULL) fail("no memory for objects", (long)count);
    return made;
}

static int64_t reduce(int64_t value, upc_op_t operation) {
    values[MYTHREAD] = value;
    upc_all_reduceL(&result, values, operation, THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    const int64_t all = result;
    upc_barrier;
    return all;
}

static void begin(void) {
    upc_barrier;
    began = upc_ticks_now();
}
static void end(const char* what) {
    upc_barrier;
    if (problem.verbose && MYTHREAD == 0)
        printf("%-12s %9.4f s\n", what, 1e-9 * (double)upc_ticks_to_ns(upc_ticks_now() - began));
}

static int owner_of(int64_t vertex) { return (int)(vertex % THREADS); }

/* --- pairs for other threads */

static void write_pairs(int to) {
    const int64_t count = outgoing_count[to];
    int64_t at;
    if (count == 0) return;
    upc_atomic_relaxed(counters, &at, UPC_ADD, &inbox_count[to], &count, NULL);
    upc_memput(&seen[to].inbox[at], &outgoing[to * piece], (size_t)count * sizeof(pair_t));
    outgoing_count[to] = 0;
}

static void tell(int64_t vertex, int64_t value) {
    const int to = owner_of(vertex);
    outgoing[to * piece + outgoing_count[to]++] = (pair_t){vertex, value};
    if (outgoing_count[to] == piece) write_pairs(to);
}

/* All that was told is there; returns how many pairs this thread has. The inbox is free again after forget(). */
static int64_t hear(void) {
    for (int distance = 0; distance < THREADS; ++distance) write_pairs((MYTHREAD + distance) % THREADS);
    upc_barrier;
    if (inbox_count[MYTHREAD] > inbox_capacity) fail("pairs in an inbox that is too small", inbox_count[MYTHREAD]);
    return inbox_count[MYTHREAD];
}
static void forget(void) {
    inbox_count[MYTHREAD] = 0;
    upc_barrier;
}

/* --- the graph */

/* How many edges each thread will write to each other one, and where: an exchange of counts, and one of places. */
static int64_t places_of_edges(int64_t first, int64_t end, int64_t* places) {
    const size_t row = THREADS * sizeof(int64_t);
    shared int64_t* const counts = upc_all_alloc(THREADS, row);
    shared int64_t* const arriving = upc_all_alloc(THREADS, row);
    int64_t* const own_counts = (int64_t*)(counts + MYTHREAD);
    int64_t* const own_arriving = (int64_t*)(arriving + MYTHREAD);
    int64_t all = 0;
    memset(own_counts, 0, row);
    for (int64_t number = first; number < end; ++number) {
        const pair_t one = edge(&problem, number);
        ++own_counts[owner_of(one.vertex)];
        ++own_counts[owner_of(one.value)];
    }
    upc_all_exchange(arriving, counts, sizeof(int64_t), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    for (int thread = 0; thread < THREADS; ++thread) {
        const int64_t count = own_arriving[thread];
        own_arriving[thread] = all;
        all += count;
    }
    upc_all_exchange(counts, arriving, sizeof(int64_t), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    memcpy(places, own_counts, row);
    upc_all_free(counts);
    upc_all_free(arriving);
    return all;
}

static void write_edges(int64_t first, int64_t end, pairs_pointer* lists, int64_t* places) {
    for (int64_t number = first; number < end; ++number) {
        const pair_t one = edge(&problem, number);
        const int from = owner_of(one.vertex), to = owner_of(one.value);
        lists[from][places[from]++] = one;
        lists[to][places[to]++] = (pair_t){one.value, one.vertex};
    }
    upc_barrier;
}

/* Puts what others read into shared memory. */
static void show_part(void) {
    const int64_t arcs = part.begin[part.vertices];
    visible_t own;
    own.begin = (numbers_pointer)upc_alloc((size_t)(part.vertices + 1) * sizeof(int64_t));
    own.neighbours = (numbers_pointer)upc_alloc((size_t)(arcs + 1) * sizeof(int64_t));
    inbox_capacity = arcs + 1; /* each arc tells its end one thing at a time */
    own.inbox = (pairs_pointer)upc_alloc((size_t)inbox_capacity * sizeof(pair_t));
    upc_memput(own.begin, part.begin, (size_t)(part.vertices + 1) * sizeof(int64_t));
    upc_memput(own.neighbours, part.neighbours, (size_t)arcs * sizeof(int64_t));
    free(part.begin);
    free(part.neighbours);
    part.begin = (int64_t*)own.begin;
    part.neighbours = (int64_t*)own.neighbours;
    inbox = (pair_t*)own.inbox;
    visible[MYTHREAD] = own;
    inbox_count[MYTHREAD] = 0;
    upc_barrier;
    for (int thread = 0; thread < THREADS; ++thread) seen[thread] = visible[thread];
}

static void make_graph(void) {
    const int64_t edges = edges_of(&problem);
    const int64_t first = edges * MYTHREAD / THREADS, end = edges * (MYTHREAD + 1) / THREADS;
    int64_t* const places = memory(THREADS, sizeof(int64_t));
    pairs_pointer* const lists = memory(THREADS, sizeof(pairs_pointer));
    const int64_t count = places_of_edges(first, end, places);
    visible[MYTHREAD].inbox = (pairs_pointer)upc_alloc((size_t)(count + 1) * sizeof(pair_t));
    upc_barrier;
    for (int thread = 0; thread < THREADS; ++thread) lists[thread] = visible[thread].inbox;
    write_edges(first, end, lists, places);
    part = part_of(&problem, THREADS, MYTHREAD, (pair_t*)lists[MYTHREAD], count);
    if (part.begin == NULL || part.neighbours == NULL) fail("no memory for edges", (long)count);
    upc_free(lists[MYTHREAD]);
    show_part();
    free(places);
    free(lists);
}

static void release_graph(void) {
    upc_barrier;
    upc_free(seen[MYTHREAD].begin);
    upc_free(seen[MYTHREAD].neighbours);
    upc_free(seen[MYTHREAD].inbox);
    upc_all_atomicdomain_free(counters);
    free(seen);
    free(outgoing);
    free(outgoing_count);
}

static int64_t degree_of(int64_t own) { return part.begin[own + 1] - part.begin[own]; }

static void tell_neighbours(int64_t own, int64_t value) {
    for (int64_t k = part.begin[own]; k < part.begin[own + 1]; ++k) tell(part.neighbours[k], value);
}

static void tell_of_graph(void) {
    int64_t largest = 0;
    for (int64_t own = 0; own < part.vertices; ++own)
        if (degree_of(own) > largest) largest = degree_of(own);
    largest = reduce(largest, UPC_MAX);
    const int64_t arcs = reduce(part.begin[part.vertices], UPC_ADD);
    if (MYTHREAD == 0)
        printf("%lld vertices, %lld edges, at most %lld of a vertex\n", (long long)vertices_of(&problem),
               (long long)arcs / 2, (long long)largest);
}

/* --- breadth-first search */

/* The first vertex after `after` that has an edge. */
static int64_t next_root(int64_t after) {
    int64_t found = INT64_MAX;
    for (int64_t own = part.vertices - 1; own >= 0; --own) {
        const int64_t vertex = own * THREADS + MYTHREAD;
        if (vertex > after && degree_of(own) > 0) found = vertex;
    }
    return reduce(found, UPC_MIN);
}

/* Vertices that were told of by a parent; of several the smallest is theirs. Returns how many are new. */
static int64_t visit(int64_t pairs, int64_t level, int64_t* levels, int64_t* parents, int64_t* frontier) {
    int64_t count = 0;
    for (int64_t k = 0; k < pairs; ++k) {
        const int64_t own = inbox[k].vertex / THREADS;
        if (levels[own] == none) {
            levels[own] = level;
            parents[own] = inbox[k].value;
            frontier[count++] = own;
        } else if (levels[own] == level && inbox[k].value < parents[own]) {
            parents[own] = inbox[k].value;
        }
    }
    return count;
}

static void search(int64_t root) {
    int64_t* const levels = memory(part.vertices, sizeof(int64_t));
    int64_t* const parents = memory(part.vertices, sizeof(int64_t));
    int64_t* const frontier = memory(part.vertices, sizeof(int64_t));
    int64_t count = 0, level = 0, reached = 0;
    uint64_t hash = 0;
    for (int64_t own = 0; own < part.vertices; ++own) levels[own] = parents[own] = none;
    if (owner_of(root) == MYTHREAD) {
        levels[root / THREADS] = 0;
        parents[root / THREADS] = root;
        frontier[count++] = root / THREADS;
    }
    while (reduce(count, UPC_ADD) > 0) {
        for (int64_t k = 0; k < count; ++k) tell_neighbours(frontier[k], frontier[k] * THREADS + MYTHREAD);
        const int64_t pairs = hear();
        count = visit(pairs, ++level, levels, parents, frontier);
        forget();
    }
    for (int64_t own = 0; own < part.vertices; ++own) {
        reached += levels[own] != none;
        hash += search_hash(own * THREADS + MYTHREAD, levels[own], parents[own]);
    }
    reached = reduce(reached, UPC_ADD);
    hash = (uint64_t)reduce((int64_t)hash, UPC_ADD);
    if (MYTHREAD == 0)
        printf("from %lld: %lld vertices in %lld levels, %016llx\n", (long long)root, (long long)reached,
               (long long)level, (unsigned long long)hash);
    free(levels);
    free(parents);
    free(frontier);
}

/* --- connected components */

/* Each vertex begins with its own number, and takes the smallest that it is told of. */
static void components(void) {
    int64_t* const labels = memory(part.vertices, sizeof(int64_t));
    char* const changed = memory(part.vertices, 1);
    int64_t active = part.vertices, own_roots = 0, rounds = 0;
    uint64_t hash = 0;
    for (int64_t own = 0; own < part.vertices; ++own) {
        labels[own] = own * THREADS + MYTHREAD;
        changed[own] = 1;
    }
    for (; reduce(active, UPC_ADD) > 0; ++rounds) {
        for (int64_t own = 0; own < part.vertices; ++own)
            if (changed[own]) tell_neighbours(own, labels[own]);
        memset(changed, 0, (size_t)part.vertices);
        active = 0;
        const int64_t pairs = hear();
        for (int64_t k = 0; k < pairs; ++k) {
            const int64_t own = inbox[k].vertex / THREADS;
            if (inbox[k].value >= labels[own]) continue;
            labels[own] = inbox[k].value;
            active += !changed[own];
            changed[own] = 1;
        }
        forget();
    }
    for (int64_t own = 0; own < part.vertices; ++own) {
        own_roots += labels[own] == own * THREADS + MYTHREAD;
        hash += search_hash(own * THREADS + MYTHREAD, labels[own], 0);
    }
    own_roots = reduce(own_roots, UPC_ADD);
    hash = (uint64_t)reduce((int64_t)hash, UPC_ADD);
    if (MYTHREAD == 0)
        printf("%lld components in %lld rounds, %016llx\n", (long long)own_roots, (long long)rounds,
               (unsigned long long)hash);
    free(labels);
    free(changed);
}

/* --- triangles */

/* The larger neighbours of a vertex, wherever it is; `list` has room for `room` of them, and grows. */
static int64_t larger_neighbours(int64_t vertex, int64_t** list, int64_t* room) {
    const visible_t* const there = &seen[owner_of(vertex)];
    int64_t ends[2];
    upc_memget(ends, &there->begin[vertex / THREADS], sizeof ends);
    const int64_t count = ends[1] - ends[0];
    if (count > *room) {
        *room = 2 * count;
        *list = realloc(*list, (size_t)*room * sizeof(int64_t));
        if (*list == NULL) fail("no memory for neighbours", (long)count);
    }
    upc_memget(*list, &there->neighbours[ends[0]], (size_t)count * sizeof(int64_t));
    const int64_t first = first_larger(*list, count, vertex);
    memmove(*list, *list + first, (size_t)(count - first) * sizeof(int64_t));
    return count - first;
}

/* Each triangle u < v < w once: at the edge from u to v, where w is a neighbour of both. */
static void triangles(void) {
    int64_t found = 0, room = 1;
    int64_t* list = memory(room, sizeof(int64_t));
    for (int64_t own = 0; own < part.vertices; ++own) {
        const int64_t* const neighbours = part.neighbours + part.begin[own];
        const int64_t degree = degree_of(own);
        for (int64_t k = first_larger(neighbours, degree, own * THREADS + MYTHREAD); k + 1 < degree; ++k) {
            const int64_t count = larger_neighbours(neighbours[k], &list, &room);
            found += common(neighbours + k + 1, degree - k - 1, list, count);
        }
    }
    found = reduce(found, UPC_ADD);
    if (MYTHREAD == 0) printf("%lld triangles\n", (long long)found);
    free(list);
}

int main(int argc, char** argv) {
    problem = problem_of(argc, argv);
    seen = memory(THREADS, sizeof(visible_t));
    outgoing = memory((int64_t)THREADS * piece, sizeof(pair_t));
    outgoing_count = memory(THREADS, sizeof(int));
    counters = upc_all_atomicdomain_alloc(UPC_INT64, UPC_ADD, 0);
    begin();
    make_graph();
    end("graph");
    tell_of_graph();
    begin();
    for (int64_t root = none, k = 0; k < searches; ++k) {
        root = next_root(root);
        if (root != INT64_MAX) search(root);
    }
    end("searches");
    begin();
    components();
    end("components");
    begin();
    triangles();
    end("triangles");
    release_graph();
    return 0;
}
