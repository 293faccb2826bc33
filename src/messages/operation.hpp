#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lapwing::detail::messages {

/// Something that a thread waits for: the parts of a transfer, or the answer of an atomic.
struct Operation {
    /// Parts still under way. Stored with release after the data has been written, read with acquire before it is used.
    std::atomic<std::uint32_t> remaining{0};
    std::byte* destination = nullptr;
    /// The operation was dropped, since its memory is gone at the target. Read once done() holds.
    bool dropped = false;

    [[nodiscard]] bool done() const noexcept { return remaining.load(std::memory_order_acquire) == 0; }
};

} // namespace lapwing::detail::messages
