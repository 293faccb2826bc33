#include "src/transport/rma_transport.hpp"

#include "src/mpi/atomics.hpp"
#include "src/support/mpi_error.hpp"
#include "src/support/mpi_kind.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string>

namespace lapwing::detail::transport {
namespace {

using support::check_mpi;

constexpr std::size_t staging_bytes = 16384;
constexpr bool is_open_mpi = support::mpi_kind == support::MpiKind::open_mpi;

} // namespace

void RmaTransport::throw_error(int code, const char* mpi_call, const Access& access) const {
    constexpr std::size_t prefix = std::char_traits<char>::length("Window::");
    support::throw_mpi_error(code, mpi_call,
                             fmt::format("{} at offset {} of rank {}", facts_.who(access.call + prefix),
                                         access.offset.bytes, access.target.value));
}

template <class Piece>
[[gnu::always_inline]] inline void RmaTransport::for_each_piece(const BegunAccess& access, Piece piece) {
    const MPI_Aint at = *displacement(access.target, access.offset);
    const mpi::WindowTargets::IssuedOperation issued{facts_.targets, access.target};
    if (access.bytes <= mpi::largest_piece_bytes) [[likely]]
        return piece(0, static_cast<int>(access.bytes), at);
    const auto unit = static_cast<std::uint64_t>(this->unit(access.target)); // small enough: see carries()
    mpi::for_each_piece(
        access.bytes,
        [&](std::uint64_t begin, int size) { piece(begin, size, at + static_cast<MPI_Aint>(begin / unit)); }, unit);
}

bool RmaTransport::finish_locally(Rank target) {
    // The cheaper call over TCP. Not with MPICH: 4.0.2 returns from it before the data has moved when several threads
    // are at work, too rarely for a trial to find it.
    const bool local = is_open_mpi && facts_.state.paths().progress == ProgressMode::caller;
    const team::ProgressDriver::WaitingInMpi waiting{facts_.state.progress_driver()};
    check_mpi(local ? MPI_Win_flush_local(target.value, facts_.remote) : MPI_Win_flush(target.value, facts_.remote),
              local ? "MPI_Win_flush_local" : "MPI_Win_flush", facts_.state.who());
    return !local;
}

void RmaTransport::get(const BegunAccess& access, std::span<std::byte> destination) {
    keep_awake(access.target);
    for_each_piece(access, [&](std::uint64_t begin, int bytes, MPI_Aint at) {
        check(MPI_Get(destination.data() + begin, bytes, MPI_BYTE, access.target.value, at, bytes, MPI_BYTE,
                      facts_.remote),
              "MPI_Get", access);
    });
    finish_locally(access.target);
    facts_.statistics.add(Counter::rma_gets, Counter::rma_get_bytes, destination.size());
}

const std::byte* RmaTransport::stage(std::span<const std::byte> source) {
    if (ledger_.empty()) staged_ = 0; // MPI has read all
    if (staged_ + source.size() > staging_.size()) [[unlikely]] {
        if (staging_.empty()) staging_.resize(staging_bytes); // many windows never need it: those of locks
        else flush();
        staged_ = 0;
    }
    std::byte* const copy = staging_.data() + staged_;
    if (source.size() == 8) std::memcpy(copy, source.data(), 8); // the most common size without a call
    else std::memcpy(copy, source.data(), source.size());
    staged_ += (source.size() + 7) / 8 * 8;
    return copy;
}

void RmaTransport::put(const BegunAccess& access, std::span<const std::byte> source) {
    keep_awake(access.target);
    {
        const support::BiasedMutex::Guard guard{ledger_.mutex()};
        const bool staged = source.size() <= largest_staged_bytes;
        const std::byte* const from = staged ? stage(source) : source.data();
        ledger_.enter(access, nullptr, AccessLedger::Carrier::window);
        for_each_piece(access, [&](std::uint64_t begin, int bytes, MPI_Aint at) {
            check(MPI_Put(from + begin, bytes, MPI_BYTE, access.target.value, at, bytes, MPI_BYTE, facts_.remote),
                  "MPI_Put", access);
        });
        // Complete at the target, too, with what went there before it; unless that went as messages.
        if (!staged && finish_locally(access.target) && !ledger_.messages_under_way())
            ledger_.complete(access.target, ledger_.versions());
    }
    facts_.statistics.add(Counter::rma_puts, Counter::rma_put_bytes, source.size());
}

template <class Start>
std::unique_ptr<RmaTransfer> RmaTransport::start_transfer(const BegunAccess& access, Start&& start) {
    keep_awake(access.target);
    auto transfer = std::make_unique<RmaTransfer>(ledger_, access.target);
    const support::BiasedMutex::Guard guard{ledger_.mutex()};
    ledger_.enter(*transfer);
    if (access.is_tracked()) ledger_.enter(access, transfer.get(), AccessLedger::Carrier::window);
    for_each_piece(access, [&](std::uint64_t begin, int bytes, MPI_Aint at) {
        MPI_Request request = MPI_REQUEST_NULL;
        start(begin, bytes, at, &request);
        transfer->add(request);
    });
    return transfer;
}

std::unique_ptr<PendingTransfer> RmaTransport::start_get(const BegunAccess& access, std::span<std::byte> destination) {
    auto transfer = start_transfer(access, [&](std::uint64_t begin, int bytes, MPI_Aint at, MPI_Request* request) {
        check(MPI_Rget(destination.data() + begin, bytes, MPI_BYTE, access.target.value, at, bytes, MPI_BYTE,
                       facts_.remote, request),
              "MPI_Rget", access);
    });
    facts_.statistics.add(Counter::rma_gets, Counter::rma_get_bytes, destination.size());
    return transfer;
}

std::unique_ptr<PendingTransfer> RmaTransport::start_put(const BegunAccess& access, std::span<const std::byte> source) {
    if (source.size() <= largest_staged_bytes) {
        put(access, source);
        return {};
    }
    auto transfer = start_transfer(access, [&](std::uint64_t begin, int bytes, MPI_Aint at, MPI_Request* request) {
        check(MPI_Rput(source.data() + begin, bytes, MPI_BYTE, access.target.value, at, bytes, MPI_BYTE, facts_.remote,
                       request),
              "MPI_Rput", access);
    });
    facts_.statistics.add(Counter::rma_puts, Counter::rma_put_bytes, source.size());
    return transfer;
}

// ---- atomics --------------------------------------------------------------------------------------------------------

void RmaTransport::fetch(const BegunAccess& access, mpi::AtomicOperation operation, mpi::AtomicType type,
                         const void* operand, void* result) {
    facts_.state.progress_driver().keep_awake(access.target);
    int code = MPI_SUCCESS;
    {
        const mpi::WindowTargets::IssuedOperation issued{facts_.targets, access.target};
        code =
            MPI_Fetch_and_op(operand, result, mpi::mpi_type(type), access.target.value,
                             *displacement(access.target, access.offset), mpi::mpi_operation(operation), facts_.remote);
    }
    finish_atomic(code, "MPI_Fetch_and_op", access);
}

void RmaTransport::compare_swap(const BegunAccess& access, mpi::AtomicType type, const void* expected,
                                const void* desired, void* result) {
    facts_.state.progress_driver().keep_awake(access.target);
    // MPI compares integers only, and equal bits are what the call compares. Integers keep the type that other atomics
    // use, since MPI promises atomicity only among operations of one type (MPI 3.1, section 11.7.1).
    const MPI_Datatype bits = type == mpi::AtomicType::float32   ? MPI_UINT32_T
                              : type == mpi::AtomicType::float64 ? MPI_UINT64_T
                                                                 : mpi::mpi_type(type);
    int code = MPI_SUCCESS;
    {
        const mpi::WindowTargets::IssuedOperation issued{facts_.targets, access.target};
        code = MPI_Compare_and_swap(desired, expected, result, bits, access.target.value,
                                    *displacement(access.target, access.offset), facts_.remote);
    }
    finish_atomic(code, "MPI_Compare_and_swap", access);
}

void RmaTransport::finish_atomic(int code, const char* mpi_call, const BegunAccess& access) {
    check(code, mpi_call, access);
    const team::ProgressDriver::WaitingInMpi waiting{facts_.state.progress_driver()};
    check(MPI_Win_flush(access.target.value, facts_.remote), "MPI_Win_flush", access);
    facts_.statistics.add(Counter::rma_atomics);
}

// ---- flushes --------------------------------------------------------------------------------------------------------

void RmaTransport::flush(Rank target) {
    if (facts_.network != Path::rma) return;
    const team::ProgressDriver::WaitingInMpi waiting{facts_.state.progress_driver()};
    check(MPI_Win_flush(target.value, facts_.remote), "MPI_Win_flush", {.target = target, .call = "Window::flush"});
    facts_.statistics.add(Counter::rma_flushes);
}

void RmaTransport::flush() {
    if (facts_.network != Path::rma) return;
    // One target after the other, although the operations of all are under way: MPICH 4.0.2 over UCX returns from
    // MPI_Win_flush_all before it has even read the origin's memory of all puts, if there are several targets. Open
    // MPI's works, and saves its component for messages a round trip per target.
    if constexpr (is_open_mpi) {
        int ranks = 0;
        ledger_.outstanding().for_each_rank_by_window([&](Rank) { ++ranks; });
        if (ranks > 1) {
            check_mpi(MPI_Win_flush_all(facts_.remote), "MPI_Win_flush_all", facts_.state.who());
            return facts_.statistics.add(Counter::rma_flushes);
        }
    }
    ledger_.outstanding().for_each_rank_by_window([&](Rank target) { flush(target); });
}

} // namespace lapwing::detail::transport
