#pragma once

#include "src/support/biased_mutex.hpp"
#include "window/progress/command.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lapwing::window {

class WindowState;

/// The atomic adds without a result of one window that have not left yet. Those to one rank travel together, to its progress
/// thread, which carries them out one by one: a message holds hundreds. Memory is bounded: a rank has a place by its number,
/// and what another rank has gathered there leaves first.
///
/// Adds to the same bytes commute; other own accesses to these bytes keep their program order by before().
class GatheredAdds {
public:
    explicit GatheredAdds(WindowState& window) noexcept : window_{window} {}

    /// May be called without a lock: what a thread must wait for, it has seen before.
    [[nodiscard]] bool empty() const noexcept { return waiting_.load(std::memory_order_relaxed) == 0; }

    void add(int target, std::uint64_t offset, AtomicType type, const void* operand);
    /// Before another access to [offset, offset + bytes): adds there come first.
    void before(int target, std::uint64_t offset, std::uint64_t bytes);
    /// Sends what has been gathered (for one rank); the caller then completes it.
    void send();
    void send(int target);

private:
    static constexpr std::size_t places = 32;

    struct Place {
        int target = -1;
        AtomicType type{};
        std::uint64_t begin = 0; ///< what the adds touch lies in [begin, end)
        std::uint64_t end = 0;
        std::vector<AddPayload> adds;
    };

    void send(Place& place);

    WindowState& window_;
    support::BiasedMutex mutex_; ///< guards the fields below; held before those of the window and the engine
    std::vector<Place> places_;  ///< empty before the first add
    std::atomic<std::size_t> waiting_{0}; ///< places with adds; relaxed: written under the mutex
};

} // namespace lapwing::window
