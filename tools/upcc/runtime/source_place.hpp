#pragma once

#include <string>

namespace upcc {

/// Where in the program's sources the calling thread is: "file:line", or empty where that is not known. By addr2line
/// and the line tables of the program: for errors, which end it.
[[nodiscard]] std::string programs_place();

} // namespace upcc
