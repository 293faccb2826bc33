#pragma once

#include "bindings/c/any_array.hpp"
#include "bindings/c/handle.hpp"
#include "bindings/c/runtime.hpp"
#include "bindings/c/window.hpp"

#include <lapwing/c/array.h>
#include <lapwing/detail/near_binding.hpp>
#include <lapwing/detail/numbering.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace lapwing::detail::bindings {

/// The object of an array's handle.
struct ArrayInside {
    explicit ArrayInside(lapwing_runtime* of, AnyArray made) : runtime{of}, array{std::move(made)} {}
    ~ArrayInside() {
        if (window != nullptr) Handles<lapwing_window>::end(window);
    }

    OnRuntime runtime;
    AnyArray array;
    std::array<std::int64_t, max_dimensions> lower{};
    std::array<std::int64_t, max_dimensions> stride{};            ///< between neighbouring indices
    std::array<arrays::Numbering, max_dimensions> numbering = {}; ///< of the array's extents by these

    /// After the elements have moved, and at the start.
    void renew();
    /// The array's indices in a dimension.
    [[nodiscard]] Range indices(std::size_t d) const noexcept {
        return Range::strided(lower[d], static_cast<std::uint64_t>(array.extents()[d]), stride[d]);
    }
    /// Indices of positions, which may be beyond its edges.
    [[nodiscard]] lapwing_range indices(std::size_t d, const Range& positions) const noexcept;

    lapwing_window* window = nullptr; ///< made when it is asked for
    arrays::PlacedBox<padded> own_box;

    /// Binds the inline functions of the handle again. It ends first, when the array still has all its parts.
    struct HandleBinding final : window::NearBinding {
        lapwing_array* handle = nullptr;
    };
    HandleBinding near = {};
};

} // namespace lapwing::detail::bindings

/// Standard layout, so that inline functions find the head at its address.
struct lapwing_array {
    static constexpr const char* object_name = "array";
    [[nodiscard]] static constexpr std::uint64_t live_mark() noexcept {
        return lapwing::detail::bindings::Object<lapwing_array>::live_mark();
    }

    lapwing_array_head head{};
    lapwing::detail::bindings::ArrayInside* inside = nullptr;

    explicit lapwing_array(std::unique_ptr<lapwing::detail::bindings::ArrayInside> made) : inside{made.release()} {
        head.mark = live_mark();
        inside->near.handle = this;
        bind();
    }
    lapwing_array(const lapwing_array&) = delete;
    lapwing_array& operator=(const lapwing_array&) = delete;
    ~lapwing_array() {
        // Inline functions find nothing any more.
        for (std::uint64_t& extent : head.extent) extent = 0;
        bind_axes();
        delete inside;
    }

    /// For an array that is new, or whose elements have moved; and where elements of the node that could be reached
    /// cannot be any more, or the reverse.
    void bind() noexcept;

private:
    /// The members of the head for one, two and three dimensions, and for single types.
    void bind_axes();
};
static_assert(std::is_standard_layout_v<lapwing_array>);

namespace lapwing::detail::bindings {

[[nodiscard]] inline ArrayInside& inside_of(const lapwing_array* array) { return *use(array).inside; }
[[nodiscard]] inline AnyArray& array_of(const lapwing_array* array) { return inside_of(array).array; }
/// The positions of the program's index. Throws RangeError.
[[nodiscard]] PaddedIndex position_of(const ArrayInside& inside, const std::int64_t* index);
/// The single place of an element, for atomics, functions and aggregators.
struct Home {
    Window& window;
    Rank owner;
    Offset offset;
};
/// Throws RangeError, and UsageError for a replicated array; `call` is what refuses.
[[nodiscard]] Home home_of(const ArrayInside& inside, const char* call, const PaddedIndex& position);
/// The positions of the program's ranges. Throws RangeError.
[[nodiscard]] PaddedDomain positions_of(const ArrayInside& inside, const lapwing_range* ranges);
/// The distribution that the program passes, for the array's indices. Throws RangeError and UsageError.
[[nodiscard]] KeptDistribution distribution_of(const ArrayInside& inside, const lapwing_distribution* distribution);
/// After elements have moved: objects that were made from the array before are no longer valid.
void bind_again(lapwing_array& array);
/// Throws RangeError for indices that are not among the array's, whose neighbours are a stride apart.
[[noreturn]] void throw_not_numbered(const ArrayInside& inside, const std::string& indices, std::size_t d);
/// "array "a"", for messages.
[[nodiscard]] std::string text_of(const AnyArray& array);
/// An index of the array as the program counts it.
void copy_index(const ArrayInside& inside, const PaddedIndex& position, std::int64_t* index);

} // namespace lapwing::detail::bindings
