/* More initial values than elements. */
#ifndef ROWS
shared int a[THREADS] = {1, 2, 3};
#else
shared int a[2][THREADS] = {{1}, {1, 2, 3}};
#endif
int main(void) { return 0; }
