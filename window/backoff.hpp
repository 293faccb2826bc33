#pragma once

#include <cstdint>
#include <sched.h>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace lapwing::window {

inline void relax_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// How a waiting thread behaves between two looks at what it waits for: it spins for a while, then gives up its processor
/// at every look, so that whoever it waits for can run when there are more threads than cores.
class Backoff {
public:
    /// `crowded`: the node has more ranks than cores, so spinning only delays the others.
    explicit Backoff(bool crowded) noexcept : spins_{crowded ? 4U : 256U} {}

    void reset() noexcept { count_ = 0; }
    void pause() noexcept {
        if (++count_ < spins_) relax_processor();
        else sched_yield();
    }

private:
    std::uint32_t spins_;
    std::uint32_t count_ = 0;
};

} // namespace lapwing::window
