#pragma once

#include <string>
#include <vector>

namespace upcc {

/// Runs a program and waits for it. Its standard output goes to the file, if one is named. Returns its exit code; 127:
/// it could not be started.
int run(const std::vector<std::string>& command, const std::string& output = {});

/// In shell syntax.
[[nodiscard]] std::string in_one_line(const std::vector<std::string>& command);

/// Its path according to PATH, or the name itself if it contains a slash; empty if it is not found.
[[nodiscard]] std::string find_program(const std::string& name);

} // namespace upcc
