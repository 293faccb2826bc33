#include <lapwing/c/error.h>
#include <lapwing/c/version.h>
#include <lapwing/detail/config.hpp> // the compiler refuses other values of the same macros

extern "C" {

int lapwing_version_numbers(int* major, int* minor, int* patch) {
    if (major != nullptr) *major = LAPWING_VERSION_MAJOR;
    if (minor != nullptr) *minor = LAPWING_VERSION_MINOR;
    if (patch != nullptr) *patch = LAPWING_VERSION_PATCH;
    return LAPWING_SUCCESS;
}

const char* lapwing_version_text(void) { return LAPWING_VERSION_STRING; }

} // extern "C"
