#pragma once

#include "src/transport/access.hpp"
#include "src/transport/pending_transfer.hpp"

#include <lapwing/detail/atomic.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace lapwing::detail::transport {

/// Carries a window's accesses to other nodes. Transports chooses one for each access.
class Transport {
public:
    virtual void get(const BegunAccess& access, std::span<std::byte> destination) = 0;
    /// Returns when the source may be reused.
    virtual void put(const BegunAccess& access, std::span<const std::byte> source) = 0;

    // Non-blocking. Null: complete, as a put is whose source was copied.
    [[nodiscard]] virtual std::unique_ptr<PendingTransfer> start_get(const BegunAccess& access,
                                                                     std::span<std::byte> destination) = 0;
    [[nodiscard]] virtual std::unique_ptr<PendingTransfer> start_put(const BegunAccess& access,
                                                                     std::span<const std::byte> source) = 0;

    // Atomics on one value; `result` gets what was there.
    virtual void fetch(const BegunAccess& access, mpi::AtomicOperation operation, mpi::AtomicType type,
                       const void* operand, void* result) = 0;
    virtual void compare_swap(const BegunAccess& access, mpi::AtomicType type, const void* expected,
                              const void* desired, void* result) = 0;

protected:
    ~Transport() = default;
};

} // namespace lapwing::detail::transport
