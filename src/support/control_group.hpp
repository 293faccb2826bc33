#pragma once

#include <cstdint>
#include <filesystem>

namespace lapwing::detail::support {

/// The most memory in bytes that the control group of this process may use, or one that it is in: of a container, or of
/// a batch job. 2^64 - 1 if there is no limit, or the system does not say. `membership` and `groups` are where Linux
/// has them, for both versions of control groups.
[[nodiscard]] std::uint64_t memory_of_control_group(const std::filesystem::path& membership = "/proc/self/cgroup",
                                                    const std::filesystem::path& groups = "/sys/fs/cgroup");

} // namespace lapwing::detail::support
