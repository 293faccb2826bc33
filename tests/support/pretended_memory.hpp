#pragma once

#include <dlfcn.h>
#include <unistd.h>

namespace test {

/// What this process takes the machine's memory for; 0: what it is.
inline long pretended_pages = 0;

} // namespace test

/// In place of the system's, for one source of a test. A sanitizer may call it before it is ready itself.
extern "C" __attribute__((no_sanitize("address", "undefined"))) long sysconf(int what) noexcept {
    static long (*next)(int) = nullptr;
    if (next == nullptr) next = reinterpret_cast<long (*)(int)>(dlsym(RTLD_NEXT, "sysconf"));
    return what == _SC_PHYS_PAGES && test::pretended_pages != 0 ? test::pretended_pages : next(what);
}
