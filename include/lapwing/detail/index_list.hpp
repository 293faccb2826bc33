// Room: arrays
#pragma once

#include <lapwing/completion.hpp>
#include <lapwing/detail/direction.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/window.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>

namespace lapwing::detail::functions {
class Batches;
}

/// Lists of elements, whoever owns them, in one message an owner.
namespace lapwing::detail::arrays {

using transport::Direction;

/// What names elements in a list: any range of Index<N>, or of integers where there is one dimension.
template <class Indices, std::size_t N>
concept IndexList = std::ranges::sized_range<const Indices&> && std::ranges::input_range<const Indices&> &&
                    (std::convertible_to<std::ranges::range_value_t<const Indices&>, const Index<N>&> ||
                     (N == 1 && IndexValue<std::ranges::range_value_t<const Indices&>>));

/// Where an element of a list is.
struct ListedPlace {
    int owner = 0;
    std::uint64_t offset = 0; ///< in bytes
};

/// Moves the elements of a list to `values`, one after another in the order of the list, or from there. Of an index
/// that is written twice the last value counts. Completes as a patch does.
[[nodiscard]] Completion start_list(Window& window, Direction direction, std::span<const ListedPlace> places,
                                    std::uint64_t element_bytes, std::byte* values);

/// The same for reading, complete on return: where owners answer messages, hundreds of elements in one to each.
void gather_list(Window& window, std::span<const ListedPlace> places, std::uint64_t element_bytes, std::byte* values);

/// Adds the reading of an element of any size to `batches`, which are for reads; `value` becomes it.
void add_read(functions::Batches& batches, Window& window, const ListedPlace& place, std::uint32_t element_bytes,
              std::byte* value);

/// Atomics on the elements of a list; `list` has everything but the offsets, which it gets here.
[[nodiscard]] Completion start_list_of_atomics(Window& window, Atomic operation, mpi::AtomicType type,
                                               std::span<const ListedPlace> places, std::span<mpi::ListedAtomic> list,
                                               const char* call);

} // namespace lapwing::detail::arrays
