// Room: support
#pragma once

#include <atomic>

/// Memory of GPUs, which Lapwing cannot read or write.
namespace lapwing::detail::support {

/// Whether a library is loaded that knows which memory is a GPU's; see src/support/device_memory.hpp.
inline constinit std::atomic<bool> devices_known{false};

} // namespace lapwing::detail::support
