/* A static object whose one block has more bytes than can be counted. */
struct large { char bytes[1UL << 36]; };
shared int small[THREADS];
shared [1UL << 28] struct large a[4 * THREADS];
int main(void) { return 0; }
