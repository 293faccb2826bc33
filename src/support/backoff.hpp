#pragma once

#include <chrono>
#include <cstdint>

#include <sched.h>

namespace lapwing::detail::support {

inline void relax_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause(); // _mm_pause() without the half second that its header takes to compile
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// How the ranks and progress threads of a machine share its processors.
enum class ProcessorShare : std::uint8_t {
    ample,   ///< every rank has one for its computation and one for its progress thread
    shared,  ///< every rank has one, which its computation and progress threads share
    crowded, ///< there are more ranks than processors
};

/// How a waiting thread behaves between two looks at what it waits for: it spins, and yields now and then, since the
/// thread that it waits for may need the processor. A yield that nobody needs costs 0.2 us, so it does not yield at
/// every look.
class Backoff {
public:
    explicit Backoff(ProcessorShare share) noexcept
        : looks_{share == ProcessorShare::ample    ? 32U
                 : share == ProcessorShare::shared ? 4U
                                                   : 1U} {}

    void reset() noexcept { count_ = 0; }
    void pause() noexcept {
        if (++count_ % looks_ == 0) sched_yield();
        else relax_processor();
    }

private:
    std::uint32_t looks_; ///< between two yields
    std::uint32_t count_ = 0;
};

/// Tells a waiting thread now and then how long it has waited. A short wait costs one comparison per look.
class WaitTimer {
public:
    using Clock = std::chrono::steady_clock;
    /// After so long a wait for other ranks it is worth finding out why: longer than a crowded machine delays a rank,
    /// and short compared with a program that would hang.
    static constexpr std::chrono::milliseconds suspicious{200};

    /// True at one look in many, when elapsed() is new.
    [[nodiscard]] bool looks_up() noexcept {
        if (++looks_ % looks_between != 0) return false;
        const Clock::time_point now = Clock::now();
        if (looks_ == looks_between) begin_ = now;
        elapsed_ = now - begin_;
        return true;
    }
    /// The wait so far, less its first looks.
    [[nodiscard]] Clock::duration elapsed() const noexcept { return elapsed_; }
    /// Whether the wait has lasted that long; true once, the first time that it is asked afterwards.
    [[nodiscard]] bool first_beyond(Clock::duration limit) noexcept {
        if (told_ || elapsed_ < limit) return false;
        return told_ = true;
    }
    /// Whether the wait has lasted `interval` longer than when this was last true.
    [[nodiscard]] bool again_after(Clock::duration interval) noexcept {
        if (elapsed_ - asked_ < interval) return false;
        asked_ = elapsed_;
        return true;
    }

private:
    static constexpr std::uint32_t looks_between = 32;
    std::uint32_t looks_ = 0;
    bool told_ = false;
    Clock::time_point begin_{};
    Clock::duration elapsed_{};
    Clock::duration asked_{};
};

} // namespace lapwing::detail::support
