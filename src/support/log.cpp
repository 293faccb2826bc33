#include "src/support/log.hpp"

#include <cstdio>
#include <string>

namespace lapwing::detail::support {

void log_line(std::string_view line) noexcept {
    try {
        std::string text{"lapwing: "};
        text.append(line);
        text.push_back('\n');
        std::fwrite(text.data(), 1, text.size(), stderr);
    } catch (...) { // nobody is left to tell
    }
}

} // namespace lapwing::detail::support
