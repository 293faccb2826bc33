// MPI is called past the profiling interface: the program may have replaced its calls
// (lapwing::transparent, or a tool), which would enter Lapwing with the engine's mutex held.
#include "src/messages/owner_atomics.hpp"

#include "src/messages/request_table.hpp"
#include "src/mpi/atomics.hpp"
#include "src/support/mpi_error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lapwing::detail::messages {
namespace {

/// What went wrong in MPI; nothing, mostly.
struct FailedMpiCall {
    int code = MPI_SUCCESS;
    const char* call = "";
    explicit operator bool() const noexcept { return code != MPI_SUCCESS; }
};

MPI_Aint displacement(const ExposedMemory& memory, Offset offset) {
    return static_cast<MPI_Aint>(offset.bytes / static_cast<std::uint64_t>(memory.unit));
}

FailedMpiCall flush_own_part(const ExposedMemory& memory) {
    return {PMPI_Win_flush(memory.rank.value, memory.atomics), "MPI_Win_flush"};
}

// Atomics of MPI's on this rank's own part, for another rank. `before` has the value when the window has been flushed
// for this rank.

FailedMpiCall compare_swap_by_mpi(const ExposedMemory& memory, mpi::AtomicType type, Offset offset,
                                  const void* expected, const void* desired, void* before) {
    // See RmaTransport::compare_swap for the types.
    const MPI_Datatype bits = type == mpi::AtomicType::float32   ? MPI_UINT32_T
                              : type == mpi::AtomicType::float64 ? MPI_UINT64_T
                                                                 : mpi::mpi_type(type);
    const mpi::WindowTargets::IssuedOperation issued{*memory.targets, memory.rank};
    return {PMPI_Compare_and_swap(desired, expected, before, bits, memory.rank.value, displacement(memory, offset),
                                  memory.atomics),
            "MPI_Compare_and_swap"};
}

FailedMpiCall fetch_and_op(const ExposedMemory& memory, mpi::AtomicOperation operation, mpi::AtomicType type,
                           Offset offset, const void* operand, void* before) {
    const mpi::WindowTargets::IssuedOperation issued{*memory.targets, memory.rank};
    return {PMPI_Fetch_and_op(operand, before, mpi::mpi_type(type), memory.rank.value, displacement(memory, offset),
                              mpi::mpi_operation(operation), memory.atomics),
            "MPI_Fetch_and_op"};
}

FailedMpiCall fetch_by_mpi(const ExposedMemory& memory, mpi::AtomicOperation operation, mpi::AtomicType type,
                           Offset offset, const void* operand, void* before) {
    if (memory.trusted.fetches(operation, type)) return fetch_and_op(memory, operation, type, offset, operand, before);
    return mpi::fetch_by_swaps(
        operation, type, operand, before, [&](const void* expected, const void* desired, void* found) {
            const auto failed = compare_swap_by_mpi(memory, type, offset, expected, desired, found);
            return failed ? failed : flush_own_part(memory);
        });
}

FailedMpiCall add_by_mpi(const ExposedMemory& memory, mpi::AtomicOperation operation, mpi::AtomicType type,
                         Offset offset, const void* operand) {
    if (!memory.trusted.fetches(operation, type)) {
        std::uint64_t before = 0;
        return fetch_by_mpi(memory, operation, type, offset, operand, &before);
    }
    const MPI_Datatype mpi_type = mpi::mpi_type(type);
    const mpi::WindowTargets::IssuedOperation issued{*memory.targets, memory.rank};
    return {PMPI_Accumulate(operand, 1, mpi_type, memory.rank.value, displacement(memory, offset), 1, mpi_type,
                            mpi::mpi_operation(operation), memory.atomics),
            "MPI_Accumulate"};
}

/// An atomic of a list, as it travels: places of the operand and the expected value in the packet. MPI keeps atomics of
/// one rank on one value in order, and reads the operands before a flush returns: they must stay until then. Those of
/// the packet do.
struct Listed {
    std::uint64_t offset = 0;
    const std::byte* operand = nullptr;
    const std::byte* expected = nullptr; ///< of a compare_swap
};

/// The processor takes its values aligned, from a copy.
void by_processor(const Request& request, const Listed& one, std::byte* address, void* before) {
    AtomicPayload values;
    std::memcpy(&values.operand, one.operand, sizeof values.operand);
    if (one.expected == nullptr)
        return mpi::processor_fetch(request.operation, request.type, address, &values.operand, before);
    std::memcpy(&values.expected, one.expected, sizeof values.expected);
    mpi::processor_compare_swap(request.type, address, &values.expected, &values.operand, before);
}

Listed listed(const std::byte* entry, bool swaps) {
    Listed one;
    std::memcpy(&one.offset, entry, sizeof one.offset); // AddPayload is the beginning of ListedSwap
    one.operand = entry + offsetof(AddPayload, operand);
    if (swaps) one.expected = entry + offsetof(ListedSwap, values) + offsetof(AtomicPayload, expected);
    return one;
}

/// Whether an atomic on 16 bytes is of a number with its location.
bool is_located(const Request& request) {
    return request.operation == mpi::AtomicOperation::min || request.operation == mpi::AtomicOperation::max;
}

} // namespace

bool changes_wide(const Request& request, const WidePayload& values, std::span<const std::byte> before) {
    if (is_located(request))
        return mpi::replaces_located(request.operation, request.type, before.data(), values.operand.data());
    if (request.is_compare_swap != 0) return std::memcmp(before.data(), values.expected.data(), request.size) == 0;
    return request.operation == mpi::AtomicOperation::replace;
}

bool OwnerAtomics::makes_sense(const Peer& origin, const Request& request, std::uint64_t entry_bytes) {
    const bool floating = request.type == mpi::AtomicType::float32 || request.type == mpi::AtomicType::float64;
    const bool of_bits =
        request.operation >= mpi::AtomicOperation::bit_and && request.operation <= mpi::AtomicOperation::bit_xor;
    const bool known = request.type <= mpi::AtomicType::float64 && request.operation <= mpi::AtomicOperation::read;
    if (known && !(floating && of_bits) && request.is_compare_swap <= 1 &&
        (entry_bytes == 0 || request.size % entry_bytes == 0))
        return true;
    note_senseless(origin, request);
    return false;
}

void OwnerAtomics::note_senseless(const Peer& origin, const Request& request) {
    endpoint_.note_problem(fmt::format(
        "rank {} asked for an atomic that does not exist ({}, operation {}, type {}, compare_swap {}, {} bytes "
        "of values) on window {}: the request was dropped; {}",
        origin.rank.value, row_of(request.kind)->name, static_cast<int>(request.operation),
        static_cast<int>(request.type), request.is_compare_swap, request.size, request.window, fault_of_builds));
}

std::byte* OwnerAtomics::address_of(const Peer& origin, const Request& request, Offset offset) {
    const std::uint64_t bytes = mpi::size_of(request.type);
    std::byte* const address = windows_.address_of(origin.rank, request, offset, bytes);
    if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return address; // null, too
    endpoint_.note_problem(
        fmt::format("rank {} asked for an atomic on {} bytes at offset {} of window {}, which are not aligned here: it "
                    "was dropped; {}",
                    origin.rank.value, bytes, offset.bytes, request.window, fault_of_builds));
    return nullptr;
}

bool OwnerAtomics::fetch(Peer& origin, const Request& request, const AtomicPayload& values) {
    if (!makes_sense(origin, request, 0)) return true;
    std::byte* const address = address_of(origin, request, request.offset);
    if (address == nullptr) return true;
    std::byte* const answer = replies_.append(origin, {.kind = ReplyKind::data, .token = request.token, .size = 8});
    if (answer == nullptr) return false;
    if (request.is_compare_swap != 0)
        mpi::processor_compare_swap(request.type, address, &values.expected, &values.operand, answer);
    else mpi::processor_fetch(request.operation, request.type, address, &values.operand, answer);
    return true;
}

bool OwnerAtomics::fetch_wide(Peer& origin, const Request& request, const WidePayload& values) {
    const bool swaps = request.is_compare_swap != 0;
    const bool number = request.type <= mpi::AtomicType::float64 && mpi::size_of(request.type) == 8;
    const bool known = request.operation == mpi::AtomicOperation::replace ||
                       (!swaps && (request.operation == mpi::AtomicOperation::read || (is_located(request) && number)));
    if (request.is_compare_swap > 1 || request.size > WidePayload::value_bytes || !known) {
        note_senseless(origin, request);
        return true;
    }
    // At any address: no processor's atomic is used.
    std::byte* const address = windows_.address_of(origin.rank, request, request.offset, WidePayload::value_bytes);
    if (address == nullptr) return true;
    std::byte* const answer =
        replies_.append(origin, {.kind = ReplyKind::data, .token = request.token, .size = WidePayload::value_bytes});
    if (answer == nullptr) return false;
    std::memcpy(answer, address, WidePayload::value_bytes);
    if (changes_wide(request, values, {answer, WidePayload::value_bytes}))
        std::memcpy(address, values.operand.data(), WidePayload::value_bytes);
    return true;
}

bool OwnerAtomics::fetch_list(Peer& origin, const Request& request, std::span<const std::byte> list) {
    if (windows_.is_abandoned(request.window)) return true; // no answer: the origin is notified that this rank left
    const bool swaps = request.is_compare_swap != 0;
    const std::uint64_t entry = swaps ? sizeof(ListedSwap) : sizeof(AddPayload);
    if (!makes_sense(origin, request, entry)) return true;
    const std::uint64_t count = list.size() / entry;
    std::byte* answer = replies_.append(origin, {.kind = ReplyKind::data, .token = request.token, .size = 8 * count});
    if (answer == nullptr) return false; // before anything is done: the request comes again
    const ExposedMemory* const memory = windows_.memory_of(request.window);
    const auto report = [&](const FailedMpiCall& failed) {
        if (failed)
            endpoint_.note_problem(
                fmt::format("{} failed for atomics of rank {} on window {}, whose results are wrong: {}", failed.call,
                            origin.rank.value, request.window, support::mpi_error_text(failed.code)));
    };
    bool by_mpi = false;
    for (std::uint64_t k = 0; k < count; ++k, answer += 8) {
        std::memset(answer, 0, 8);
        const Listed one = listed(list.data() + k * entry, swaps);
        std::byte* const address = address_of(origin, request, one.offset);
        if (address == nullptr) continue; // has been noted
        if (memory->atomics == MPI_WIN_NULL) {
            by_processor(request, one, address, answer);
            continue;
        }
        by_mpi = true;
        report(swaps ? compare_swap_by_mpi(*memory, request.type, one.offset, one.expected, one.operand, answer)
                     : fetch_by_mpi(*memory, request.operation, request.type, one.offset, one.operand, answer));
    }
    if (by_mpi) report(flush_own_part(*memory));
    return true;
}

void OwnerAtomics::add_list(const Peer& origin, const Request& request, std::span<const std::byte> list) {
    if (!makes_sense(origin, request, sizeof(AddPayload))) return;
    const ExposedMemory* const memory = windows_.memory_of(request.window);
    const auto report = [&](const FailedMpiCall& failed) {
        if (failed)
            endpoint_.note_problem(fmt::format("{} failed for adds of rank {} to window {}, of which some are lost: {}",
                                               failed.call, origin.rank.value, request.window,
                                               support::mpi_error_text(failed.code)));
    };
    bool by_mpi = false;
    for (std::uint64_t at = 0; at + sizeof(AddPayload) <= list.size(); at += sizeof(AddPayload)) {
        const Listed one = listed(list.data() + at, false);
        std::byte* const address = address_of(origin, request, one.offset);
        if (address == nullptr) continue; // has been noted
        if (memory->atomics == MPI_WIN_NULL) {
            std::uint64_t before = 0;
            by_processor(request, one, address, &before);
            continue;
        }
        by_mpi = true;
        report(add_by_mpi(*memory, request.operation, request.type, one.offset, one.operand));
    }
    if (by_mpi) report(flush_own_part(*memory));
}

} // namespace lapwing::detail::messages
