#pragma once

#include <string>
#include <vector>

namespace upcc {

/// What the command `clang -E …` does, without another process: starting one takes longer than most sources do. False
/// after errors, which it has printed. `own`, if not empty, is a directory of the program's in which it looks for
/// headers after all others.
[[nodiscard]] bool preprocess(const std::vector<std::string>& command, const std::string& to, const std::string& own);

/// What a source, its own headers and the command line do with the macro THREADS.
struct ThreadsMacro {
    bool chosen_by = false; ///< `#if`, `#ifdef` and the like depend on it
    bool defined = false;   ///< or removed by #undef
};
/// The same without a message about errors; also where there are some, what precedes them counts.
[[nodiscard]] bool preprocess_quietly(const std::vector<std::string>& command, const std::string& to,
                                      const std::string& own, ThreadsMacro& threads);

} // namespace upcc
