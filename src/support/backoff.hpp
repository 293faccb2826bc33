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

/// How many processors the ranks and the progress threads of a machine find.
enum class ProcessorShare : std::uint8_t {
    ample,   ///< every rank has one for its computation and one for its progress thread
    shared,  ///< every rank has one, which its computation and progress threads share
    crowded, ///< there are more ranks than processors
};

/// How a waiting thread behaves between two looks at what it waits for: it spins, and gives up its processor now and
/// then, since whoever it waits for may need it. A yield that nobody wants costs 0.2 us, so it is not made at every
/// look.
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

/// Tells a waiting thread now and then how long it has waited. What does not last costs a comparison a look.
class WaitTimer {
public:
    using Clock = std::chrono::steady_clock;
    /// A wait for other ranks that is looked at: longer than what only takes time on a crowded machine, and nothing to
    /// a program that would wait for ever.
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
    /// Whether so much has been waited, the first time that it is asked after it has.
    [[nodiscard]] bool first_beyond(Clock::duration limit) noexcept {
        if (told_ || elapsed_ < limit) return false;
        return told_ = true;
    }

private:
    static constexpr std::uint32_t looks_between = 32;
    std::uint32_t looks_ = 0;
    bool told_ = false;
    Clock::time_point begin_{};
    Clock::duration elapsed_{};
};

} // namespace lapwing::detail::support
