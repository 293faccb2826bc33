// Room: cache
#pragma once

#include <lapwing/cache_front.hpp>
#include <lapwing/cache_options.hpp>

#include <chrono>
#include <cstdint>

namespace lapwing {

/// How far ahead of a loop to prefetch, found while the loop runs: the k of "prefetch f(i + k)", which depends on the
/// network and on what the loop does (the adaptive prefetch that Ferguson and Buettner leave to future work).
///
/// ```cpp
/// lapwing::PrefetchDistance distance;
/// for (std::int64_t i = 0; i < n; ++i) {
///     distance.ahead(i, n, [&](std::int64_t j) { prefetch(a(f(j))); });
///     sum += a(f(i));
/// }
/// ```
///
/// The time of blocks of iterations is compared: the distance doubles while that gains, halves when that costs nothing, and
/// is tried again from time to time. Cost: a comparison an iteration, and two readings of a clock a block. For one thread.
class PrefetchDistance {
public:
    explicit PrefetchDistance(std::int64_t first = 4, std::int64_t largest = 128) noexcept
        : distance_{first}, largest_{largest} {}

    /// At iteration `i` of [0, n): calls `hint(j)` for each j up to the distance ahead that has had none yet.
    template <class Hint>
    void ahead(std::int64_t i, std::int64_t n, Hint&& hint) {
        if (next_ <= i || i < last_) next_ = i + 1; // the first iteration, or another loop
        last_ = i;
        if (--left_ == 0) judge();
        const std::int64_t end = i + distance_ + 1 < n ? i + distance_ + 1 : n;
        for (; next_ < end; ++next_) hint(next_);
    }

    [[nodiscard]] std::int64_t distance() const noexcept { return distance_; }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::int64_t block = 256;            ///< iterations that are timed together
    static constexpr std::int64_t patience = 16;          ///< blocks until other distances are tried again
    static constexpr double gain = 0.95;                  ///< of the time, or less: it was worth it

    void judge() noexcept {
        const Clock::time_point now = Clock::now();
        const double seconds = std::chrono::duration<double>(now - start_).count();
        const bool settling = settling_; // what was asked for at the distance before is still used up
        settling_ = false;
        start_ = now;
        left_ = block;
        if (settling) return;
        if (tried_ == 0) { // a block at the best distance so far
            best_seconds_ = seconds;
            if (--rest_ > 0) return;
            tried_ = upward_ ? distance_ * 2 : distance_ / 2;
            if (tried_ < 1 || tried_ > largest_) {
                tried_ = 0;
                upward_ = !upward_;
                rest_ = patience;
                return;
            }
            before_ = distance_;
            distance_ = tried_;
            settling_ = true;
            return;
        }
        // Upward it must gain; downward it must not lose, since less is under way for the same speed.
        const bool keep = upward_ ? seconds < best_seconds_ * gain : seconds * gain < best_seconds_;
        tried_ = 0;
        if (keep) {
            rest_ = 1;
        } else {
            distance_ = before_;
            upward_ = !upward_;
            rest_ = upward_ ? patience : 2;
            settling_ = true;
        }
    }

    std::int64_t distance_;
    std::int64_t largest_;
    std::int64_t next_ = 0; ///< first iteration without a hint
    std::int64_t last_ = 0;
    std::int64_t left_ = block;
    std::int64_t before_ = 0;
    std::int64_t tried_ = 0; ///< nonzero: the distance of this block is a trial
    std::int64_t rest_ = 1;  ///< blocks at the same distance
    bool upward_ = true;
    bool settling_ = true;
    double best_seconds_ = 0;
    Clock::time_point start_{};
};

} // namespace lapwing
