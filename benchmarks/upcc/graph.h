/* What both versions of the graph program have in common: the graph, and how a rank keeps its part of it. Edges are
 * those of D. Chakrabarti, Y. Zhan and C. Faloutsos, "R-MAT: A Recursive Model for Graph Mining", SIAM International
 * Conference on Data Mining, 2004, with the parameters of the Graph500 benchmark. Vertex v is with rank v % ranks. */
#ifndef GRAPH_H
#define GRAPH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { searches = 3, none = -1 };

typedef struct problem {
    int scale; /* there are 2 to this power vertices */
    int edges_per_vertex;
    int verbose;
} problem_t;

/* Two vertices, or a vertex and what it is told. */
typedef struct pair {
    int64_t vertex;
    int64_t value;
} pair_t;

/* The part of a rank: neighbours of own vertex k are neighbours[begin[k]] and on, up to begin[k + 1], in ascending
 * order. */
typedef struct part {
    int64_t vertices;
    int64_t* begin;
    int64_t* neighbours;
} part_t;

static inline problem_t problem_of(int argc, char** argv) {
    problem_t problem = {10, 8, 0};
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "-s") == 0) problem.scale = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "-e") == 0) problem.edges_per_vertex = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "-v") == 0) problem.verbose = atoi(argv[k + 1]);
        else problem.scale = 0;
    }
    if (problem.scale < 2 || problem.scale > 30 || problem.edges_per_vertex < 1 || argc % 2 == 0) {
        fprintf(stderr, "usage: %s [-s scale, from 2 to 30] [-e edges of a vertex] [-v 1: times]\n", argv[0]);
        exit(2);
    }
    return problem;
}

static inline int64_t vertices_of(const problem_t* problem) { return (int64_t)1 << problem->scale; }
static inline int64_t edges_of(const problem_t* problem) { return vertices_of(problem) * problem->edges_per_vertex; }
/* Vertices with a rank. */
static inline int64_t vertices_with(const problem_t* problem, int ranks, int rank) {
    return (vertices_of(problem) - rank + ranks - 1) / ranks;
}

static inline uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Another number of as many bits for each: vertices with many edges are everywhere. */
static inline int64_t scramble(const problem_t* problem, int64_t vertex) {
    const uint64_t mask = (uint64_t)vertices_of(problem) - 1;
    uint64_t v = (uint64_t)vertex;
    for (int round = 0; round < 3; ++round) {
        v = (v * 0x9e3779b1u + 0x85ebca77u) & mask;
        v ^= v >> (problem->scale / 2 + 1);
    }
    return (int64_t)v;
}

/* Edge number `number`, which any rank can make. */
static inline pair_t edge(const problem_t* problem, int64_t number) {
    int64_t from = 0, to = 0;
    uint64_t state = mix((uint64_t)number);
    for (int bit = 0; bit < problem->scale; ++bit) {
        state = mix(state);
        const double choice = (double)(state >> 11) * 0x1p-53; /* of quarters with 0.57, 0.19, 0.19 and 0.05 */
        from = 2 * from + (choice >= 0.76 ? 1 : 0);
        to = 2 * to + ((choice >= 0.57 && choice < 0.76) || choice >= 0.95 ? 1 : 0);
    }
    return (pair_t){scramble(problem, from), scramble(problem, to)};
}

static inline int compare_pairs(const void* a, const void* b) {
    const pair_t* const one = a;
    const pair_t* const other = b;
    if (one->vertex != other->vertex) return one->vertex < other->vertex ? -1 : 1;
    return one->value < other->value ? -1 : one->value > other->value;
}

/* The part from all its edges, each in the direction from an own vertex; without loops and edges that are there
 * twice. */
static inline part_t part_of(const problem_t* problem, int ranks, int rank, pair_t* edges, int64_t count) {
    part_t part = {vertices_with(problem, ranks, rank), NULL, NULL};
    part.begin = calloc((size_t)part.vertices + 1, sizeof(int64_t));
    part.neighbours = malloc(((size_t)count + 1) * sizeof(int64_t));
    if (part.begin == NULL || part.neighbours == NULL) return part;
    qsort(edges, (size_t)count, sizeof *edges, compare_pairs);
    int64_t kept = 0, own = 0;
    for (int64_t k = 0; k < count; ++k) {
        if (edges[k].vertex == edges[k].value || (k > 0 && compare_pairs(&edges[k - 1], &edges[k]) == 0)) continue;
        for (; own <= edges[k].vertex / ranks; ++own) part.begin[own] = kept;
        part.neighbours[kept++] = edges[k].value;
    }
    for (; own <= part.vertices; ++own) part.begin[own] = kept;
    return part;
}

/* How many numbers are in both of two ascending lists. */
static inline int64_t common(const int64_t* a, int64_t a_count, const int64_t* b, int64_t b_count) {
    int64_t found = 0;
    for (int64_t i = 0, j = 0; i < a_count && j < b_count;) {
        if (a[i] == b[j]) {
            ++found;
            ++i;
            ++j;
        } else if (a[i] < b[j]) ++i;
        else ++j;
    }
    return found;
}
/* The first of an ascending list that is larger than `than`. */
static inline int64_t first_larger(const int64_t* list, int64_t count, int64_t than) {
    int64_t low = 0;
    while (low < count) {
        const int64_t middle = (low + count) / 2;
        if (list[middle] > than) count = middle;
        else low = middle + 1;
    }
    return low;
}
static inline int contains(const int64_t* list, int64_t count, int64_t number) {
    const int64_t after = first_larger(list, count, number);
    return after > 0 && list[after - 1] == number;
}

/* Of one vertex in a search; their sum over all vertices does not depend on the order. */
static inline uint64_t search_hash(int64_t vertex, int64_t level, int64_t parent) {
    return mix((uint64_t)vertex ^ mix((uint64_t)level ^ mix((uint64_t)parent)));
}

#endif
