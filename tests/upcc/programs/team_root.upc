/* A source outside of the team is an error. */
#include <upc_relaxed.h>
#include <upc_collective.h>
shared int a[THREADS], b[THREADS];
int main(void) {
    bupc_team_t own = bupc_team_split(BUPC_TEAM_ALL, MYTHREAD, 0);
    upc_barrier;
    if (MYTHREAD == 1) bupc_team_broadcast(own, b, a, sizeof(int), 0);
    upc_barrier;
    return 0;
}
