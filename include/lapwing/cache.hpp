// Room: cache
#pragma once

#include <lapwing/cache_options.hpp>

#include <chrono>
#include <cstdint>

namespace lapwing {

/// Finds, while a loop runs, how far ahead to prefetch: the k of "prefetch f(i + k)", which depends on the network and
/// on what the loop does (the adaptive prefetch that Ferguson and Buettner leave to future work).
///
/// ```cpp
/// lapwing::PrefetchDistance distance;
/// for (std::int64_t i = 0; i < n; ++i) {
///     distance.ahead(i, n, [&](std::int64_t j) { prefetch(a(f(j))); });
///     sum += a(f(i));
/// }
/// ```
///
/// The distance is doubled or halved while that makes a batch of iterations faster, and is tried again from time to
/// time, at growing intervals. Cost: a comparison an iteration, and two readings of a clock every hundred or so. For
/// one thread.
class PrefetchDistance {
public:
    /// Starts with `first` iterations ahead, and tries from 1 to `largest`.
    explicit PrefetchDistance(std::int64_t first = 32, std::int64_t largest = 256) noexcept
        : distance_{first}, largest_{largest} {}

    /// At iteration `i` of [0, n): calls `hint(j)` for each j up to the distance ahead that has not had one yet.
    template <class Hint>
    void ahead(std::int64_t i, std::int64_t n, Hint&& hint) {
        if (next_ <= i || i < last_) next_ = i + 1; // the first iteration, or another loop
        last_ = i;
        if (--left_ == 0) judge();
        const std::int64_t end = i + distance_ + 1 < n ? i + distance_ + 1 : n;
        for (; next_ < end; ++next_) hint(next_);
    }

    /// The current distance, in iterations.
    [[nodiscard]] std::int64_t distance() const noexcept { return distance_; }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::int64_t least_batch = 64;   ///< iterations that are timed together
    static constexpr int batches = 2;                 ///< measured at each distance; the fastest counts
    static constexpr double gain = 0.95;              ///< relative time that counts as faster
    static constexpr std::int64_t shortest_rest = 32; ///< batches until other distances are tried again
    static constexpr std::int64_t longest_rest = 1024;

    /// Ends a batch.
    void judge() noexcept {
        const Clock::time_point now = Clock::now();
        const double seconds = std::chrono::duration<double>(now - start_).count() / static_cast<double>(length_);
        const bool settling = settling_; // this batch used up what was requested at another distance
        settling_ = false;
        start_ = now;
        // Longer than what is requested at once, which may arrive at once.
        left_ = length_ = distance_ * 2 > least_batch ? distance_ * 2 : least_batch;
        if (settling) return;
        if (rest_ > 0) {
            --rest_;
            return;
        }
        fastest_ = timed_ == 0 || seconds < fastest_ ? seconds : fastest_;
        if (++timed_ < batches) return;
        timed_ = 0;
        decide();
    }
    void decide() noexcept {
        const std::int64_t from = before_;
        before_ = 0;
        if (from == 0 || fastest_ < best_ * gain) { // the distance to compare with, or a better one
            if (from != 0) {
                failures_ = 0;
                pause_ = shortest_rest;
            }
            best_ = fastest_;
            try_next();
            return;
        }
        distance_ = from;
        settling_ = true;
        upward_ = !upward_;
        if (++failures_ < 2) try_next();
        else rest();
    }
    void try_next() noexcept {
        const std::int64_t next = upward_ ? distance_ * 2 : distance_ / 2;
        if (next < 1 || next > largest_) {
            upward_ = !upward_;
            if (++failures_ < 2) try_next();
            else rest();
            return;
        }
        before_ = distance_;
        distance_ = next;
        settling_ = true;
    }
    void rest() noexcept {
        failures_ = 0;
        rest_ = pause_;
        pause_ = pause_ * 2 < longest_rest ? pause_ * 2 : longest_rest;
    }

    std::int64_t distance_;
    std::int64_t largest_;
    std::int64_t next_ = 0; ///< first iteration without a hint
    std::int64_t last_ = 0;
    std::int64_t length_ = least_batch; ///< of this batch
    std::int64_t left_ = least_batch;
    std::int64_t before_ = 0; ///< nonzero: this batch tries a new distance, and this was the previous one
    std::int64_t rest_ = 0;   ///< batches at the same distance
    std::int64_t pause_ = shortest_rest;
    int timed_ = 0;    ///< batches at this distance
    int failures_ = 0; ///< directions that brought no gain
    bool upward_ = true;
    bool settling_ = true;
    double fastest_ = 0; ///< seconds of an iteration at this distance
    double best_ = 0;    ///< at the previous distance
    Clock::time_point start_{};
};

} // namespace lapwing
