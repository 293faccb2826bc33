#pragma once

#include "cache/budget.hpp"
#include "cache/page_cache.hpp"
#include "cache/window_backend.hpp"
#include "src/support/biased_mutex.hpp"
#include "src/support/mutex.hpp"
#include "src/team/held_writes.hpp"
#include "src/team/team_state.hpp"
#include "window/advised_windows.hpp"
#include "window/remote_cache.hpp"
#include "window/window_state.hpp"

#include <lapwing/rank.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::detail::cache {

/// The caches of a team's windows share this much memory.
class TeamBudget final : public team::TeamPart {
public:
    /// The first window that is cached sets the limit.
    [[nodiscard]] Budget& budget(std::uint64_t limit) {
        std::call_once(made_, [&] { budget_.emplace(limit); });
        return *budget_;
    }

private:
    std::once_flag made_;
    std::optional<Budget> budget_;
};

/// The cache of a window: one PageCache per thread that uses it, made on the thread's first use, and one epoch,
/// or with CacheAcquire::thread one per thread.
///
/// A release by any thread writes back the dirty bytes of all, and an acquire by any invalidates the contents of all,
/// so a program whose threads meet before one of them calls barrier() needs nothing more. Threads
/// without a number of their own (support::numbered_threads) bypass the cache, and so do those for which the
/// budget has no room.
///
/// A cache that advice has chosen (LAPWING_ADVICE) must promise as much as none: the threads of a rank share the order
/// of a window that is not cached. So it is for one thread. When another one comes, what is dirty is written back, and
/// from then on all threads bypass it.
class WindowCache final : public window::RemoteCache, Budget::Caches {
public:
    /// What LAPWING_ADVICE says.
    struct Advised {
        bool mode = false; ///< that there is a cache at all, which neither the program nor a setting has chosen
        std::vector<window::AdvisedWindow::Part> reads = {}; ///< of this rank
    };
    WindowCache(window::WindowState& window, CacheMode mode, CacheAcquire scope,
                const PageCacheConfiguration& configuration, Budget& budget, Advised advised);
    ~WindowCache() override;

    bool get(Rank target, Offset offset, std::span<std::byte> destination) override;
    bool put(Rank target, Offset offset, std::span<const std::byte> source) override;
    void prefetch(Rank target, Offset offset, std::uint64_t bytes) override;
    void before_read(Rank target, Offset offset, std::uint64_t bytes) override;
    void before_write(Rank target, Offset offset, std::uint64_t bytes) override;
    void start_write_back() override;
    void finish_write_back() override;
    void write_back(Rank target) override;
    [[nodiscard]] bool look_at_held(team::HeldWrites::Clock::time_point now, bool under_way) noexcept override;
    void send_old() override;
    void drain() override;
    void acquire() override {
        if constexpr (support::internal_assertions) validate_mine();
        if (mode_ == CacheMode::read_only) return;
        if (scope_ == CacheAcquire::rank) return begin_epoch();
        if (OfThread* const own = existing()) begin_epoch(*own, support::thread_number());
    }
    void invalidate() override;
    void set_copies_beside(bool any) override;
    [[nodiscard]] bool is_of_this_thread() const noexcept override;
    void collect_statistics() override;
    [[nodiscard]] const window::PageTables& page_tables() const noexcept override { return tables_; }
    [[nodiscard]] bool enter_memory(Rank rank, Offset offset, const std::byte* memory,
                                    std::uint64_t bytes) noexcept override;

    /// Of all threads' caches. For tests, while no cache is in use.
    [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

private:
    /// The cache of one thread. Its mutex is held for everything but accesses through the page table.
    struct OfThread {
        OfThread(window::WindowState& window, Budget& budget) : share{budget}, backend{window} {}
        support::BiasedMutex mutex{support::LockRank::cache};
        std::atomic<std::uint64_t> epoch{0}; ///< of CacheAcquire::thread
        std::atomic<std::uint32_t> dirty_pages{0};
        Budget::Share share;
        WindowBackend backend;
        // Of what was recorded for this rank.
        std::uint64_t asked_in = no_epoch; ///< the epoch in which it was asked for last
        std::uint64_t issued_before = 0;   ///< read_ahead_issued of the window at that time
        std::uint64_t used_before = 0;
        std::uint64_t bytes = 0; ///< of the cache's pages
        unsigned in_vain = 0;    ///< times in a row that less than half of it was read
        /// Null while the budget has no room for it. Only the owner may read it without the mutex.
        std::unique_ptr<PageCache> pages;
        std::uint64_t writes_before = 0; ///< through pages that it has had before
        team::HeldWrites held;           ///< of the flusher
        support::Mutex pages_mutex{
            support::LockRank::leaf}; ///< held while `pages` changes, and while the flusher looks

        void use_pages(std::unique_ptr<PageCache> fresh) {
            const std::lock_guard guard{pages_mutex};
            if (pages != nullptr) writes_before += pages->page_table().writes();
            pages.swap(fresh); // the old ones end after that
        }
    };

    static constexpr std::uint64_t no_epoch = ~std::uint64_t{0};
    /// Asks for what an earlier run has read (LAPWING_ADVICE), once an epoch, unless it is not read again. Requires the
    /// calling thread's mutex.
    void ask_for_recorded(OfThread& own);
    /// Of all threads, or of one.
    void begin_epoch() noexcept;
    void begin_epoch(OfThread& own, unsigned thread) noexcept;
    [[nodiscard]] const std::atomic<std::uint64_t>& epoch_of(const OfThread& own) const noexcept {
        return scope_ == CacheAcquire::rank ? epoch_ : own.epoch;
    }
    /// Lets the calling thread's element accesses use its page table. Requires the thread's mutex.
    void show_table(OfThread& own) noexcept;
    /// After a write in a window with copies: finds out where those of its page are, so that more writes to that can be
    /// made through the page table.
    void find_copies(Rank target, Offset offset);
    static constexpr unsigned no_thread = ~0U;
    static constexpr unsigned several_threads = ~0U - 1;
    /// Whether the calling thread may use the cache now. To rely on the answer, hold the mutex of the thread's cache.
    [[nodiscard]] bool for_this_thread() noexcept {
        return !advised_.mode || user_.load(std::memory_order_relaxed) == support::thread_number() || becomes_user();
    }
    [[nodiscard]] bool becomes_user() noexcept;
    [[nodiscard]] InlineWrites inline_writes(bool has_copies) const noexcept;
    /// On return all bytes are written back that any thread had written when this was called, and all threads bypass
    /// the cache.
    void give_up();
    /// Calls `access(thread)` with the calling thread's mutex held; false: the thread bypasses the cache.
    template <class Access>
    [[nodiscard]] bool through_cache(Access&& access);
    /// Null if the calling thread has none and cannot get one now.
    [[nodiscard]] OfThread* mine();
    /// Null if the calling thread has none.
    [[nodiscard]] OfThread* existing() const noexcept;
    [[nodiscard]] OfThread* make_mine(unsigned thread);
    /// Resizes the calling thread's cache to what the budget permits now. Requires its mutex, and no dirty bytes.
    void fit(OfThread& own);
    void write_back_others(const OfThread* mine);
    bool drop_ended() override;
    /// Validates the calling thread's cache, if it has one.
    void validate_mine();
    /// Calls `function(thread)` for each thread that has had a cache.
    template <class Function>
    void for_each_thread(Function&& function) const;

    window::WindowState& window_;
    CacheMode mode_;
    CacheAcquire scope_;
    PageCacheConfiguration configuration_;
    Budget& budget_;
    const Advised advised_;
    std::atomic<unsigned> user_{no_thread}; ///< with an advised mode: the one thread that uses the cache
    std::atomic<bool> given_up_{false};
    std::atomic<bool> no_room_said_{false};
    std::atomic<std::uint64_t> epoch_{0};
    std::atomic<InlineWrites> inline_writes_;
    window::PageTables tables_;
    /// Each is written once, by the thread with that number.
    std::array<std::atomic<OfThread*>, support::numbered_threads> threads_{};
    std::array<std::unique_ptr<OfThread>, support::numbered_threads> owned_;
    std::atomic<unsigned> thread_count_{0}; ///< no thread with this number or a higher one has had a cache
};

} // namespace lapwing::detail::cache
