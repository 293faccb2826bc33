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

struct lapwing_window : lapwing::detail::bindings::Object<lapwing_window> {
    static constexpr const char* object_name = "window";

    lapwing::Window* window = nullptr;
    std::unique_ptr<lapwing::detail::bindings::OnRuntime> runtime = {}; ///< null: the window of an array
    lapwing::Window own = {};                                           ///< unless it is an array's
};

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
