#pragma once

#include <lapwing/c/completion.h>
#include <lapwing/c/type.h>
#include <lapwing/c/window.h>
#include <lapwing/completion.hpp>
#include <lapwing/detail/atomic.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace lapwing::detail::bindings {

/// Throws RangeError for what is not an operation, or not below `count`; UsageError for one that no type of this
/// kind has; whether there are atomics of its size is for with_other_atomic() and atomic_type_of() to say.
[[nodiscard]] mpi::AtomicOperation atomic_operation_of(int operation, int count, lapwing_type type);

/// The atomics of windows, with their arguments checked: RangeError, UsageError.
void fetch_value(Window& window, int operation, lapwing_type type, Rank rank, Offset offset, const void* operand,
                 void* before, int order);
void compare_swap_value(Window& window, lapwing_type type, Rank rank, Offset offset, const void* expected,
                        const void* desired, void* before, int order);
void update_value(Window& window, int operation, lapwing_type type, Rank rank, Offset offset, const void* operand);

/// A list of atomics without their places. Results that the program does not need go to memory of this object.
struct AtomicList {
    std::vector<mpi::ListedAtomic> list;
    std::unique_ptr<std::byte[]> unwanted;

    /// `operands` may be null where the operation reads none; `name` is the argument's.
    AtomicList(lapwing_type type, std::size_t count, const void* operands, bool one_operand, void* before,
               const char* name = "operands");
    /// Of compare_swap.
    void expect(lapwing_type type, const void* expected, bool one_expected);
};
/// Hands the transfer over, or waits for it where `completion` is null. If the results are not needed the call has to
/// wait, since their memory is its own.
void end_list(Completion transfer, const AtomicList& atomics, lapwing_completion** completion);

} // namespace lapwing::detail::bindings
