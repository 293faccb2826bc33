#pragma once

#include "src/mpi/atomics.hpp"
#include "window/access_order.hpp"

#include <lapwing/completion.hpp>
#include <lapwing/detail/atomic_place.hpp>
#include <lapwing/rank.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

namespace lapwing::detail::window {

/// The atomics of a window, on any rank: the processor's, MPI's, or by messages to the owner.
class WindowAtomics {
public:
    WindowAtomics(transport::WindowFacts& facts, AccessOrder& order, transport::Transports& transports) noexcept
        : facts_{facts}, order_{order}, transports_{transports} {}

    /// Throws RangeError when an adopted window cannot have such an atomic: its displacement unit cannot express the
    /// offset, or a rank's part does not begin at a multiple of the value's size.
    void check(mpi::AtomicType type, Rank target, Offset offset, const char* call) const {
        if (facts_.mpi_atomics || mpi::size_of(type) > facts_.alignment) [[unlikely]]
            check_placement(type, target, offset, call);
    }

    void fetch(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset, const void* operand,
               void* result, std::memory_order order);
    /// The bytes of a value, from `place` on.
    struct Part {
        std::uint64_t place = 0;
        std::uint64_t bytes = 0;
    };
    /// Copies are notified of `part`, all that the caller wants to change.
    void compare_swap(mpi::AtomicType type, Rank target, Offset offset, const void* expected, const void* desired,
                      void* result, std::memory_order order, Part part);
    void compare_swap(mpi::AtomicType type, Rank target, Offset offset, const void* expected, const void* desired,
                      void* result, std::memory_order order) {
        compare_swap(type, target, offset, expected, desired, result, order, {.bytes = mpi::size_of(type)});
    }
    void update(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset, const void* operand);
    /// After an atomic that has changed nothing: the same as learn_of_left_ranks(), for any value.
    void look(Rank target, Offset offset, std::uint64_t value, const char* call) {
        if (facts_.state.membership().troubled()) [[unlikely]]
            look_again(target, offset, value, call);
    }
    /// One on 16 bytes, by its owner.
    [[nodiscard]] WideValue wide(const WideAtomic& atomic, Rank target, Offset offset, const WideValue& operand,
                                 const WideValue& expected, std::memory_order order);
    /// After an atomic that may be part of a polling loop: throws PeerLeftError when a rank has left and two of this
    /// thread's atomics in a row have changed nothing and returned the same.
    void learn_of_left_ranks(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset,
                             const void* operand, const void* before) {
        if (!facts_.state.membership().troubled()) [[likely]]
            return;
        look_again(type, target, offset, before, mpi::value_after(operation, type, before, operand).data(),
                   mpi::fetch_name(operation));
    }
    void learn_of_left_ranks(mpi::AtomicType type, Rank target, Offset offset, const void* expected,
                             const void* before) {
        if (!facts_.state.membership().troubled() || std::memcmp(before, expected, mpi::size_of(type)) == 0) [[likely]]
            return;
        look_again(type, target, offset, before, before, "compare_swap");
    }
    /// See Window::fetch; of compare_swap the operation is replace.
    [[nodiscard]] Completion start(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target,
                                   std::span<const mpi::ListedAtomic> list);

private:
    void check_placement(mpi::AtomicType type, Rank target, Offset offset, const char* call) const;
    void look_again(mpi::AtomicType type, Rank target, Offset offset, const void* before, const void* after,
                    const char* call);
    void look_again(Rank target, Offset offset, std::uint64_t value, const char* call);
    /// Where the processor's atomics are used for that rank; else null.
    [[nodiscard]] std::byte* processor_base(Rank target) const noexcept {
        return facts_.mpi_atomics ? nullptr : facts_.map.base(target);
    }
    /// The operations themselves, relaxed; copies are not notified of them yet.
    void fetch_untold(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset,
                      const void* operand, void* result);
    void swap_untold(mpi::AtomicType type, Rank target, Offset offset, const void* expected, const void* desired,
                     void* result);
    /// Notifies copies when the operation has been carried out or sent: of its result for `before`, or, if that is
    /// null, for their own value.
    void notify_copies(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset,
                       const void* operand, const void* before, std::uint64_t mark) {
        if (order_.copies().concerns(target) && operation != mpi::AtomicOperation::read) [[unlikely]]
            notify_concerned(operation, type, target, offset, operand, before, mark);
    }
    void notify_concerned(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset,
                          const void* operand, const void* before, std::uint64_t mark);
    /// An operation that MPI gets wrong here, by compare-and-swap.
    void fetch_by_swaps(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, Offset offset,
                        const void* operand, void* result);
    /// The whole list, on a rank of this node, or of another.
    void fetch_here(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target, std::byte* base,
                    std::span<const mpi::ListedAtomic> list);
    [[nodiscard]] Completion start_there(mpi::AtomicOperation operation, mpi::AtomicType type, Rank target,
                                         std::span<const mpi::ListedAtomic> list);

    transport::WindowFacts& facts_;
    AccessOrder& order_;
    transport::Transports& transports_;
};

} // namespace lapwing::detail::window
