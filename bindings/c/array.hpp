#pragma once

#include "bindings/c/any_array.hpp"
#include "bindings/c/handle.hpp"
#include "bindings/c/runtime.hpp"
#include "bindings/c/window.hpp"

#include <lapwing/c/array.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace lapwing::detail::bindings {

/// What is behind an array's handle.
struct ArrayInside {
    explicit ArrayInside(lapwing_runtime* of, AnyArray made) : runtime{of}, array{std::move(made)} {}
    ~ArrayInside() {
        if (window != nullptr) Handles<lapwing_window>::end(window);
    }

    OnRuntime runtime;
    AnyArray array;
    std::array<std::int64_t, max_dimensions> lower{};
    lapwing_window* window = nullptr; ///< made when it is asked for
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
        bind();
    }
    lapwing_array(const lapwing_array&) = delete;
    lapwing_array& operator=(const lapwing_array&) = delete;
    ~lapwing_array() {
        // Inline functions find nothing any more.
        for (std::uint64_t& extent : head.extent) extent = 0;
        delete inside;
    }

    /// Of an array that is new, or whose elements have moved.
    void bind();
};
static_assert(std::is_standard_layout_v<lapwing_array>);

namespace lapwing::detail::bindings {

[[nodiscard]] inline ArrayInside& inside_of(const lapwing_array* array) { return *use(array).inside; }
[[nodiscard]] inline AnyArray& array_of(const lapwing_array* array) { return inside_of(array).array; }
/// The positions of an index of the program's. Throws RangeError.
[[nodiscard]] PaddedIndex position_of(const ArrayInside& inside, const std::int64_t* index);
/// The positions of ranges of the program's. Throws RangeError.
[[nodiscard]] PaddedDomain positions_of(const ArrayInside& inside, const lapwing_range* ranges);
/// After elements have moved: what was made from the array before is of no use any more.
void bind_again(lapwing_array& array);
/// "array "a"", for messages.
[[nodiscard]] std::string text_of(const AnyArray& array);
/// An index of the array as the program counts it.
void copy_index(const ArrayInside& inside, const PaddedIndex& position, std::int64_t* index);

} // namespace lapwing::detail::bindings
