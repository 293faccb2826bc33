#include <lapwing/detail/atomic_place.hpp>

#include "src/mpi/atomics.hpp"
#include "src/trace/recorder.hpp"
#include "window/window_atomics.hpp"
#include "window/window_state.hpp"

#include <lapwing/error.hpp>
#include <lapwing/window.hpp>

#include <fmt/format.h>

namespace lapwing::detail::window {

void AtomicPlace::check(mpi::AtomicType type, const char* call) const {
    const std::uint64_t bytes = mpi::size_of(type);
    (void)window_->checked_address(target_, offset_, bytes, call);
    if (offset_.bytes % bytes != 0)
        throw RangeError{
            fmt::format("{}: offset {} is not a multiple of the {} bytes of the value; atomics need aligned values",
                        window_->state_->who(call), offset_.bytes, bytes)};
    window_->state_->atomics().check(type, target_, offset_, call);
}

void AtomicPlace::fetch(mpi::AtomicOperation operation, mpi::AtomicType type, const void* operand, void* before,
                        std::memory_order order, bool looks) const {
    check(type, mpi::fetch_name(operation));
    const trace::TimeOfLast time;
    WindowAtomics& atomics = window_->state_->atomics();
    atomics.fetch(operation, type, target_, offset_, operand, before, order);
    if (looks) atomics.learn_of_left_ranks(operation, type, target_, offset_, operand, before);
}

void AtomicPlace::compare_swap(mpi::AtomicType type, const void* expected, const void* desired, void* before,
                               std::memory_order order, bool looks) const {
    check(type, "compare_swap");
    const trace::TimeOfLast time;
    WindowAtomics& atomics = window_->state_->atomics();
    atomics.compare_swap(type, target_, offset_, expected, desired, before, order);
    if (looks) atomics.learn_of_left_ranks(type, target_, offset_, expected, before);
}

void AtomicPlace::update(mpi::AtomicOperation operation, mpi::AtomicType type, const void* operand) const {
    check(type, mpi::update_name(operation));
    const trace::TimeOfLast time;
    window_->state_->atomics().update(operation, type, target_, offset_, operand);
}

WideValue AtomicPlace::wide(const WideAtomic& atomic, const WideValue& operand, const WideValue& expected,
                            std::memory_order order) const {
    (void)window_->checked_address(target_, offset_, sizeof operand, atomic.call);
    const trace::TimeOfLast time;
    return window_->state_->atomics().wide(atomic, target_, offset_, operand, expected, order);
}

} // namespace lapwing::detail::window
