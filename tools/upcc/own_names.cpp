#include "own_names.hpp"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <set>
#include <sstream>

namespace upcc {

std::vector<std::string> names_of_c_library(std::string_view symbols) {
    static constexpr std::array<std::string_view, 9> replaced{
        "malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc", "reallocarray"};
    const std::array libraries{dlopen(LIBC_SO, RTLD_LAZY), dlopen(LIBM_SO, RTLD_LAZY)};
    std::set<std::string> found;
    std::istringstream lines{std::string{symbols}};
    for (std::string line; std::getline(lines, line);) {
        const std::string name = line.substr(0, line.find(' '));
        if (name.empty() || name.front() == '_' || std::ranges::find(replaced, name) != replaced.end()) continue;
        const auto defines = [&](void* library) {
            return library != nullptr && dlsym(library, name.c_str()) != nullptr;
        };
        if (std::ranges::any_of(libraries, defines)) found.insert(name);
    }
    return {found.begin(), found.end()};
}

} // namespace upcc
