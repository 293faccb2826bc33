#include "check.h"
#include <string.h>
#include <math.h>
#define N 1000
typedef struct { double x, y; int n; } point;
shared [N] double a[N*THREADS], b[N*THREADS]; shared [N] point pts[N*THREADS]; shared [7] int sevens[7*13*THREADS]; shared [] double *shared dir[THREADS]; shared [N] double m[4*THREADS][N/4];
shared strict int flag; static double out[N], *heap_out; 
static double sum(shared [] double *p, int n) { double s = 0; int i; for (i = 0; i < n; i++) s += p[i]; return s; }
static void copy(double *to, shared [N] double *from, int n) { int i; for (i = 0; i < n; ++i) to[i] = from[i]; }
static void shift(shared [N] double *p, int n) { int i; for (i = 0; i < n; i++) p[i + 1] = p[i]; }
static double dot(int first, int end) { double s = 0; for (int i = first; i < end; i += 1) s += a[i]*b[i + 1]; return s; }
/* Needs little of the stack. */
static double down(int depth, int first) { double s = 0; int i; for (i = 0; i < 3; i++) s += a[first + i]; return depth > 0 ? s + down(depth - 1, first) : s; }
int main(void) {
    int i, k, right = (MYTHREAD + 1) % THREADS; double s, t;
    for (i = 0; i < N; i++) { a[N*MYTHREAD + i] = i + MYTHREAD; b[N*MYTHREAD + i] = 2*i; pts[N*MYTHREAD + i].x = i; pts[N*MYTHREAD + i].n = -i; }
    upc_forall (i = 0; i < 7*13*THREADS; i++; &sevens[i]) sevens[i] = i;
    dir[MYTHREAD] = upc_alloc(N*sizeof(double)); for (i = 0; i < N; i++) dir[MYTHREAD][i] = 3*i + MYTHREAD;
    for (k = 0; k < 4; k++) for (i = 0; i < N/4; i++) m[4*MYTHREAD + k][i] = k*1000 + i;
    upc_barrier;
    for (s = 0, i = 0; i < N*THREADS; i++) s += a[i]; CHECK(s == THREADS*(N*(N - 1)/2.) + N*(THREADS*(THREADS - 1)/2.)); CHECK(i == N*THREADS);
    for (s = t = 0, i = 0; i <= N*THREADS - 1; i++) { s += a[i]*b[i]; if (i % 3 == 0) t += b[i]; } CHECK(s > 0 && t > 0);
    for (s = 0, i = 0; i < N; i++) { const point p = pts[N*right + i]; s += p.x; s += pts[N*right + i].n; } CHECK(s == 0);
    for (s = 0, i = 2; i < 7*13*THREADS; i++) s += sevens[i] - sevens[i - 2]; CHECK(s == 2.*(7*13*THREADS - 2));
    for (s = 0, i = 0; i < N; i++) s += dir[right][i]; CHECK(s == 3*(N*(N - 1)/2.) + right*(double)N);
    CHECK(sum(dir[right], N) == s && sum(dir[right], 0) == 0 && sum(dir[right] + N - 1, 1) == 3*(N - 1) + right);
    for (s = 0, k = 0; k < 4; k++) for (i = 0; i < N/4; i++) s += m[4*right + k][i]; CHECK(s == 6000.*(N/4) + 4*((N/4)*(N/4 - 1)/2.));
    copy(out, &a[N*right], N); CHECK(out[5] == 5 + right && out[N-1] == N - 1 + right);
    CHECK(dot(1, 3) == (a[1]*b[2] + a[2]*b[3]) && dot(3, 3) == 0 && dot(5, 1) == 0);
    CHECK(down(2000, N*right) == 2001.*(3 + 3*right));
    upc_barrier;
    /* Aliasing: through a pointer-to-shared, and through a pointer-to-private. */
    shift(&b[N*MYTHREAD], N - 1); for (i = 0; i < N; i++) CHECK(b[N*MYTHREAD + i] == 0);
    heap_out = (double *)&a[N*MYTHREAD]; copy(heap_out + 1, &a[N*MYTHREAD], N - 1); for (i = 0; i < N; i++) CHECK(a[N*MYTHREAD + i] == MYTHREAD);
    upc_barrier;
    /* Own stores in the loop, and a flag that another thread sets. */
    for (i = 1; i < N; i++) a[N*MYTHREAD + i] = a[N*MYTHREAD + i - 1] + 1; CHECK(a[N*MYTHREAD + N - 1] == MYTHREAD + N - 1);
    for (i = 0; i < N; i++) pts[N*MYTHREAD + i].n = pts[N*MYTHREAD + i].n + (int)a[N*MYTHREAD + i]; CHECK(pts[N*MYTHREAD + 9].n == MYTHREAD);
    upc_barrier;
    if (MYTHREAD == 0) { flag = 1; } for (i = 0; i < 1; ) i = flag; 
    for (i = 0; i < 5; i++) { if (i == 3) { upc_barrier; } out[i] = a[N*right + i]; } CHECK(out[4] == right + 4);
    { unsigned u; for (s = 0, u = 0; u < 4u; u++) s += a[u]; CHECK(s == 6 + 4*0.); }
    { long l = -2; for (s = 0; l < 2; l++) s += l >= 0 ? a[l] : 0; CHECK(s == 1); }
    upc_barrier; return 0; }
