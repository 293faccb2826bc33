#pragma once

#include "cache/page_cache.hpp"
#include "cache/window_backend.hpp"
#include "src/support/biased_mutex.hpp"
#include "window/remote_cache.hpp"
#include "window/window_state.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace lapwing::cache {

/// The cache of a window: one PageCache for each thread that uses it, made when the thread first does, and one epoch.
///
/// A release by any thread writes back the dirty bytes of all, and an acquire by any makes the contents of all unusable, so
/// that a program whose threads meet before one of them calls barrier() needs nothing more. Threads beyond those that
/// have a statistics shard of their own read and write past the cache.
class WindowCache final : public window::RemoteCache {
public:
    WindowCache(window::WindowState& window, CacheMode mode, const PageCacheConfiguration& configuration);
    ~WindowCache() override;

    void get(int target, std::uint64_t offset, std::span<std::byte> destination) override;
    void put(int target, std::uint64_t offset, std::span<const std::byte> source) override;
    void prefetch(int target, std::uint64_t offset, std::uint64_t bytes) override;
    void before_read(int target, std::uint64_t offset, std::uint64_t bytes) override;
    void before_write(int target, std::uint64_t offset, std::uint64_t bytes) override;
    void write_back() override;
    void write_back(int target) override;
    void settle() override;
    void acquire() override {
        if (mode_ != CacheMode::read_only) invalidate();
    }
    void invalidate() override {
        // Release order: a thread that sees the new epoch is behind what this thread has seen.
        epoch_.fetch_add(1, std::memory_order_release);
    }
    void collect_statistics() override;
    [[nodiscard]] const Fronts& fronts() const noexcept override { return fronts_; }

private:
    /// The cache of one thread. Its mutex is held around all but the front's accesses.
    struct OfThread {
        OfThread(window::WindowState& window, const PageCacheConfiguration& configuration,
                 const std::atomic<std::uint64_t>& epoch)
            : backend{window}, pages{configuration, backend, epoch, window.statistics()} {}
        support::BiasedMutex mutex;
        WindowBackend backend;
        PageCache pages;
    };

    /// Null if the calling thread has none: it shares a shard with others.
    [[nodiscard]] OfThread* mine();
    [[nodiscard]] OfThread* existing() const noexcept;
    void write_back_others(const OfThread* mine);

    window::WindowState& window_;
    CacheMode mode_;
    PageCacheConfiguration configuration_;
    std::atomic<std::uint64_t> epoch_{0};
    Fronts fronts_;
    /// Written once each, by the thread that has the shard.
    std::array<std::atomic<OfThread*>, support::statistics_shards - 1> threads_{};
    std::array<std::unique_ptr<OfThread>, support::statistics_shards - 1> owned_;
};

} // namespace lapwing::cache
