#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace upcc {

/// Of the symbols that a program defines, as `nm -P` lists them, those that the C library defines, too. Not those by
/// which programs replace its allocation of memory.
[[nodiscard]] std::vector<std::string> names_of_c_library(std::string_view symbols);

} // namespace upcc
