#pragma once

#include "src/trace/recorder.hpp"
#include "src/transport/window_facts.hpp"

#include <lapwing/rank.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace lapwing::detail::window {

/// What of a team's windows is recorded. Windows of the program's own teams are recorded as those of another team.
class RecordedTeam final : public team::TeamPart {
public:
    enum class Of : std::uint8_t {
        program,         ///< made by the program
        recording,       ///< the runtime that is recorded
        another_runtime, ///< whose windows are for tools alone
    };
    void set(Of of) noexcept { of_.store(of, std::memory_order_relaxed); }
    [[nodiscard]] Of get() const noexcept { return of_.load(std::memory_order_relaxed); }

private:
    std::atomic<Of> of_{Of::program};
};

/// From now on the window's accesses are recorded: none of them is inline. `cached`: by Lapwing.
void record_accesses(transport::WindowFacts& window, bool cached);

/// Records an access, where accesses are recorded. `accesses`: the elements that a transfer moves.
void note(const transport::WindowFacts& window, trace::Operation operation, Rank owner, Offset offset,
          std::uint64_t bytes, std::uint64_t accesses = 1, trace::Way way = trace::Way::window) noexcept;
/// Records the call of this name, if it accesses memory.
void note_call(const transport::WindowFacts& window, std::string_view call, Rank owner, Offset offset,
               std::uint64_t bytes) noexcept;

} // namespace lapwing::detail::window
