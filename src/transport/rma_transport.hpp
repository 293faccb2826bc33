#pragma once

#include "src/mpi/pieces.hpp"
#include "src/transport/access_ledger.hpp"
#include "src/transport/transport.hpp"

#include <lapwing/detail/atomic.hpp>
#include <lapwing/rank.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace lapwing::detail::transport {

/// A window's operations through MPI's one-sided calls, where the path is rma.
class RmaTransport final : public Transport {
public:
    explicit RmaTransport(AccessLedger& ledger) noexcept
        : ledger_{ledger}, facts_{ledger.facts()}, least_bytes_{facts_.state.least_rma_bytes()} {}

    /// Puts up to this size are copied, so that they need not wait for MPI to have read them.
    static constexpr std::size_t largest_staged_bytes = 512;

    /// Whether a get or put goes this way.
    [[nodiscard]] bool carries(const Access& access) const noexcept {
        if (access.bytes < least_bytes_) return false; // faster as a message
        if (facts_.plain_rma) [[likely]]
            return true;
        if (facts_.network != Path::rma) return false;
        // Pieces begin at displacements.
        const bool cut = static_cast<std::uint64_t>(unit(access.target)) <= mpi::largest_piece_bytes;
        return displacement(access.target, access.offset).has_value() &&
               (cut || access.bytes <= mpi::largest_piece_bytes);
    }
    /// Whether the atomics of all ranks go this way.
    [[nodiscard]] bool carries_atomics() const noexcept { return facts_.mpi_atomics; }
    /// The displacement of `offset` in the MPI window of `target`; nothing if its displacement unit cannot express it.
    [[nodiscard]] std::optional<MPI_Aint> displacement(Rank target, Offset offset) const noexcept {
        if (facts_.plain_rma) [[likely]]
            return static_cast<MPI_Aint>(offset.bytes);
        const auto bytes = static_cast<std::uint64_t>(unit(target));
        if (offset.bytes % bytes != 0) return {};
        return static_cast<MPI_Aint>(offset.bytes / bytes);
    }
    /// The displacement unit: that of the program's window, 1 where the window is Lapwing's.
    [[nodiscard]] int unit(Rank target) const noexcept {
        return facts_.units.empty() ? facts_.unit : facts_.units[static_cast<std::size_t>(target.value)];
    }

    void get(const BegunAccess& access, std::span<std::byte> destination) override;
    void put(const BegunAccess& access, std::span<const std::byte> source) override;
    std::unique_ptr<PendingTransfer> start_get(const BegunAccess& access, std::span<std::byte> destination) override;
    std::unique_ptr<PendingTransfer> start_put(const BegunAccess& access, std::span<const std::byte> source) override;
    void fetch(const BegunAccess& access, mpi::AtomicOperation operation, mpi::AtomicType type, const void* operand,
               void* result) override;
    void compare_swap(const BegunAccess& access, mpi::AtomicType type, const void* expected, const void* desired,
                      void* result) override;

    /// With the ledger's mutex held: everything to `target`, or to all ranks with accesses under way, is complete
    /// there.
    void flush(Rank target);
    void flush();

private:
    /// Calls `piece(begin, size, displacement)` for each MPI call that a transfer takes.
    template <class Piece>
    void for_each_piece(const BegunAccess& access, Piece piece);
    /// With the ledger's mutex held: a copy of a small source, which stays until MPI has read it.
    [[nodiscard]] const std::byte* stage(std::span<const std::byte> source);
    /// Waits until MPI has read and written the origin's memory of operations to `target`. Returns whether they are
    /// complete at the target, too.
    bool finish_locally(Rank target);
    /// Calls `start(begin, size, displacement, request)` for each piece of a non-blocking transfer.
    template <class Start>
    [[nodiscard]] std::unique_ptr<RmaTransfer> start_transfer(const BegunAccess& access, Start&& start);
    /// Waits for an atomic that MPI was given with this result.
    void finish_atomic(int code, const char* mpi_call, const BegunAccess& access);
    /// Throws MpiError unless `code` is MPI_SUCCESS, naming the place at the target.
    void check(int code, const char* mpi_call, const Access& access) const {
        if (code != MPI_SUCCESS) [[unlikely]]
            throw_error(code, mpi_call, access);
    }
    [[noreturn]] void throw_error(int code, const char* mpi_call, const Access& access) const;
    /// Before a get or put. The trial did not cover memory of the program's own.
    void keep_awake(Rank target) {
        if (facts_.adopted || !facts_.state.paths().data_needs_no_target)
            facts_.state.progress_driver().keep_awake(target);
    }

    AccessLedger& ledger_;
    WindowFacts& facts_;
    std::uint64_t least_bytes_;
    /// Copies of small puts until MPI has read them: so that the program may reuse its own at once. Empty before the
    /// first. Guarded by the ledger's mutex.
    std::vector<std::byte> staging_;
    std::size_t staged_ = 0;
};

} // namespace lapwing::detail::transport
