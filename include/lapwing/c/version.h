// Room: bindings
/*
 * The version: of the headers that a program is compiled with, and of the library that it runs with.
 */
#ifndef LAPWING_C_VERSION_H
#define LAPWING_C_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* As lapwing/detail/config.hpp has them for C++. */
#define LAPWING_VERSION_MAJOR 0
#define LAPWING_VERSION_MINOR 1
#define LAPWING_VERSION_PATCH 0
#define LAPWING_VERSION_STRING "0.1.0"

/// The version of the library that runs, for a comparison with LAPWING_VERSION_MAJOR, LAPWING_VERSION_MINOR and
/// LAPWING_VERSION_PATCH, that of the headers. Before version 1 a program needs the minor version that it was compiled
/// with. Any of the pointers may be null. Local, any thread; also before a runtime exists.
int lapwing_version_numbers(int* major, int* minor, int* patch);
/// The same as text, "0.1.0". Returns no error code. Local, any thread; also before a runtime exists.
const char* lapwing_version_text(void);

#ifdef __cplusplus
}
#endif

#endif
