#pragma once

#include "src/messages/engine.hpp"

#include <cstdint>

namespace lapwing::messages {

/// What went wrong in MPI; nothing, mostly.
struct FailedMpiCall {
    int code = MPI_SUCCESS;
    const char* call = "";
    explicit operator bool() const noexcept { return code != MPI_SUCCESS; }
};

/// An atomic of MPI's on this rank's own part, for another rank: MPI's atomics and the processor's do not exclude each other.
/// `before` has the value when the window has been flushed for this rank.
[[nodiscard]] FailedMpiCall fetch_by_mpi(const ExposedMemory& memory, mpi::AtomicOperation operation, mpi::AtomicType type,
                                         std::uint64_t offset, const void* operand, void* before);
[[nodiscard]] FailedMpiCall compare_swap_by_mpi(const ExposedMemory& memory, mpi::AtomicType type, std::uint64_t offset,
                                                const void* expected, const void* desired, void* before);
[[nodiscard]] FailedMpiCall flush_own_part(const ExposedMemory& memory);

} // namespace lapwing::messages
