// Room: team
#pragma once

#include <cstdint>
#include <string_view>

namespace lapwing {

/// How a rank reaches the memory of another rank.
enum class Path : std::uint8_t {
    self,    ///< the rank's own memory
    direct,  ///< same node: load and store through shared memory
    rma,     ///< MPI one-sided operations in one long passive epoch
    service, ///< messages, answered by the owner's progress thread (MuPC's two-threaded design)
};

/// As in settings and messages: "rma".
[[nodiscard]] constexpr std::string_view name(Path path) {
    switch (path) {
    case Path::self: return "self";
    case Path::direct: return "direct";
    case Path::rma: return "rma";
    case Path::service: return "service";
    }
    return "?";
}

/// What makes communication progress.
enum class ProgressMode : std::uint8_t {
    thread, ///< a progress thread per rank; needs MPI_THREAD_MULTIPLE
    caller, ///< only calls of Lapwing make progress
};

/// "thread" or "caller".
[[nodiscard]] constexpr std::string_view name(ProgressMode mode) {
    return mode == ProgressMode::thread ? "thread" : "caller";
}

} // namespace lapwing
