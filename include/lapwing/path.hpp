// Room: team
#pragma once

#include <cstdint>
#include <string_view>

namespace lapwing {

/// How a rank reaches the memory of another.
enum class Path : std::uint8_t {
    self,    ///< it is its own
    direct,  ///< same node: load and store through shared memory
    rma,     ///< MPI one-sided operations in one long passive epoch
    service, ///< messages, answered by the owner's progress thread (MuPC's two-threaded design)
};

/// As settings and messages write it: "rma".
[[nodiscard]] constexpr std::string_view name(Path path) {
    switch (path) {
    case Path::self: return "self";
    case Path::direct: return "direct";
    case Path::rma: return "rma";
    case Path::service: return "service";
    }
    return "?";
}

/// Who keeps communication moving.
enum class ProgressMode : std::uint8_t {
    thread, ///< a progress thread per rank; needs MPI_THREAD_MULTIPLE
    caller, ///< only calls into Lapwing do
};

/// "thread" or "caller".
[[nodiscard]] constexpr std::string_view name(ProgressMode mode) {
    return mode == ProgressMode::thread ? "thread" : "caller";
}

} // namespace lapwing
