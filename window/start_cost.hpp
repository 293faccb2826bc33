#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lapwing::window {

/// What it costs to start a small transfer by MPI, measured while the program runs: some starts, and again after some thousand
/// transfers that nobody waited for at once. Where MPI's windows are the network's it is less than a message; where MPI
/// emulates them it may be a system call for each, while many messages to the owner's progress thread travel together. A hint: of
/// several threads' starts some may not be counted.
class StartCost {
public:
    using Clock = std::chrono::steady_clock;

    /// Whether small transfers are cheaper as messages.
    [[nodiscard]] bool messages_are_cheaper() const noexcept { return high_.load(std::memory_order_relaxed); }
    /// They are from now on, whatever is measured.
    void assume_messages() noexcept {
        high_.store(true, std::memory_order_relaxed);
        until_measured_.store(assumed, std::memory_order_relaxed);
    }
    /// After a transfer that was sent as a message, or started by MPI and not waited for.
    void count() noexcept {
        const std::uint32_t left = until_measured_.load(std::memory_order_relaxed);
        if (left == 0 || left == assumed) return;
        until_measured_.store(left - 1, std::memory_order_relaxed);
        if (left == 1) high_.store(false, std::memory_order_relaxed);
    }

    /// Whether the next start by MPI should be measured.
    [[nodiscard]] bool due() const noexcept { return until_measured_.load(std::memory_order_relaxed) == 0; }
    template <class Start>
    void measure(Start&& start) {
        const Clock::time_point begin = Clock::now();
        start();
        add(Clock::now() - begin);
    }
    /// A start took this time.
    void add(Clock::duration time) noexcept {
        const std::uint32_t measured = measured_.load(std::memory_order_relaxed) + 1;
        const std::uint32_t slow = slow_.load(std::memory_order_relaxed) + (time > message ? 1 : 0);
        const bool last = measured >= measurements;
        measured_.store(last ? 0 : measured, std::memory_order_relaxed);
        slow_.store(last ? 0 : slow, std::memory_order_relaxed);
        if (!last) return;
        high_.store(slow >= measurements / 2, std::memory_order_relaxed);
        until_measured_.store(between_measurements, std::memory_order_relaxed);
    }

private:
    /// What one of many messages costs both sides together. A start by MPICH over TCP costs 1.3 us as long as nobody else uses
    /// MPI, and 5 us beside a progress thread; one by a network adapter less than half a microsecond.
    static constexpr std::chrono::nanoseconds message{1000};
    /// More than twice as many as there may be first transfers to a target, for which MPI connects.
    static constexpr std::uint32_t measurements = 32;
    static constexpr std::uint32_t between_measurements = 8192;
    static constexpr std::uint32_t assumed = ~std::uint32_t{0};

    std::atomic<std::uint32_t> measured_{0};
    std::atomic<std::uint32_t> slow_{0}; ///< of these
    std::atomic<std::uint32_t> until_measured_{0};
    std::atomic<bool> high_{false};
};

} // namespace lapwing::window
