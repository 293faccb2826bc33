#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lapwing::window {

/// Something that the progress thread drives.
class Progressing {
public:
    virtual ~Progressing() = default;

    struct Round {
        bool moved = false; ///< something came in or went out
        bool awake = false; ///< more is to be expected: do not sleep
    };
    /// One round of progress. Must not throw.
    virtual Round progress_round() noexcept = 0;
    /// Whether a waiting computation thread drives it at the moment, so that the progress thread need not.
    [[nodiscard]] virtual bool attended() const noexcept = 0;
};

/// The progress thread: one per process, whatever the number of teams; started with the first and stopped with the last.
///
/// It polls while there is traffic and for `spin` after the last, and sleeps otherwise, at first briefly and then up to
/// `longest_sleep`: a request that finds it asleep waits that long once. On a machine with fewer cores than threads it
/// gives up its processor after every fruitless poll.
class ProgressThread {
public:
    struct Options {
        std::chrono::microseconds spin{200};
        std::chrono::microseconds longest_sleep{1000};
        bool crowded = false;
    };

    static ProgressThread& instance();

    /// The options of the first team hold while the thread runs.
    void add(Progressing& team, const Options& options);
    /// On return the thread does not touch `team` any more.
    void remove(Progressing& team);

    /// Ends a sleep: there is something to do. Costs nothing when it is awake.
    void nudge() noexcept {
        if (asleep_.load(std::memory_order_seq_cst)) wake();
    }

    /// A clock that costs one load: advances every few milliseconds while the thread runs.
    [[nodiscard]] std::uint32_t tick() const noexcept { return tick_.load(std::memory_order_relaxed); }

private:
    ProgressThread() = default;
    ~ProgressThread();
    void run();
    void wake() noexcept;

    std::mutex teams_mutex_; ///< held during a round
    std::vector<Progressing*> teams_;
    Options options_;
    std::thread thread_;
    std::atomic<bool> stop_{false};

    std::mutex sleep_mutex_;
    std::condition_variable sleep_condition_;
    bool nudged_ = false; ///< guarded by sleep_mutex_
    std::atomic<bool> asleep_{false};
    std::atomic<std::uint32_t> tick_{1};
};

} // namespace lapwing::window
