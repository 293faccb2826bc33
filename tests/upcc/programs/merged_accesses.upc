#include <upc_relaxed.h>
#include "check.h"
#define N 300
typedef struct { double x, y; int n; } point;
shared [N] double a[N*THREADS], b[N*THREADS], m[THREADS][N]; shared [] double *shared dir[THREADS]; shared double scale; shared int cyc[N*THREADS], lim; shared point pt; shared struct { int k; point in; unsigned f:3; } *sp; shared [N] point pts[N*THREADS]; shared [7] short sev[7*31*THREADS]; static double priv[N]; shared int flag;
static void fill(shared [] double *p, int n, double v) { int i; for (i = 0; i < n; i++) p[i] = v + i; }
static void copy(shared [N] double *to, shared [N] double *from, int n) { for (int i = 0; i < n; i++) to[i] = from[i]; }
static void add(double *to, shared double *s, int n) { for (int i = 0; i < n; i++) to[i] = to[i] + *s; }
int main(void) { int i, k, right = (MYTHREAD + 1) % THREADS; double s; 
 if (!MYTHREAD) { scale = 2; lim = 5; pt.x = 1; pt.n = 4; flag = 1; sp = 0; } sp = upc_all_alloc(1, sizeof *sp); if (!MYTHREAD) { sp->k = 3; sp->in.y = .5; sp->f = 5; } dir[MYTHREAD] = upc_alloc(N*sizeof(double)); upc_barrier;
 for (i = 0; i < N; i++) a[right*N + i] = i*scale + right; upc_barrier; for (i = 0; i < N; i++) CHECK(a[MYTHREAD*N + i] == 2*i + MYTHREAD); upc_barrier;
 fill(dir[right], N, right); upc_barrier; for (s = 0, i = 0; i < N; i++) s += dir[MYTHREAD][i]; CHECK(s == N*(N - 1)/2. + N*(double)MYTHREAD);
 for (i = 0; i <= N - 1; ++i) b[N*right + i] = a[N*right + i]*scale + pt.x + pt.n + sp->k + sp->in.y + sp->f; upc_barrier; CHECK(b[N*MYTHREAD + 10] == (20 + MYTHREAD)*2 + 13.5); upc_barrier;
 copy(&a[N*right], &b[N*right], N); upc_barrier; CHECK(a[N*MYTHREAD + 299] == b[N*MYTHREAD + 299]); upc_barrier; copy(&a[N*MYTHREAD + 1], &a[N*MYTHREAD], N - 1); CHECK(a[N*MYTHREAD + N - 1] == a[N*MYTHREAD]); upc_barrier;
 for (i = 0; i < N*THREADS; i++) if (i % THREADS == MYTHREAD) cyc[i] = i; upc_barrier; for (s = 0, i = 0; i < N*THREADS; i++) s += cyc[i]*2 - cyc[i] + (cyc[i] > 3 ? 0 : 0); CHECK(s == N*THREADS*(N*THREADS - 1.)/2); if (THREADS > 1 || 1) { upc_barrier; for (i = 0; i < N; i++) { cyc[right] = i; CHECK(1); } upc_barrier; CHECK(cyc[MYTHREAD] == N - 1); } upc_barrier;
 for (k = 0, i = 0; i < 10; i++) { k += lim; if (i == 20) k += cyc[i]; } CHECK(k == 50); for (i = 0; i < N; i++) { double lim = priv[i]; k += (int)lim; } CHECK(k == 50); upc_barrier;
 for (i = 0; i < N; i++) { pts[N*right + i].x = i; pts[N*right + i].n = scale; } for (i = 0; i < N; i++) { point p = { i, 2*i, -i }; pts[N*right + i] = p; } upc_barrier; for (i = 0; i < N; i++) CHECK(pts[N*MYTHREAD + i].y == 2*i && pts[N*MYTHREAD + i].n == -i);
 if (!MYTHREAD) for (i = 0; i < 7*31*THREADS; i++) sev[i] = i; upc_barrier; for (i = 3; i < 7*31*THREADS; i++) CHECK(sev[i] == i); upc_barrier; if (MYTHREAD == THREADS - 1) for (i = 0; i < 7*31*THREADS - 5; i++) sev[i + 5] = 7; upc_barrier; CHECK(sev[4] == 4 && sev[5] == 7 && sev[7*31*THREADS - 1] == 7);
 for (k = 0; k < THREADS; k++) for (i = 0; i < N; i++) if (k == right) m[k][i] = i; upc_barrier; for (i = 0; i < N; i++) m[right][i] = m[right][i] + 1; upc_barrier; CHECK(m[MYTHREAD][5] == 6); upc_barrier;
 /* What is read is also written: by its name, by a pointer-to-shared, by a pointer-to-private. */
 for (i = 0; i < 10; i++) { if (MYTHREAD == 0) lim = lim + 1; } upc_barrier; CHECK(lim == 15); upc_barrier; if (MYTHREAD == 0) { shared int *q = &lim; for (i = 0; i < 10; i++) *q = lim + 1; CHECK(lim == 25); int *l = (int *)&lim; for (i = 0; i < 10; i++) l[0] = lim + 1; CHECK(lim == 35); add((double *)&scale, &scale, 1); CHECK(scale == 4); } upc_barrier; for (i = 0; i < 5; i++) priv[i] = i; add(priv, &scale, 5); CHECK(priv[4] == 8);
 /* A wait for what another thread writes. */
 upc_barrier; if (MYTHREAD == THREADS - 1) flag = 2; for (k = 0; flag != 2; k++) ; while (flag != 2) for (i = 0; i < 3; i++) k += flag; upc_barrier; return 0; }
