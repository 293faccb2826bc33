#pragma once

#include "window/access_order.hpp"
#include "window/window_memory.hpp"

#include <lapwing/rank.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lapwing::detail::window {

/// Most notification counters of a window.
inline constexpr unsigned most_counters = 4096;

/// The notification counters of a window, and the puts that raise those of other ranks.
class Notifications {
public:
    Notifications(transport::WindowFacts& facts, AccessOrder& order, transport::Transports& transports,
                  unsigned counters)
        : facts_{facts}, order_{order}, transports_{transports}, last_seen_(std::min(counters, most_counters)) {}

    [[nodiscard]] unsigned count() const noexcept { return static_cast<unsigned>(last_seen_.size()); }
    /// Of a window with memory of its own, which holds the counters of the node's ranks; or else of this rank's alone.
    void use(const WindowMemory& memory) noexcept {
        memory_ = &memory;
        own_ = memory.counters(facts_.state.topology().node_rank());
    }
    void use_private_memory() {
        private_ = std::vector<std::atomic<std::uint64_t>>(count());
        own_ = private_.data();
    }
    [[nodiscard]] std::atomic<std::uint64_t>* own() const noexcept { return own_; }

    /// Throws RangeError unless there is such a counter.
    void check(unsigned counter, const char* call) const;
    void put(Rank target, Offset offset, std::span<const std::byte> source, unsigned counter);
    void wait(unsigned counter, std::uint64_t count);
    [[nodiscard]] std::uint64_t read(unsigned counter);

private:
    void put_here(std::byte* place, Rank target, std::span<const std::byte> source, unsigned counter);
    void put_there(Rank target, Offset offset, std::span<const std::byte> source, unsigned counter);
    /// Raises a counter of that rank, after all messages sent before.
    void raise_by_message(Rank target, unsigned counter);

    transport::WindowFacts& facts_;
    AccessOrder& order_;
    transport::Transports& transports_;
    const WindowMemory* memory_ = nullptr;
    std::vector<std::atomic<std::uint64_t>> private_;   ///< of adopted windows
    std::atomic<std::uint64_t>* own_ = nullptr;         ///< this rank's
    std::vector<std::atomic<std::uint64_t>> last_seen_; ///< what read() last returned of each
};

} // namespace lapwing::detail::window
