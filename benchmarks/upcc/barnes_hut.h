/* What both versions of the tree code have in common: the bodies, their start, and the arithmetic, so that the results
 * agree to the last bit. J. Barnes and P. Hut, "A hierarchical O(N log N) force-calculation algorithm", Nature 324
 * (1986), 446-449; the start is H. C. Plummer's model, as in S. J. Aarseth, M. Hénon and R. Wielen, Astronomy and
 * Astrophysics 37 (1974), 183-187. */
#ifndef BARNES_HUT_H
#define BARNES_HUT_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct body {
    double position[3];
    double velocity[3];
    double acceleration[3];
    double mass;
    double potential;
    double work; /* interactions in the last step */
} body_t;

typedef struct problem {
    int bodies;
    int steps;
    double opening; /* a cell is opened if its size is larger than this times its distance */
    double step;    /* of time */
    double softening;
    uint64_t seed;
    int verbose;
} problem_t;

enum { deepest_level = 60 };

/* A child of a cell: nothing, a body, or a cell, in one word that is read and written whole. */
typedef int64_t link_t;
static inline link_t link_of_body(int body) { return -(link_t)body - 1; }
static inline int body_of_link(link_t link) { return (int)(-link - 1); }

/* Children with their masses (at[k][3]) and centres of mass: whoever reads a cell needs its children only to open
 * them. */
typedef struct cell {
    double centre[3];
    double half; /* half of the length of an edge */
    link_t child[8];
    double at[8][4];
    int level;
    int bodies;
} cell_t;

static inline uint64_t next_random(uint64_t* state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static inline double next_uniform(uint64_t* state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

/* A vector of this length in any direction. */
static inline void isotropic(uint64_t* state, double length, double vector[3]) {
    double square;
    do {
        square = 0;
        for (int k = 0; k < 3; ++k) {
            vector[k] = 2 * next_uniform(state) - 1;
            square += vector[k] * vector[k];
        }
    } while (square > 1 || square < 1e-10);
    for (int k = 0; k < 3; ++k) vector[k] *= length / sqrt(square);
}

/* Body number `index` of the model; each has random numbers of its own, so that any rank can make it. */
static inline body_t plummer(const problem_t* problem, int index) {
    uint64_t state = problem->seed + 0x632be59bd9b4e019u * (uint64_t)(index + 1);
    body_t body;
    memset(&body, 0, sizeof body);
    body.mass = 1.0 / problem->bodies;
    body.work = 1;
    double radius;
    do radius = 1 / sqrt(pow(next_uniform(&state) * 0.999 + 1e-9, -2.0 / 3.0) - 1);
    while (radius > 9);
    isotropic(&state, radius, body.position);
    double x, y;
    do {
        x = next_uniform(&state);
        y = 0.1 * next_uniform(&state);
    } while (y > x * x * pow(1 - x * x, 3.5));
    isotropic(&state, x * sqrt(2.0) * pow(1 + radius * radius, -0.25), body.velocity);
    return body;
}

static inline int octant(const double centre[3], const double position[3]) {
    return (position[0] >= centre[0] ? 1 : 0) | (position[1] >= centre[1] ? 2 : 0) | (position[2] >= centre[2] ? 4 : 0);
}

static inline void start_cell(cell_t* cell, const double centre[3], double half, int level) {
    memset(cell, 0, sizeof *cell);
    memcpy(cell->centre, centre, sizeof cell->centre);
    cell->half = half;
    cell->level = level;
}
static inline void start_child(cell_t* child, const cell_t* parent, int place) {
    double centre[3];
    for (int k = 0; k < 3; ++k) centre[k] = parent->centre[k] + (place >> k & 1 ? 0.5 : -0.5) * parent->half;
    start_cell(child, centre, parent->half / 2, parent->level + 1);
}

/* The mass and the centre of mass of a cell whose children have theirs. */
static inline void sum_cell(const cell_t* cell, double at[4]) {
    double moment[3] = {0, 0, 0};
    at[3] = 0;
    for (int child = 0; child < 8; ++child) {
        if (cell->child[child] == 0) continue;
        at[3] += cell->at[child][3];
        for (int k = 0; k < 3; ++k) moment[k] += cell->at[child][3] * cell->at[child][k];
    }
    for (int k = 0; k < 3; ++k) at[k] = at[3] > 0 ? moment[k] / at[3] : cell->centre[k];
}

/* Half an edge of a cube around the origin with all bodies in it: a power of two, so that its parts are exact. */
static inline double root_half(double largest) {
    double half = 1;
    while (half <= largest) half *= 2;
    return half;
}

/* Whether a child with half an edge `half` is so far that its mass can be taken for a point. */
static inline int is_far(const problem_t* problem, const double position[3], const double at[4], double half) {
    double square = 0;
    for (int k = 0; k < 3; ++k) square += (at[k] - position[k]) * (at[k] - position[k]);
    return 4 * half * half < problem->opening * problem->opening * square;
}

static inline void attract(const problem_t* problem, body_t* body, const double at[4]) {
    double distance[3], square = problem->softening * problem->softening;
    for (int k = 0; k < 3; ++k) {
        distance[k] = at[k] - body->position[k];
        square += distance[k] * distance[k];
    }
    const double inverse = 1 / sqrt(square);
    const double force = at[3] * inverse * inverse * inverse;
    body->potential -= at[3] * inverse;
    for (int k = 0; k < 3; ++k) body->acceleration[k] += force * distance[k];
    body->work += 1;
}

static inline void clear_forces(body_t* body) {
    memset(body->acceleration, 0, sizeof body->acceleration);
    body->potential = 0;
    body->work = 0;
}

/* Half a step of the velocities, and a step of the positions where asked for. */
static inline void advance(const problem_t* problem, body_t* body, int moves) {
    for (int k = 0; k < 3; ++k) {
        body->velocity[k] += 0.5 * problem->step * body->acceleration[k];
        if (moves) body->position[k] += problem->step * body->velocity[k];
    }
}

static inline double farthest(const body_t* bodies, int count) {
    double largest = 0;
    for (int i = 0; i < count; ++i)
        for (int k = 0; k < 3; ++k) largest = fmax(largest, fabs(bodies[i].position[k]));
    return largest;
}

/* The forces on some bodies, without the tree: the largest relative error. */
static inline double error_of_forces(const problem_t* problem, const body_t* bodies) {
    double worst = 0;
    for (int sample = 0; sample < 16; ++sample) {
        const body_t* const body = &bodies[(long)sample * problem->bodies / 16];
        body_t exact = *body;
        clear_forces(&exact);
        for (int i = 0; i < problem->bodies; ++i) {
            const double at[4] = {bodies[i].position[0], bodies[i].position[1], bodies[i].position[2], bodies[i].mass};
            if (&bodies[i] != body) attract(problem, &exact, at);
        }
        double difference = 0, size = 0;
        for (int k = 0; k < 3; ++k) {
            difference += pow(exact.acceleration[k] - body->acceleration[k], 2);
            size += pow(exact.acceleration[k], 2);
        }
        worst = fmax(worst, sqrt(difference / size));
    }
    return worst;
}

/* One line a step that a test compares: the energies, and all bits of the positions. */
static inline void report(const problem_t* problem, int step, const body_t* bodies) {
    double kinetic = 0, potential = 0, work = 0;
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < problem->bodies; ++i) {
        for (int k = 0; k < 3; ++k) {
            uint64_t bits;
            kinetic += 0.5 * bodies[i].mass * bodies[i].velocity[k] * bodies[i].velocity[k];
            memcpy(&bits, &bodies[i].position[k], sizeof bits);
            hash = (hash ^ bits) * 1099511628211u;
        }
        potential += 0.5 * bodies[i].mass * bodies[i].potential;
        work += bodies[i].work;
    }
    printf("step %d: energy %.15e (kinetic %.15e), %.1f interactions a body, positions %016llx\n", step,
           kinetic + potential, kinetic, work / problem->bodies, (unsigned long long)hash);
}

static inline problem_t problem_of(int argc, char** argv) {
    problem_t problem = {2000, 3, 0.6, 0.01, 0.05, 1, 0};
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "-n") == 0) problem.bodies = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "-s") == 0) problem.steps = atoi(argv[k + 1]);
        else if (strcmp(argv[k], "-o") == 0) problem.opening = atof(argv[k + 1]);
        else if (strcmp(argv[k], "-v") == 0) problem.verbose = atoi(argv[k + 1]);
        else problem.bodies = 0;
    }
    if (problem.bodies < 16 || problem.steps < 0 || argc % 2 == 0) {
        fprintf(stderr, "usage: %s [-n bodies, 16 at least] [-s steps] [-o opening] [-v 1: times]\n", argv[0]);
        exit(2);
    }
    return problem;
}

#endif
