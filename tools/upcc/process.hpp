#pragma once

#include <string>
#include <vector>

namespace upcc {

/// Runs a program and waits for it. Its standard output goes to the file, if one is named. Returns its exit code; 127:
/// it could not be started.
int run(const std::vector<std::string>& command, const std::string& output = {});

/// As a shell would read it.
[[nodiscard]] std::string in_one_line(const std::vector<std::string>& command);

/// Where it is looked for in PATH, or the name itself if it has a slash; empty: nowhere.
[[nodiscard]] std::string find_program(const std::string& name);

} // namespace upcc
