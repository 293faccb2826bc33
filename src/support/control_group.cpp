#include "src/support/control_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace lapwing::detail::support {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// The lowest limit in a file of this name, from a group up to `top`. In a container `top` may be the container's own
/// group, of which the path that the process knows says more than there is.
std::uint64_t lowest_limit(const std::filesystem::path& top, const std::filesystem::path& group, const char* name) {
    std::uint64_t lowest = no_limit;
    for (std::filesystem::path one = group.relative_path();; one = one.parent_path()) {
        std::ifstream file{top / one / name};
        if (std::uint64_t limit = 0; file >> limit) lowest = std::min(lowest, limit); // the word max is no number
        if (one.empty()) return lowest;
    }
}

} // namespace

// A line is "0::PATH" for version 2, "number:controllers:PATH" for version 1 (cgroups(7)).
std::uint64_t memory_of_control_group(const std::filesystem::path& membership, const std::filesystem::path& groups) {
    std::uint64_t lowest = no_limit;
    std::ifstream file{membership};
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
        const std::string path = line.substr(second + 1);
        if (controllers == ",,") lowest = std::min(lowest, lowest_limit(groups, path, "memory.max"));
        else if (controllers.find(",memory,") != std::string::npos)
            lowest = std::min(lowest, lowest_limit(groups / "memory", path, "memory.limit_in_bytes"));
    }
    return lowest;
}

} // namespace lapwing::detail::support
