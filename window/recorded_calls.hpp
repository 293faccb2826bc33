#pragma once

#include "src/trace/recorder.hpp"
#include "src/transport/window_facts.hpp"

#include <cstdint>
#include <string_view>

namespace lapwing::detail::window {

/// From now on the window's accesses are recorded: none of them is inline. `cached`: by Lapwing.
void record_accesses(transport::WindowFacts& window, bool cached);

/// Records an access, where accesses are recorded. `accesses`: the elements that a transfer moves.
void note(const transport::WindowFacts& window, trace::Operation operation, int owner, std::uint64_t offset,
          std::uint64_t bytes, std::uint64_t accesses = 1, trace::Way way = trace::Way::window) noexcept;
/// Records the call of this name, if it accesses memory.
void note_call(const transport::WindowFacts& window, std::string_view call, int owner, std::uint64_t offset,
               std::uint64_t bytes) noexcept;

} // namespace lapwing::detail::window
