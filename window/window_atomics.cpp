#include "window/window_atomics.hpp"

#include "window/repeated_looks.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>

namespace lapwing::detail::window {
namespace {

bool releases(std::memory_order order) {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

bool acquires(std::memory_order order) {
    return order == std::memory_order_acquire || order == std::memory_order_consume ||
           order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

} // namespace

void WindowAtomics::check_placement(mpi::AtomicType type, Rank target, Offset offset, const char* call) const {
    if (mpi::size_of(type) > facts_.alignment)
        throw RangeError{fmt::format(
            "{}: the value has {} bytes, and the program's memory begins at a multiple of no more than {} bytes "
            "on some rank; atomics need aligned values: align the memory of the window on all ranks",
            facts_.who(call), mpi::size_of(type), facts_.alignment)};
    if (facts_.mpi_atomics && !transports_.rma.displacement(target, offset))
        throw RangeError{
            fmt::format("{}: offset {} is not a multiple of the displacement unit of the adopted window; atomics "
                        "need one (make the window with displacement unit 1)",
                        facts_.who(call), offset.bytes)};
}

[[gnu::always_inline]] inline void WindowAtomics::fetch_untold(mpi::AtomicOperation operation, mpi::AtomicType type,
                                                               Rank target, Offset offset, const void* operand,
                                                               void* result) {
    if (facts_.mpi_atomics && !facts_.trusted.fetches(operation, type))
        return fetch_by_swaps(operation, type, target, offset, operand, result);
    if (std::byte* const base = processor_base(target))
        return mpi::processor_fetch(operation, type, base + offset.bytes, operand, result);
    const transport::BegunAccess access =
        order_.begin({target, offset, mpi::size_of(type), transport::Access::Kind::update, "Window::fetch"});
    transports_.route_of_atomics().fetch(access, operation, type, operand, result);
}

void WindowAtomics::fetch(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset,
                          const void* operand, void* result, std::memory_order order) {
    if (operation == mpi::AtomicOperation::read) facts_.state.progress_driver().serve_looks();
    else facts_.state.progress_driver().serve_now_and_then();
    if (releases(order)) order_.release();
    const std::uint64_t mark = order_.copies().mark();
    fetch_untold(operation, type, target, offset, operand, result);
    notify_copies(operation, type, target, offset, operand, result, mark);
    if (acquires(order)) order_.acquire();
}

void WindowAtomics::notify_concerned(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset,
                                     const void* operand, const void* before, std::uint64_t mark) {
    // MPIs treat a NaN differently. Asked for in any case, so that a copy does not depend on where the ranks run.
    if (mpi::is_floating_extreme(operation, type))
        return order_.copies().invalidated(target, offset, mpi::size_of(type));
    if (before == nullptr) return order_.copies().atomic_sent(target, offset, operation, type, operand, mark);
    const mpi::AtomicValueBytes after = mpi::value_after(operation, type, before, operand);
    order_.copies().atomic_result(target, offset, std::span{after}.first(mpi::size_of(type)), mark);
}

void WindowAtomics::update(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset,
                           const void* operand) {
    std::uint64_t before = 0;
    const std::uint64_t mark = order_.copies().mark();
    if (std::byte* const base = processor_base(target)) {
        mpi::processor_fetch(operation, type, base + offset.bytes, operand, &before);
    } else if (facts_.map.base(target) != nullptr) {
        facts_.state.progress_driver().serve_now_and_then();
        fetch_untold(operation, type, target, offset, operand, &before);
    } else {
        order_.add({target, offset, mpi::size_of(type), transport::Access::Kind::update, "Window::add"},
                   {operation, type}, operand);
    }
    // Its result at the owner is known on the node only: copies get the same everywhere.
    notify_copies(operation, type, target, offset, operand, nullptr, mark);
}

void WindowAtomics::fetch_by_swaps(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset,
                                   const void* operand, void* result) {
    constexpr bool failed = false; // swap_untold() throws
    mpi::fetch_by_swaps(operation, type, operand, result, [&](const void* expected, const void* desired, void* before) {
        swap_untold(type, target, offset, expected, desired, before);
        return failed;
    });
}

void WindowAtomics::compare_swap(mpi::AtomicType type, Rank target, Offset offset, const void* expected,
                                 const void* desired, void* result, std::memory_order order, Part part) {
    facts_.state.progress_driver().serve_now_and_then();
    if (releases(order)) order_.release();
    const std::uint64_t mark = order_.copies().mark();
    swap_untold(type, target, offset, expected, desired, result);
    if (order_.copies().concerns(target)) {
        const bool swapped = std::memcmp(result, expected, mpi::size_of(type)) == 0;
        const auto* const after = static_cast<const std::byte*>(swapped ? desired : result);
        order_.copies().atomic_result(target, offset.bytes + part.place, {after + part.place, part.bytes}, mark);
    }
    if (acquires(order)) order_.acquire();
}

void WindowAtomics::swap_untold(mpi::AtomicType type, Rank target, Offset offset, const void* expected,
                                const void* desired, void* result) {
    if (std::byte* const base = processor_base(target))
        return mpi::processor_compare_swap(type, base + offset.bytes, expected, desired, result);
    const transport::BegunAccess access =
        order_.begin({target, offset, mpi::size_of(type), transport::Access::Kind::update, "Window::compare_swap"});
    transports_.route_of_atomics().compare_swap(access, type, expected, desired, result);
}

WideValue WindowAtomics::wide(const WideAtomic& atomic, Rank target, Offset offset, const WideValue& operand,
                              const WideValue& expected, std::memory_order order) {
    const bool reads = atomic.operation == mpi::AtomicOperation::read;
    if (reads) facts_.state.progress_driver().serve_looks();
    else facts_.state.progress_driver().serve_now_and_then();
    if (releases(order)) order_.release();
    const messages::Request request{.kind = messages::RequestKind::wide_atomic,
                                    .operation = atomic.operation,
                                    .type = atomic.type,
                                    .is_compare_swap = static_cast<std::uint8_t>(atomic.is_compare_swap ? 1 : 0),
                                    .window = facts_.number,
                                    .offset = offset.bytes,
                                    .size = atomic.compared};
    const std::string call = fmt::format("Window::{}", atomic.call);
    const std::uint64_t mark = order_.copies().mark();
    const messages::WidePayload payload{.operand = operand.bytes, .expected = expected.bytes};
    WideValue before;
    transports_.messages.atomic(
        order_.begin({target, offset, sizeof before, transport::Access::Kind::update, call.c_str()}), request,
        std::as_bytes(std::span{&payload, 1}), std::as_writable_bytes(std::span{before.bytes}));
    const bool changed = messages::changes_wide(request, payload, before.bytes);
    if (!reads && order_.copies().concerns(target))
        order_.copies().atomic_result(target, offset, changed ? operand.bytes : before.bytes, mark);
    if (acquires(order)) order_.acquire();
    if (!changed && atomic.looks) {
        std::array<std::uint64_t, 2> halves{};
        std::memcpy(halves.data(), &before, sizeof before);
        look(target, offset, halves[0] ^ std::rotl(halves[1], 1), atomic.call);
    }
    return before;
}

void WindowAtomics::look_again(mpi::AtomicType type, Rank target, Offset offset, const void* before, const void* after,
                               const char* call) {
    if (std::memcmp(before, after, mpi::size_of(type)) != 0) return;
    std::uint64_t value = 0;
    std::memcpy(&value, before, mpi::size_of(type));
    look_again(target, offset, value, call);
}

void WindowAtomics::look_again(Rank target, Offset offset, std::uint64_t value, const char* call) {
    if (RepeatedLooks::again(this, target, offset, value))
        facts_.state.check_reachable(fmt::format("Window::{}", call).c_str(), team::Membership::any_rank);
}

} // namespace lapwing::detail::window
