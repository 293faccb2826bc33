#pragma once

#include "bindings/c/handle.hpp"
#include "bindings/c/runtime.hpp"

#include <lapwing/c/window.h>
#include <lapwing/lock.hpp>
#include <lapwing/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace lapwing::detail::bindings {

/// A window of the program's own.
struct WindowInside {
    WindowInside(lapwing_runtime* of, Window made) : runtime{of}, window{std::move(made)} {}

    OnRuntime runtime;
    Window window;
};

} // namespace lapwing::detail::bindings

/// Standard layout, so that inline functions find the head at its address.
struct lapwing_window {
    static constexpr const char* object_name = "window";
    [[nodiscard]] static constexpr std::uint64_t live_mark() noexcept {
        return lapwing::detail::bindings::Object<lapwing_window>::live_mark();
    }

    lapwing_window_head head{};
    lapwing::Window* window;
    lapwing::detail::bindings::WindowInside* inside = nullptr; ///< null: the window of an array

    explicit lapwing_window(lapwing::Window& of_array);
    /// An adopted one ends when the program frees what it has adopted: inline functions reach none of it.
    lapwing_window(std::unique_ptr<lapwing::detail::bindings::WindowInside> own, bool adopted);
    lapwing_window(const lapwing_window&) = delete;
    lapwing_window& operator=(const lapwing_window&) = delete;
    ~lapwing_window() {
        head.ranks = 0; // inline functions find nothing any more
        delete inside;
    }

private:
    void bind();
};
static_assert(std::is_standard_layout_v<lapwing_window>);

struct lapwing_lock : lapwing::detail::bindings::Object<lapwing_lock> {
    static constexpr const char* object_name = "lock";

    lapwing_lock(lapwing_runtime* of, lapwing::Rank home) : runtime{of}, lock{*of->team, home} {}

    lapwing::detail::bindings::OnRuntime runtime;
    lapwing::Lock lock;
};

namespace lapwing::detail::bindings {

[[nodiscard]] inline Window& window_of(const lapwing_window* window) { return *use(window).window; }
[[nodiscard]] CacheOptions cache_options_of(const lapwing_cache_options& options);
[[nodiscard]] inline std::span<std::byte> span_at(void* memory, std::uint64_t bytes) {
    return {static_cast<std::byte*>(memory), static_cast<std::size_t>(bytes)};
}
[[nodiscard]] inline std::span<const std::byte> span_at(const void* memory, std::uint64_t bytes) {
    return {static_cast<const std::byte*>(memory), static_cast<std::size_t>(bytes)};
}

} // namespace lapwing::detail::bindings
