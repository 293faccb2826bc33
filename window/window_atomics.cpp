// Atomics of a window: the processor's, MPI's, or by messages to the owner.
#include "window/window_state.hpp"

#include "src/mpi/atomics.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <cstring>

namespace lapwing::window {
namespace {

bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

bool acquires(std::memory_order order) {
    return order == std::memory_order_acquire || order == std::memory_order_consume || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

} // namespace

void WindowState::check_atomic(mpi::AtomicType type, int target, std::uint64_t offset, const char* call) const {
    if (mpi::size_of(type) > alignment_)
        throw RangeError{fmt::format("{}: the value has {} bytes, and the program's memory begins at a multiple of no more than {} bytes "
                                     "on some rank; atomics need aligned values: align the memory of the window on all ranks",
                                     who(call), mpi::size_of(type), alignment_)};
    if (mpi_atomics_ && !displacement(target, offset))
        throw RangeError{fmt::format("{}: offset {} is not a multiple of the displacement unit of the adopted window; atomics "
                                     "need one (make the window with displacement unit 1)",
                                     who(call), offset)};
}

void WindowState::atomic_fetch(mpi::AtomicOperation operation, mpi::AtomicType type, int target, std::uint64_t offset,
                               const void* operand, void* result, std::memory_order order) {
    if (operation == mpi::AtomicOperation::read) state_.serve_looks();
    else state_.serve_now_and_then();
    if (releases(order)) release();
    if (mpi_atomics_ && mpi::is_unsigned_extreme(operation, type)) {
        fetch_unsigned_extreme(operation, type, target, offset, operand, result);
    } else if (std::byte* const base = map_.base(target); base != nullptr && !mpi_atomics_) {
        mpi::processor_fetch(operation, type, base + offset, operand, result);
    } else {
        cache_before_update(target, offset, mpi::size_of(type));
        begin_access(target, offset, mpi::size_of(type), true, "Window::fetch");
        if (mpi_atomics_) {
            state_.keep_awake(target);
            finish_mpi_atomic(MPI_Fetch_and_op(operand, result, mpi::mpi_type(type), target, *displacement(target, offset),
                                               mpi::mpi_operation(operation), remote_),
                              "MPI_Fetch_and_op", "fetch", target, offset);
        } else {
            messages::AtomicPayload payload;
            std::memcpy(&payload.operand, operand, mpi::size_of(type));
            const messages::Command command{
                .kind = messages::CommandKind::atomic, .operation = operation, .type = type, .window = number_, .offset = offset};
            service_atomic(target, command, payload, result, "Window::fetch");
        }
    }
    if (acquires(order)) acquire();
}

void WindowState::finish_mpi_atomic(int code, const char* mpi_call, const char* call, int target, std::uint64_t offset) {
    check_transfer(code, mpi_call, call, target, offset);
    const team::TeamState::WaitingInMpi waiting{state_};
    check_transfer(MPI_Win_flush(target, remote_), "MPI_Win_flush", call, target, offset);
    statistics_.add(Counter::rma_atomics);
}

void WindowState::atomic_update(mpi::AtomicOperation operation, mpi::AtomicType type, int target, std::uint64_t offset,
                                const void* operand) {
    if (std::byte* const base = map_.base(target); base != nullptr) {
        std::uint64_t before = 0;
        if (mpi_atomics_) return atomic_fetch(operation, type, target, offset, operand, &before, std::memory_order_relaxed);
        return mpi::processor_fetch(operation, type, base + offset, operand, &before);
    }
    state_.check_reachable("Window::add", target);
    if (!chunked_transfers_.empty()) [[unlikely]] chunked_transfers_.before(target, offset, mpi::size_of(type), true);
    cache_before_update(target, offset, mpi::size_of(type));
    adds_.add(target, offset, {operation, type}, operand);
}

AddSender::Limits WindowState::add_limits() const {
    return {.message = state_.engine().inline_limit() / sizeof(messages::AddPayload),
            .bytes = add_memory(state_.settings()),
            .ranks = static_cast<std::size_t>(state_.size())};
}

void WindowState::send_adds(int target, AddKind kind, std::uint64_t begin, std::uint64_t end, std::span<const messages::AddPayload> adds) {
    state_.check_reachable("Window::add", target);
    bool conflict = false;
    bool full = false;
    {
        const support::BiasedMutex::Guard guard{mutex_};
        conflict = outstanding_.conflicts(target, begin, end - begin, true);
        full = sent_adds_.full();
    }
    if (conflict) {
        statistics_.add(Counter::conflicts);
        complete_started(target);
    }
    if (full) complete_sent_adds();
    const messages::Command command{.kind = messages::CommandKind::adds,
                          .operation = kind.operation,
                          .type = kind.type,
                          .window = number_,
                          .size = adds.size_bytes()};
    start(
        [&] {
            const support::BiasedMutex::Guard guard{mutex_};
            if (!state_.engine().try_adds(target, command, adds)) return false;
            note_message();
            sent_adds_.add_write(target, begin, end - begin, Carrier::messages);
            return true;
        },
        "Window::add", target);
    statistics_.add(Counter::atomic_adds, adds.size());
    statistics_.add(Counter::atomic_add_messages);
}

void WindowState::service_atomic(int target, const messages::Command& command, const messages::AtomicPayload& payload, void* result,
                                 const char* call) {
    std::uint64_t before = 0;
    messages::Operation waiting;
    waiting.destination = reinterpret_cast<std::byte*>(&before);
    start([&] { return state_.engine().try_atomic(waiting, target, command, payload); }, call, target);
    wait(waiting, call, target);
    std::memcpy(result, &before, mpi::size_of(command.type));
    statistics_.add(Counter::service_atomics);
}

void WindowState::fetch_unsigned_extreme(mpi::AtomicOperation operation, mpi::AtomicType type, int target, std::uint64_t offset,
                                         const void* operand, void* result) {
    const auto value = [type](const void* bytes) { return mpi::unsigned_value(type, bytes); };
    const std::uint64_t wanted = value(operand);
    atomic_fetch(mpi::AtomicOperation::read, type, target, offset, operand, result, std::memory_order_relaxed);
    while (operation == mpi::AtomicOperation::min ? wanted < value(result) : wanted > value(result)) {
        std::array<std::byte, 8> expected{};
        std::memcpy(expected.data(), result, mpi::size_of(type));
        atomic_compare_swap(type, target, offset, expected.data(), operand, result, std::memory_order_relaxed);
        if (value(result) == value(expected.data())) return;
    }
}

void WindowState::atomic_compare_swap(mpi::AtomicType type, int target, std::uint64_t offset, const void* expected,
                                      const void* desired, void* result, std::memory_order order) {
    state_.serve_now_and_then();
    if (releases(order)) release();
    if (std::byte* const base = map_.base(target); base != nullptr && !mpi_atomics_) {
        mpi::processor_compare_swap(type, base + offset, expected, desired, result);
    } else {
        cache_before_update(target, offset, mpi::size_of(type));
        begin_access(target, offset, mpi::size_of(type), true, "Window::compare_swap");
        if (mpi_atomics_) {
            state_.keep_awake(target);
            // MPI compares integers only; equal bits are what is asked for. Integers keep the type that the other atomics
            // name, since MPI promises atomicity for operations of one type (MPI 3.1, section 11.7.1).
            const MPI_Datatype bits = type == mpi::AtomicType::float32   ? MPI_UINT32_T
                                      : type == mpi::AtomicType::float64 ? MPI_UINT64_T
                                                                    : mpi::mpi_type(type);
            finish_mpi_atomic(
                MPI_Compare_and_swap(desired, expected, result, bits, target, *displacement(target, offset), remote_),
                "MPI_Compare_and_swap", "compare_swap", target, offset);
        } else {
            messages::AtomicPayload payload;
            std::memcpy(&payload.operand, desired, mpi::size_of(type));
            std::memcpy(&payload.expected, expected, mpi::size_of(type));
            const messages::Command command{
                .kind = messages::CommandKind::atomic, .type = type, .is_compare_swap = 1, .window = number_, .offset = offset};
            service_atomic(target, command, payload, result, "Window::compare_swap");
        }
    }
    if (acquires(order)) acquire();
}

} // namespace lapwing::window
