#include "window/host_waits.hpp"

#include "window/backoff.hpp"
#include "window/team_registry.hpp"

#include <cstdlib>
#include <string_view>

#include <sched.h>

namespace lapwing::window {

bool HostWaits::serve() noexcept {
    static const bool without_thread = [] {
        int level = MPI_THREAD_SINGLE;
        MPI_Query_thread(&level);
        const char* const progress = std::getenv("LAPWING_PROGRESS");
        return level < MPI_THREAD_MULTIPLE || (progress != nullptr && std::string_view{progress} == "caller");
    }();
    return without_thread;
}

void HostWaits::Wait::go_on() noexcept {
    constexpr unsigned hot = 64; // most waits are short
    if (TeamRegistry::instance().serve_others(nullptr)) fruitless_ = 0;
    else if (++fruitless_ < hot) relax_processor();
    else sched_yield();
}

} // namespace lapwing::window
