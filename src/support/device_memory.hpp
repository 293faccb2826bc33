#pragma once

#include <lapwing/detail/device_memory.hpp>

#include <string>

namespace lapwing::detail::support {

/// Looks for the runtime libraries of CUDA and HIP among those that the process has loaded by now, and notes in
/// devices_known whether there is one. Nothing is linked or loaded for this: a program without them pays a load and a
/// branch at each call.
void look_for_devices() noexcept;

/// Whether one of these libraries says that the processor cannot reach the memory. False where none is loaded.
[[nodiscard]] bool is_device_memory(const void* memory) noexcept;

[[noreturn]] void throw_device_memory(const std::string& who, const void* memory);

/// Throws UsageError where it is; `who()` gives the start of the message.
template <class Who>
void require_host_memory(const void* memory, Who&& who) {
    if (devices_known.load(std::memory_order_relaxed) && is_device_memory(memory)) [[unlikely]]
        throw_device_memory(who(), memory);
}

} // namespace lapwing::detail::support
