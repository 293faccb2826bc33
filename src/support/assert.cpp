#include "src/support/assert.hpp"

#include "src/support/log.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>

namespace lapwing::detail::support {

void assertion_failed(const char* condition, const char* file, int line, const char* function) noexcept {
    try {
        log_line(
            fmt::format("internal error: {} does not hold in {} ({}:{}); please report it with what the program did",
                        condition, function, file, line));
    } catch (const std::exception&) { // no memory for a line: the end says it
    }
    std::abort();
}

} // namespace lapwing::detail::support
