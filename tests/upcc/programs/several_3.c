/* Plain C: `shared` is a name like another. */
#include <math.h>
#ifndef __UPC__
#error "what a source without UPC chooses is the same as in those with it"
#endif
static int shared = 1;
int plain_c(int argc, char** argv) { return argv[0] != 0 ? (int)sqrt(argc * argc) * shared : 0; }
