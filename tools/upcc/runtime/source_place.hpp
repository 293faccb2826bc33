#pragma once

#include <string>

namespace upcc {

/// The calling thread's position in the program's sources: "file:line", or empty if unknown. Uses addr2line
/// and the line tables of the program: for errors, which end the program.
[[nodiscard]] std::string programs_place();

} // namespace upcc
