#pragma once

namespace lapwing::detail::support {

/// Whether this build checks the invariants of the library itself (the CMake option LAPWING_INTERNAL_ASSERTIONS, which
/// the presets debug, asan and tsan set): LAPWING_ASSERT, and the order of mutexes. Errors of the program are checked
/// in every build and thrown; this is for bugs of the library.
#ifdef LAPWING_INTERNAL_ASSERTIONS
inline constexpr bool internal_assertions = true;
#else
inline constexpr bool internal_assertions = false;
#endif

/// Prints which invariant does not hold, and where, and ends the process: it cannot go on correctly.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line, const char* function) noexcept;

} // namespace lapwing::detail::support

/// An invariant: `LAPWING_ASSERT(begin <= end)`. Compiled in every build, and evaluated where internal_assertions is
/// true.
#define LAPWING_ASSERT(...)                                                               \
    (!::lapwing::detail::support::internal_assertions || static_cast<bool>(__VA_ARGS__)   \
         ? static_cast<void>(0)                                                           \
         : ::lapwing::detail::support::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__, \
                                                        static_cast<const char*>(__func__)))
