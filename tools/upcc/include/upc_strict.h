#include <upc.h>
#pragma upc strict
