#pragma once

#include <string_view>

namespace lapwing::detail::support {

/// Writes "lapwing: `line`" to standard error in one call, so that lines of several ranks do not mix. For code that has
/// no caller to throw to: destructors, the start-up report, statistics at the end.
void log_line(std::string_view line) noexcept;

} // namespace lapwing::detail::support
