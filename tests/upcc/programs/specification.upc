// What of the language the other programs leave out: each as programs write it.
#include "upc_relaxed.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

// Sizes that are larger than an int can count, were THREADS large (6.5.2).
#define LARGE 100000
shared double large[LARGE * THREADS];
shared [LARGE] char blocks[THREADS * LARGE];

// Layouts by typedef and by expressions of several signs (6.5.1.1).
typedef shared [4] int fours[4 * THREADS];
fours by_type;
typedef struct {
    int x;
    double y;
} pair;
typedef shared pair shared_pair;
shared_pair pairs[THREADS];
enum { three = 3 };
shared [three == 3 ? 2 : 1] int chosen[2 * THREADS];
shared[1 << 2] int shifted[4 * THREADS];
shared [sizeof(int)] char bytes[4 * THREADS];

// Declarators of one declaration, qualifiers in any place (6.5.2).
shared [2] int c[2 * THREADS], *pc, *shared spc, single;
int shared before;
unsigned shared int between;
shared int const *shared *chain;
int const shared *shared middle;

// K&R definitions, and functions without a type.
int sum(p, n) shared int *p;
int n;
{
    return *p + n;
}
step(x) { return x + 1; }

// Pointers in structures and tables (6.4, 6.5).
typedef struct tree {
    int key;
    shared struct tree *left, *right;
} tree;
typedef shared tree *tree_pointer;
shared tree_pointer root;
tree_pointer insert(tree_pointer t, int key) {
    if (!t) {
        t = upc_alloc(sizeof(tree));
        t->key = key;
        t->left = t->right = NULL;
        return t;
    }
    if (key < t->key) t->left = insert(t->left, key);
    else t->right = insert(t->right, key);
    return t;
}
int count(tree_pointer t) { return t == NULL ? 0 : 1 + count(t->left) + count(t->right); }

// upc_forall through a macro and a call; a nested one is the outer one's (6.6.2).
#define FOR_OWN(i, n) upc_forall (i = 0; i < (n); i++; i)
int turns(int n) {
    int i, c = 0;
    FOR_OWN(i, n) c++;
    return c;
}

int main(int argc, char **argv) {
    int i, j, k = 0;
    CHECK(sizeof(large) == sizeof(double) * LARGE * THREADS && upc_localsizeof(blocks) == LARGE);
    CHECK(upc_threadof(&large[LARGE * THREADS - 1]) == THREADS - 1 && upc_threadof(&blocks[LARGE]) == 1 % THREADS);
    CHECK(upc_blocksizeof(by_type) == 4 && sizeof(fours) == 4 * sizeof(int) * THREADS);
    CHECK(upc_blocksizeof(chosen) == 2 && upc_blocksizeof(shifted) == 4);
    CHECK(upc_blocksizeof(bytes) == sizeof(int));
    pairs[MYTHREAD].x = MYTHREAD;
    pairs[MYTHREAD].y = 0.5;
    upc_barrier;
    CHECK(pairs[THREADS - 1].x == THREADS - 1 && pairs[0].y == 0.5);

    if (MYTHREAD == 0) {
        static const int keys[] = {5, 3, 8, 1, 4};
        before = 7;
        between = -1;
        for (i = 0; i < 5; i++) root = insert(root, keys[i]);
    }
    upc_barrier 3 + 4;
    CHECK(sum(&before, 2) == 9 && step(1) == 2 && between == 4294967295u);
    CHECK(count(root) == 5 && root->left->right->key == 4);

    for (i = 0; i < 3; i++) upc_forall (j = 0; j < THREADS; j++; j) {
            if (j == 1) continue;
            k++;
        }
    CHECK(k == (MYTHREAD == 1 ? 0 : 3));
    k = 0;
    upc_forall (i = 0; i < THREADS; i++; (shared void *)&pairs[i]) k += turns(5);
    CHECK(k == 5);
    upc_notify 1;
    upc_wait 1;
    return 0;
}
