/* Sections 6.4.1, 6.5.1 and 6.7: shared objects of all types, their initial values, and operators on them. */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "check.h"

shared char c = 'x';
shared unsigned char bytes[4 * THREADS] = {1, 2, 255};
shared short s = -3;
shared long long ll = 1LL << 40;
shared float f = 1.5f;
shared[] double d[3] = {1, 2.5};
shared long double ld = 3.25L;
shared bool flag = true;
shared double _Complex z;
shared int grid[THREADS][3] = {{1, 2, 3}};
shared int *shared at_c = &grid[0][1];
shared const int constant = 42;
const shared volatile int both = 43;
enum colour { red, green, blue };
shared enum colour paint = green;
typedef struct { int a : 3; unsigned b : 7; int c; unsigned long long wide : 40; signed char tail; } bits_t;
shared bits_t bits[2 * THREADS];
shared struct { int x; struct { short lo, hi; } in; union { int i; float f; }; char name[12]; int m[2][2]; } thing;
shared union { int i; unsigned char c[4]; } mix;
struct outer { struct inner { int v[4]; double w; } parts[2]; struct inner *none; };
shared[2] struct outer outers[2 * THREADS];
shared[] char text[16] = "hello";
extern shared int later;
shared int later;
shared int again;
shared int again;

static int counter(void) {
    static shared int calls;
    static shared[2] int each[2 * THREADS];
    static int mine = 7;
    static shared int with_value = 11;
    CHECK(with_value == 11);
    each[2 * MYTHREAD] += 1;
    mine++;
    (void)calls;
    return each[2 * MYTHREAD] + mine - 8;
}

int main(void) {
    int i;
    CHECK(c == 'x' && bytes[0] == 1 && bytes[2] == 255 && bytes[3] == 0 && s == -3 && ll == 1LL << 40 && f == 1.5f);
    CHECK(d[0] == 1 && d[1] == 2.5 && d[2] == 0 && ld == 3.25L && flag && z == 0 && constant == 42 && both == 43 && paint == green);
    CHECK(grid[0][2] == 3 && *at_c == 2 && at_c[0] == 2 && text[0] == 'h' && text[5] == 0 && again == 0 && later == 0);
    upc_barrier;
    if (MYTHREAD == THREADS - 1) {
        CHECK((c += 1) == 'y' && c++ == 'y' && --c == 'y' && c == 'y');
        s *= -2;
        ll >>= 38;
        f /= 2;
        bytes[1] ^= 0xff;
        bytes[2] += 1; /* goes round */
        d[2] = d[1] = 4;
        flag = 5;
        flag = !flag || ll;
        z = 1 + 2 * I;
        paint = blue;
        again = ~0;
        later = c == 'y' ? s : 0;
        i = (grid[0][0]++, grid[0][0]);
        CHECK(i == 2);
        thing.x = 1;
        thing.in.hi = 2;
        thing.f = 1.0f;
        strcpy((char[12]){0}, "x");
        thing.name[3] = 'q';
        thing.m[1][0] = 9;
        mix.i = 0x01020304;
    }
    upc_barrier;
    CHECK(c == 'y' && s == 6 && ll == 4 && f == .75f && bytes[1] == 0xfd && bytes[2] == 0 && d[2] == 4 && flag == 1 && creal(z) == 1 && cimag(z) == 2);
    CHECK(paint == blue && again == -1 && later == 6 && thing.x == 1 && thing.in.hi == 2 && thing.in.lo == 0 && thing.i == 0x3f800000);
    CHECK(thing.name[3] == 'q' && thing.m[1][0] == 9 && thing.m[0][1] == 0 && mix.c[0] + mix.c[3] == 5);

    /* Bit-fields: each keeps its neighbours. */
    upc_forall (i = 0; i < 2 * THREADS; i++; &bits[i]) {
        bits[i].b = 100;
        bits[i].a = -2;
        bits[i].c = i;
        bits[i].wide = 0xabcdef1234ULL;
        bits[i].tail = 5;
    }
    upc_barrier;
    for (i = 0; i < 2 * THREADS; i++) CHECK(bits[i].a == -2 && bits[i].b == 100 && bits[i].c == i && bits[i].wide == 0xabcdef1234ULL && bits[i].tail == 5);
    upc_barrier;
    upc_forall (i = 0; i < 2 * THREADS; i++; &bits[i]) {
        CHECK(bits[i].b++ == 100 && ++bits[i].b == 102 && (bits[i].a += 1) == -1 && (bits[i].b = 130 + 0 * i) == 2);
    }
    upc_barrier;
    CHECK(bits[0].a == -1 && bits[0].b == 2 && bits[0].tail == 5);
    upc_barrier;
    if (MYTHREAD == 0) {
        // A value that changes another bit-field of the same bytes.
        shared bits_t *other = &bits[THREADS - 1];
        other->a = other->b = 3;
        CHECK(other->a == 3 && other->b == 3);
        other->b = (other->a = -1) + 8;
        CHECK(other->a == -1 && other->b == 7);
        other->b += (other->a = 2);
        CHECK(other->a == 2 && other->b == 9);
        other->b -= other->a++;
        CHECK(other->a == 3 && other->b == 7);
    }
    upc_barrier;

    /* Whole structures, in all four directions. */
    {
        struct outer mine, other;
        memset(&mine, 0, sizeof mine);
        mine.parts[1].v[2] = 3 + MYTHREAD;
        outers[2 * MYTHREAD] = mine;
        outers[2 * MYTHREAD + 1] = outers[2 * MYTHREAD];
        upc_barrier;
        i = (MYTHREAD + 1) % THREADS;
        other = outers[2 * i + 1];
        CHECK(other.parts[1].v[2] == 3 + i && outers[2 * i].parts[1].v[2] == 3 + i);
        CHECK((MYTHREAD == 0 ? outers[0] : mine).parts[1].v[2] == 3 + MYTHREAD);
    }
    CHECK(counter() == 1 && counter() == 3);
    switch (paint) {
    case red: CHECK(0);
    case blue: break;
    default: CHECK(0);
    }
    i = ({ int t = later; t + 1; });
    CHECK(i == 7 && (again, later) == 6 && sizeof(thing.name) == 12 && _Generic(later, int : 1, default : 0) == 1);
    static __typeof__(later) alike;
    CHECK(upc_threadof(&alike) == 0 && alike == 0);
    return 0;
}
