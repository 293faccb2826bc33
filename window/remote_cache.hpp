#pragma once

#include "src/team/held_writes.hpp"

#include <lapwing/cache_options.hpp>
#include <lapwing/detail/page_table.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/settings.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lapwing::detail::window {

class WindowState;

/// Between a window's calls and its transports, if the window is cached: it starts its own accesses by
/// AccessOrder::begin_for_cache. The room above implements it; the window asks a CacheFactory for one.
///
/// Ranges have been checked, and are never of ranks that are reached by load and store.
class RemoteCache {
public:
    virtual ~RemoteCache() = default;

    // False: nothing was done, since the calling thread is not cached.
    [[nodiscard]] virtual bool get(Rank target, Offset offset, std::span<std::byte> destination) = 0;
    [[nodiscard]] virtual bool put(Rank target, Offset offset, std::span<const std::byte> source) = 0;
    virtual void prefetch(Rank target, Offset offset, std::uint64_t bytes) = 0;

    /// Before a read or write that the window makes itself: it must come after this rank's earlier writes, and cached
    /// bytes must not hide it later.
    virtual void before_read(Rank target, Offset offset, std::uint64_t bytes) = 0;
    virtual void before_write(Rank target, Offset offset, std::uint64_t bytes) = 0;

    /// Starts puts of the dirty bytes of all threads (for `target`); the caller then completes them.
    void write_back() {
        start_write_back();
        finish_write_back();
    }
    virtual void write_back(Rank target) = 0;
    /// Its two halves: several windows can be under way between them.
    virtual void start_write_back() = 0;
    virtual void finish_write_back() = 0;
    /// For the flusher: see HoldsWrites. What cannot be put stays dirty.
    /// `under_way`: something may have left it that is not sent yet.
    [[nodiscard]] virtual bool look_at_held(team::HeldWrites::Clock::time_point now, bool under_way) noexcept = 0;
    virtual void send_old() = 0;
    /// Like write_back(), and also waits for all that any thread has asked for: before the owners may close the window.
    virtual void drain() = 0;
    /// What an acquire does: the contents are not used any more.
    virtual void acquire() = 0;
    /// Whatever the mode.
    virtual void invalidate() = 0;

    /// Whether there are copies beside the cache. Where there are none, element accesses may write into pages that they
    /// find by page_tables(); else only where the cache knows from CopyRegistry::copies_of() what they are to write as
    /// well. Every other write comes through put(). No other thread may be writing meanwhile.
    virtual void set_copies_beside(bool any) = 0;
    /// No thread but the calling one has accessed anything through it.
    [[nodiscard]] virtual bool is_of_this_thread() const noexcept = 0;

    /// Adds what the calling thread's hit path has counted to the window's statistics.
    virtual void collect_statistics() = 0;
    [[nodiscard]] virtual const window::PageTables& page_tables() const noexcept = 0;
    /// Lets the calling thread find the page around an offset of a part that it can load, which has `bytes` bytes and
    /// is at `memory`, in its page table, until the next acquire. False if it has no table, or that no room.
    [[nodiscard]] virtual bool enter_memory(Rank rank, Offset offset, const std::byte* memory,
                                            std::uint64_t bytes) noexcept = 0;
};

/// What all ranks must choose alike: the mode, then the properties of the cache, or zeros if there is none.
inline constexpr std::size_t cache_choices = 9;
using CacheChoices = std::array<std::int64_t, cache_choices>;

/// What ranks must agree on, for a reduction to the minimum: some numbers, then each choice of the cache and its
/// negative.
template <std::size_t N>
[[nodiscard]] std::array<std::int64_t, N + 2 * cache_choices>
with_cache_choices(const std::array<std::int64_t, N>& numbers, const CacheChoices& choices) {
    std::array<std::int64_t, N + 2 * cache_choices> all{};
    auto at = std::ranges::copy(numbers, all.begin()).out;
    for (const std::int64_t choice : choices) {
        *at++ = choice;
        *at++ = -choice;
    }
    return all;
}

/// Caches for windows. The room above has one: see upper_rooms().
class CacheFactory {
public:
    /// What the options ask for, or else what the settings say.
    [[nodiscard]] virtual CacheMode mode(const Settings& settings, const CacheOptions& options) const = 0;
    /// Throws SettingError, starting with `who`, when an option or setting is not allowed or they do not fit together.
    virtual void check(const Settings& settings, const CacheOptions& options, const std::string& who) const = 0;
    [[nodiscard]] virtual CacheChoices chosen(const Settings& settings, const CacheOptions& options) const = 0;
    /// One of these, for messages: "CacheOptions::mode (LAPWING_CACHE)"; and a value of it.
    [[nodiscard]] virtual std::string name_of(std::size_t choice) const = 0;
    [[nodiscard]] virtual std::string text_of(std::size_t choice, std::int64_t value) const = 0;
    /// Null when the window is not to be cached.
    [[nodiscard]] virtual std::unique_ptr<RemoteCache> make(WindowState& window, const CacheOptions& options) const = 0;

protected:
    ~CacheFactory() = default;
};

} // namespace lapwing::detail::window
