#pragma once

#include <string>
#include <vector>

namespace upcc {

/// What the command `clang -E …` does, without another process: starting one takes longer than most sources do. False
/// after errors, which it has printed.
[[nodiscard]] bool preprocess(const std::vector<std::string>& command, const std::string& to);

} // namespace upcc
