#include "src/support/process_fence.hpp"

#include "src/support/thread_sanitizer.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lapwing::detail::support {
namespace {

long membarrier(int command) { return syscall(__NR_membarrier, command, 0, 0); }

} // namespace

bool can_fence_all_threads() noexcept {
#ifdef LAPWING_THREAD_SANITIZER
    return false;
#endif
    static const bool registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
    return registered;
}

void fence_all_threads() noexcept { membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

} // namespace lapwing::detail::support
