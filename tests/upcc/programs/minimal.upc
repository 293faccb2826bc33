/* C before 1999, in a program without headers. */
main() { return late(THREADS - MYTHREAD); }
int late(n) int n; { return n < 1; }
