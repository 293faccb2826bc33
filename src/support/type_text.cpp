#include "src/support/type_text.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace lapwing::detail::support {

std::string type_text(const char* type) {
    if (*type == '\0') return "bytes";
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name{abi::__cxa_demangle(type, nullptr, nullptr, &status),
                                                           &std::free};
    return status == 0 && name != nullptr ? name.get() : type; // names of numbers are written already
}

} // namespace lapwing::detail::support
