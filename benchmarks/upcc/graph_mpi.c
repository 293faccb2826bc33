/* The graph program of graph.upc in plain MPI: what vertices are told is exchanged by all ranks together. Triangles are
 * found by asking the owner of a vertex whether it has a neighbour. The same lines come out. */
#include "graph.h"

#include <mpi.h>

enum { batch = 1 << 16 }; /* questions of a rank at a time */

/* Pairs on their way to a rank. */
typedef struct list {
    pair_t* pairs;
    int64_t count, room;
} list_t;

static problem_t problem;
static int rank, ranks;
static part_t part;
static list_t* outgoing;
static pair_t* inbox;
static int *send_counts, *send_places, *counts, *places; /* of the exchange, in bytes */
static double began;

/* --- all ranks together */

static void* memory(int64_t count, size_t bytes) {
    void* const made = calloc(count > 0 ? (size_t)count : 1, bytes);
    if (made == NULL) {
        fprintf(stderr, "rank %d: no memory for %lld objects of %zu bytes\n", rank, (long long)count, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return made;
}

static int64_t reduce(int64_t value, MPI_Op operation) {
    int64_t all;
    MPI_Allreduce(&value, &all, 1, MPI_INT64_T, operation, MPI_COMM_WORLD);
    return all;
}

static void begin(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    began = MPI_Wtime();
}
static void end(const char* what) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (problem.verbose && rank == 0) printf("%-12s %9.4f s\n", what, MPI_Wtime() - began);
}

static int owner_of(int64_t vertex) { return (int)(vertex % ranks); }

static void tell(int64_t vertex, int64_t value) {
    list_t* const list = &outgoing[owner_of(vertex)];
    if (list->count == list->room) {
        list->room = 2 * list->room + 16;
        list->pairs = realloc(list->pairs, (size_t)list->room * sizeof(pair_t));
        if (list->pairs == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    list->pairs[list->count++] = (pair_t){vertex, value};
}

/* Exchanges what was told; returns how many pairs are in the inbox now. */
static int64_t hear(void) {
    int sent = 0, received = 0;
    for (int to = 0; to < ranks; ++to) {
        send_counts[to] = (int)(outgoing[to].count * (int64_t)sizeof(pair_t));
        send_places[to] = sent;
        sent += send_counts[to];
    }
    MPI_Alltoall(send_counts, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int from = 0; from < ranks; ++from) {
        places[from] = received;
        received += counts[from];
    }
    char* const out = memory(sent, 1);
    for (int to = 0; to < ranks; ++to) {
        if (send_counts[to] > 0) memcpy(out + send_places[to], outgoing[to].pairs, (size_t)send_counts[to]);
        outgoing[to].count = 0;
    }
    free(inbox);
    inbox = memory(received, 1);
    MPI_Alltoallv(out, send_counts, send_places, MPI_BYTE, inbox, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    free(out);
    return received / (int64_t)sizeof(pair_t);
}

/* --- the graph */

static void make_graph(void) {
    const int64_t edges = edges_of(&problem);
    for (int64_t number = edges * rank / ranks; number < edges * (rank + 1) / ranks; ++number) {
        const pair_t one = edge(&problem, number);
        tell(one.vertex, one.value);
        tell(one.value, one.vertex);
    }
    const int64_t count = hear();
    part = part_of(&problem, ranks, rank, inbox, count);
    if (part.begin == NULL || part.neighbours == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
}

static int64_t degree_of(int64_t own) { return part.begin[own + 1] - part.begin[own]; }

static void tell_neighbours(int64_t own, int64_t value) {
    for (int64_t k = part.begin[own]; k < part.begin[own + 1]; ++k) tell(part.neighbours[k], value);
}

static void tell_of_graph(void) {
    int64_t largest = 0;
    for (int64_t own = 0; own < part.vertices; ++own)
        if (degree_of(own) > largest) largest = degree_of(own);
    largest = reduce(largest, MPI_MAX);
    const int64_t arcs = reduce(part.begin[part.vertices], MPI_SUM);
    if (rank == 0)
        printf("%lld vertices, %lld edges, at most %lld of a vertex\n", (long long)vertices_of(&problem),
               (long long)arcs / 2, (long long)largest);
}

/* --- breadth-first search */

static int64_t next_root(int64_t after) {
    int64_t found = INT64_MAX;
    for (int64_t own = part.vertices - 1; own >= 0; --own) {
        const int64_t vertex = own * ranks + rank;
        if (vertex > after && degree_of(own) > 0) found = vertex;
    }
    return reduce(found, MPI_MIN);
}

static int64_t visit(int64_t pairs, int64_t level, int64_t* levels, int64_t* parents, int64_t* frontier) {
    int64_t count = 0;
    for (int64_t k = 0; k < pairs; ++k) {
        const int64_t own = inbox[k].vertex / ranks;
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
    if (owner_of(root) == rank) {
        levels[root / ranks] = 0;
        parents[root / ranks] = root;
        frontier[count++] = root / ranks;
    }
    while (reduce(count, MPI_SUM) > 0) {
        for (int64_t k = 0; k < count; ++k) tell_neighbours(frontier[k], frontier[k] * ranks + rank);
        const int64_t pairs = hear();
        count = visit(pairs, ++level, levels, parents, frontier);
    }
    for (int64_t own = 0; own < part.vertices; ++own) {
        reached += levels[own] != none;
        hash += search_hash(own * ranks + rank, levels[own], parents[own]);
    }
    reached = reduce(reached, MPI_SUM);
    hash = (uint64_t)reduce((int64_t)hash, MPI_SUM);
    if (rank == 0)
        printf("from %lld: %lld vertices in %lld levels, %016llx\n", (long long)root, (long long)reached,
               (long long)level, (unsigned long long)hash);
    free(levels);
    free(parents);
    free(frontier);
}

/* --- connected components */

static void components(void) {
    int64_t* const labels = memory(part.vertices, sizeof(int64_t));
    char* const changed = memory(part.vertices, 1);
    int64_t active = part.vertices, own_roots = 0, rounds = 0;
    uint64_t hash = 0;
    for (int64_t own = 0; own < part.vertices; ++own) {
        labels[own] = own * ranks + rank;
        changed[own] = 1;
    }
    for (; reduce(active, MPI_SUM) > 0; ++rounds) {
        for (int64_t own = 0; own < part.vertices; ++own)
            if (changed[own]) tell_neighbours(own, labels[own]);
        memset(changed, 0, (size_t)part.vertices);
        active = 0;
        const int64_t pairs = hear();
        for (int64_t k = 0; k < pairs; ++k) {
            const int64_t own = inbox[k].vertex / ranks;
            if (inbox[k].value >= labels[own]) continue;
            labels[own] = inbox[k].value;
            active += !changed[own];
            changed[own] = 1;
        }
    }
    for (int64_t own = 0; own < part.vertices; ++own) {
        own_roots += labels[own] == own * ranks + rank;
        hash += search_hash(own * ranks + rank, labels[own], 0);
    }
    own_roots = reduce(own_roots, MPI_SUM);
    hash = (uint64_t)reduce((int64_t)hash, MPI_SUM);
    if (rank == 0)
        printf("%lld components in %lld rounds, %016llx\n", (long long)own_roots, (long long)rounds,
               (unsigned long long)hash);
    free(labels);
    free(changed);
}

/* --- triangles */

/* How many of the pairs in the inbox are edges of own vertices. */
static int64_t answers(int64_t pairs) {
    int64_t found = 0;
    for (int64_t k = 0; k < pairs; ++k) {
        const int64_t own = inbox[k].vertex / ranks;
        found += contains(part.neighbours + part.begin[own], degree_of(own), inbox[k].value);
    }
    return found;
}

/* Each triangle u < v < w once: u's owner asks that of v whether w is a neighbour. */
static void triangles(void) {
    int64_t found = 0, asked = 0, own = 0;
    do {
        for (asked = 0; own < part.vertices && asked < batch; ++own) {
            const int64_t* const neighbours = part.neighbours + part.begin[own];
            const int64_t degree = degree_of(own);
            for (int64_t k = first_larger(neighbours, degree, own * ranks + rank); k < degree; ++k)
                for (int64_t other = k + 1; other < degree; ++other, ++asked) tell(neighbours[k], neighbours[other]);
        }
        found += answers(hear());
    } while (reduce(own < part.vertices, MPI_SUM) > 0);
    found = reduce(found, MPI_SUM);
    if (rank == 0) printf("%lld triangles\n", (long long)found);
}

static void release_all(void) {
    for (int to = 0; to < ranks; ++to) free(outgoing[to].pairs);
    free(outgoing);
    free(inbox);
    free(part.begin);
    free(part.neighbours);
    free(send_counts);
    free(send_places);
    free(counts);
    free(places);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    problem = problem_of(argc, argv);
    outgoing = memory(ranks, sizeof(list_t));
    send_counts = memory(ranks, sizeof(int));
    send_places = memory(ranks, sizeof(int));
    counts = memory(ranks, sizeof(int));
    places = memory(ranks, sizeof(int));
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
    release_all();
    MPI_Finalize();
    return 0;
}
