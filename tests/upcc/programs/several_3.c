/* Plain C: `shared` is a name like another. */
#include <math.h>
static int shared = 1;
int plain_c(int argc, char** argv) { return argv[0] != 0 ? (int)sqrt(argc * argc) * shared : 0; }
