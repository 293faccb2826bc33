// Collective calls on the elements of arrays.
#include "bindings/c/array.hpp"
#include "bindings/c/call.hpp"
#include "bindings/c/type.hpp"

#include <lapwing/assignment.hpp>
#include <lapwing/error.hpp>
#include <lapwing/reduction.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace lapwing::detail::bindings {
namespace {

/// A value and where it is, as ranks send it to each other.
template <class T>
struct Located {
    T value;
    PaddedIndex index;
};

/// Smallest or largest element, as `better(a, b)` says, with the index of the first of equal ones.
template <class T, class Better>
Located<T> first_best(const ArrayInside& inside, const char* call, T worst, Better better) {
    const AnyArray& array = inside.array;
    if (array.size() == 0) array.refuse_empty(call);
    array.begin_collective(call + 1);
    Located<T> best{worst, {}};
    best.index.fill(std::numeric_limits<std::int64_t>::max()); // after every element
    const auto look = [&](const PaddedIndex& index, std::byte* memory, std::uint64_t count, std::int64_t index_stride) {
        const T* const elements = reinterpret_cast<const T*>(memory);
        for (std::uint64_t k = 0; k < count; ++k) {
            if (!better(elements[k], best.value) && !(elements[k] == best.value)) continue;
            PaddedIndex place = index;
            place[padded - 1] += static_cast<std::int64_t>(k) * index_stride;
            if (better(elements[k], best.value) || place < best.index) best = {elements[k], place};
        }
    };
    array.work_on_own(call, [&] { array.for_each_run(look); });
    if (array.replicated()) {
        array.barrier();
    } else {
        const auto combine = [](void* context, void* left, const void* right) {
            Located<T> one;
            Located<T> other;
            std::memcpy(&one, left, sizeof one);
            std::memcpy(&other, right, sizeof other);
            const Better& is_better = *static_cast<const Better*>(context);
            if (is_better(other.value, one.value) || (other.value == one.value && other.index < one.index))
                std::memcpy(left, right, sizeof one);
        };
        array.team().combine({reinterpret_cast<std::byte*>(&best), sizeof best}, combine, &better);
    }
    if (best.index[padded - 1] == std::numeric_limits<std::int64_t>::max()) array.refuse_nothing(call);
    return best;
}

template <class Better>
int find_best(const char* name, const char* call, const lapwing_array* array, void* value, std::int64_t* index,
              bool smallest, Better) {
    return guarded(name, [&] {
        const ArrayInside& inside = inside_of(array);
        before_collective(inside.array.team(), [&] { require_pointer(value, "value"); });
        with_number(inside.array.type(), [&]<class T>(T) {
            const auto best =
                first_best(inside, call, smallest ? arrays::largest_value<T>() : arrays::smallest_value<T>(), Better{});
            std::memcpy(value, &best.value, sizeof(T));
            if (index != nullptr) copy_index(inside, best.index, index);
        });
    });
}

} // namespace
} // namespace lapwing::detail::bindings

using namespace lapwing::detail::bindings; // NOLINT: the functions below are in the global namespace

extern "C" {

int lapwing_array_fill(lapwing_array* array, const void* value) {
    return guarded("lapwing_array_fill", [&] {
        const AnyArray& one = array_of(array);
        before_collective(one.team(), [&] { require_pointer(value, "value"); });
        const std::size_t bytes = one.element_bytes();
        one.begin_collective("fill");
        const auto fill = [&](const PaddedIndex&, std::byte* memory, std::uint64_t count, std::int64_t) {
            // Each copy covers everything written so far.
            const std::size_t all = count * bytes;
            std::memcpy(memory, value, bytes);
            for (std::size_t done = bytes; done < all; done *= 2)
                std::memcpy(memory + done, memory, std::min(done, all - done));
        };
        one.end_collective(".fill", [&] { one.for_each_run(fill); }, "some elements may have been set");
    });
}

int lapwing_array_copy(lapwing_array* target, const lapwing_array* source) {
    return guarded("lapwing_array_copy", [&] {
        const AnyArray& to = array_of(target);
        const AnySlice whole_target = to.slice();
        std::optional<AnySlice> whole_source; ///< none where there is no array
        if (is_live(source)) whole_source.emplace(array_of(source).slice());
        const lapwing::detail::slices::SliceBase* const slices[] = {&whole_target,
                                                                    whole_source ? &*whole_source : nullptr};
        lapwing::Assignment::once(slices, [&](lapwing::Assignment& assignment) {
            const AnyArray& from = array_of(source);
            if (to.type() != from.type())
                throw lapwing::UsageError{fmt::format("{}: the elements of {} are of type {}, and those of {} are {}; "
                                                      "assign slices, which converts numbers",
                                                      to.team().who(), text_of(to), text_of(to.type()), text_of(from),
                                                      text_of(from.type()))};
            assignment.add_untyped(whole_target, *whole_source, {});
        });
    });
}

int lapwing_array_broadcast(lapwing_array* array, int root) {
    return guarded("lapwing_array_broadcast", [&] { array_of(array).broadcast_copies(lapwing::Rank{root}); });
}

int lapwing_array_sum(const lapwing_array* array, void* sum) {
    return guarded("lapwing_array_sum", [&] {
        const AnyArray& one = array_of(array);
        before_collective(one.team(), [&] { require_pointer(sum, "sum"); });
        with_number(one.type(), [&]<class T>(T) {
            using Sum = lapwing::detail::arrays::SumOf<T>;
            // Integers are added as unsigned ones, which may wrap around.
            using Adder = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
            one.begin_collective("sum");
            lapwing::detail::arrays::Chains chains{Adder{}, std::plus<Adder>{}};
            const auto add = [&](const PaddedIndex&, std::byte* memory, std::uint64_t count, std::int64_t) {
                chains.add(reinterpret_cast<const T*>(memory), count);
            };
            one.work_on_own(".sum", [&] { one.for_each_run(add); });
            auto result = static_cast<Sum>(chains.result());
            if (one.replicated()) one.barrier();
            else result = lapwing::detail::arrays::sum_over_ranks(one.team(), result);
            std::memcpy(sum, &result, sizeof result);
        });
    });
}

int lapwing_array_min(const lapwing_array* array, void* value, int64_t* index) {
    return find_best("lapwing_array_min", ".min", array, value, index, true,
                     [](const auto& a, const auto& b) { return a < b; });
}

int lapwing_array_max(const lapwing_array* array, void* value, int64_t* index) {
    return find_best("lapwing_array_max", ".max", array, value, index, false,
                     [](const auto& a, const auto& b) { return b < a; });
}

int lapwing_array_reduce(const lapwing_array* array, void* value, uint64_t bytes,
                         lapwing_accumulate_function accumulate, lapwing_combine_function combine, void* context) {
    return guarded("lapwing_array_reduce", [&] {
        const ArrayInside& inside = inside_of(array);
        const AnyArray& one = inside.array;
        before_collective(one.team(), [&] {
            require_memory(value, bytes, "value");
            require_pointer(reinterpret_cast<const void*>(accumulate), "accumulate");
            require_pointer(reinterpret_cast<const void*>(combine), "combine");
        });
        one.begin_collective("reduce");
        std::array<std::int64_t, lapwing::max_dimensions> index{};
        const auto take = [&](const PaddedIndex& position, std::byte* memory, std::uint64_t count,
                              std::int64_t index_stride) {
            copy_index(inside, position, index.data());
            for (std::uint64_t k = 0; k < count; ++k) {
                accumulate(context, value, index.data(), memory + k * one.element_bytes());
                index[one.dimensions() - 1] += index_stride * inside.stride[one.dimensions() - 1];
            }
        };
        one.work_on_own(".reduce", [&] { one.for_each_run(take); });
        if (one.replicated()) one.barrier();
        else one.team().combine({static_cast<std::byte*>(value), bytes}, combine, context);
    });
}

} // extern "C"
