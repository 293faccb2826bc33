// The engine's end at the owner of lists of atomics. As those of gathered adds, requests are read once and must not throw; and
// MPI is called past the profiling interface, since the program may have its own in the place of its calls.
#include "src/messages/engine.hpp"

#include "src/messages/owner_atomics.hpp"
#include "src/mpi/atomics.hpp"
#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <cstring>

namespace lapwing::messages {
namespace {

MPI_Aint displacement(const ExposedMemory& memory, std::uint64_t offset) {
    return static_cast<MPI_Aint>(offset / static_cast<std::uint64_t>(memory.unit));
}

/// As WindowState::fetch_unsigned_extreme, at the owner.
FailedMpiCall unsigned_extreme(const ExposedMemory& memory, mpi::AtomicOperation operation, mpi::AtomicType type, std::uint64_t offset,
                               const void* operand, void* before) {
    const auto value = [type](const void* bytes) { return mpi::unsigned_value(type, bytes); };
    const std::uint64_t wanted = value(operand);
    if (const auto failed = fetch_by_mpi(memory, mpi::AtomicOperation::read, type, offset, operand, before)) return failed;
    if (const auto failed = flush_own_part(memory)) return failed;
    while (operation == mpi::AtomicOperation::min ? wanted < value(before) : wanted > value(before)) {
        std::uint64_t expected = 0;
        std::memcpy(&expected, before, mpi::size_of(type));
        if (const auto failed = compare_swap_by_mpi(memory, type, offset, &expected, operand, before)) return failed;
        if (const auto failed = flush_own_part(memory)) return failed;
        if (value(before) == value(&expected)) break;
    }
    return {};
}

} // namespace

FailedMpiCall fetch_by_mpi(const ExposedMemory& memory, mpi::AtomicOperation operation, mpi::AtomicType type, std::uint64_t offset,
                           const void* operand, void* before) {
    if (mpi::is_unsigned_extreme(operation, type)) return unsigned_extreme(memory, operation, type, offset, operand, before);
    return {PMPI_Fetch_and_op(operand, before, mpi::mpi_type(type), memory.rank, displacement(memory, offset), mpi::mpi_operation(operation),
                              memory.atomics),
            "MPI_Fetch_and_op"};
}

FailedMpiCall compare_swap_by_mpi(const ExposedMemory& memory, mpi::AtomicType type, std::uint64_t offset, const void* expected,
                                  const void* desired, void* before) {
    // See WindowState::atomic_compare_swap for the types.
    const MPI_Datatype bits = type == mpi::AtomicType::float32   ? MPI_UINT32_T
                              : type == mpi::AtomicType::float64 ? MPI_UINT64_T
                                                            : mpi::mpi_type(type);
    return {PMPI_Compare_and_swap(desired, expected, before, bits, memory.rank, displacement(memory, offset), memory.atomics),
            "MPI_Compare_and_swap"};
}

FailedMpiCall flush_own_part(const ExposedMemory& memory) {
    return {PMPI_Win_flush(memory.rank, memory.atomics), "MPI_Win_flush"};
}

bool Engine::handle_atomics(Peer& origin, const Request& request, const std::byte* payload) {
    if (is_abandoned(request.window)) return true; // no answer: the origin hears of the departure
    const bool swaps = request.is_compare_swap != 0;
    const std::uint64_t entry = swaps ? sizeof(ListedSwap) : sizeof(AddPayload);
    const std::uint64_t count = request.size / entry;
    std::byte* answer =
        append_reply(origin, {.kind = ReplyKind::data, .token = request.token, .size = 8 * count}, 8 * count);
    if (answer == nullptr) return false; // before anything is carried out: the request comes again
    const auto found = exposed_.find(request.window);
    const auto report = [&](const FailedMpiCall& failed) {
        if (failed && problem_.empty())
            problem_ = fmt::format("{}: {} failed for atomics of rank {} on window {}, whose results are wrong: {}", who_, failed.call,
                                   origin.rank, request.window, support::mpi_error_text(failed.code));
    };
    bool by_mpi = false;
    for (std::uint64_t k = 0; k < count; ++k, answer += 8) {
        std::memset(answer, 0, 8);
        ListedSwap one;
        if (swaps) {
            std::memcpy(&one, payload + k * entry, sizeof one);
        } else {
            AddPayload fetched;
            std::memcpy(&fetched, payload + k * entry, sizeof fetched);
            one.offset = fetched.offset;
            one.values.operand = fetched.operand;
        }
        Request place = request;
        place.offset = one.offset;
        std::byte* const address = address_of(origin, place, mpi::size_of(request.type));
        if (address == nullptr) continue; // has been reported
        const ExposedMemory& memory = found->second;
        if (memory.atomics != MPI_WIN_NULL) {
            by_mpi = true;
            // MPI keeps atomics of one rank on one value in order, and reads the operands before the flush below returns: they
            // must stay. Those of the packet do.
            const std::byte* const operand = payload + k * entry + sizeof(std::uint64_t);
            report(swaps ? compare_swap_by_mpi(memory, request.type, one.offset, operand + sizeof(std::uint64_t), operand, answer)
                         : fetch_by_mpi(memory, request.operation, request.type, one.offset, operand, answer));
        } else if (swaps) {
            mpi::processor_compare_swap(request.type, address, &one.values.expected, &one.values.operand, answer);
        } else {
            mpi::processor_fetch(request.operation, request.type, address, &one.values.operand, answer);
        }
    }
    if (by_mpi) report(flush_own_part(found->second));
    return true;
}

} // namespace lapwing::messages
