// Room: support
#pragma once

#define LAPWING_VERSION_MAJOR 0
#define LAPWING_VERSION_MINOR 1
#define LAPWING_VERSION_PATCH 0
#define LAPWING_VERSION_STRING "0.1.0"

/// How much is checked: 0 nothing beyond bulk bounds, 1 cheap and local, 2 costly and local, 3 communicates (the
/// arguments of collective calls agree on all ranks). A program may define it for itself, with
/// -DLAPWING_ASSERTION_LEVEL=0 say; otherwise it has the level that the library was built with. The two may differ:
/// inline code follows the program's.
#ifndef LAPWING_ASSERTION_LEVEL
#ifdef LAPWING_DEFAULT_ASSERTION_LEVEL
#define LAPWING_ASSERTION_LEVEL LAPWING_DEFAULT_ASSERTION_LEVEL
#else
#define LAPWING_ASSERTION_LEVEL 1
#endif
#endif

namespace lapwing {
inline constexpr int assertion_level = LAPWING_ASSERTION_LEVEL;
} // namespace lapwing
