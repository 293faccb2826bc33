#pragma once

#include <lapwing/detail/cache_front.hpp>
#include <lapwing/cache_options.hpp>
#include <lapwing/settings.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lapwing::cache {

/// Bytes of one rank's part that are to be written, and where they are now.
struct Run {
    std::uint64_t offset = 0;
    const std::byte* source = nullptr;
    std::uint64_t bytes = 0;
};

} // namespace lapwing::cache

namespace lapwing::window {

class WindowState;

/// What stands between a window's calls and its paths to other nodes, if the window is cached. The room above implements
/// it; the window asks for one by make_remote_cache().
///
/// Ranges have been checked, and are never of ranks that are reached by load and store.
class RemoteCache {
public:
    virtual ~RemoteCache() = default;

    virtual void get(int target, std::uint64_t offset, std::span<std::byte> destination) = 0;
    virtual void put(int target, std::uint64_t offset, std::span<const std::byte> source) = 0;
    virtual void prefetch(int target, std::uint64_t offset, std::uint64_t bytes) = 0;

    /// Before a read, or a write, that the window makes itself: it must come after the own writes before it, and what is
    /// cached must not hide it later.
    virtual void before_read(int target, std::uint64_t offset, std::uint64_t bytes) = 0;
    virtual void before_write(int target, std::uint64_t offset, std::uint64_t bytes) = 0;

    /// Puts the dirty bytes of all threads (for `target`); the caller then completes the puts.
    virtual void write_back() = 0;
    virtual void write_back(int target) = 0;
    /// As write_back(), and waits for all that any thread has asked for: before the owners may close the window.
    virtual void settle() = 0;
    /// What an acquire does: contents are not used any more.
    virtual void acquire() = 0;
    /// Whatever the mode.
    virtual void invalidate() = 0;

    /// Adds what the calling thread's hit path has counted to the window's statistics.
    virtual void collect_statistics() = 0;
    [[nodiscard]] virtual const cache::Fronts& fronts() const noexcept = 0;
};

/// What the options ask for, or else the settings.
[[nodiscard]] CacheMode cache_mode(const Settings& settings, const CacheOptions& options);
/// Throws SettingError, starting with `who`, when an option or setting is not allowed or they do not fit together.
void check_cache_options(const Settings& settings, const CacheOptions& options, const std::string& who);
/// What all ranks must choose alike: the mode, then what the cache is like, or zeros if there is none.
inline constexpr std::size_t cache_choices = 9;
[[nodiscard]] std::array<std::int64_t, cache_choices> chosen_cache(const Settings& settings, const CacheOptions& options);
/// What ranks must agree on, for a reduction to the minimum: some numbers, then each choice of the cache and its negative.
template <std::size_t N>
[[nodiscard]] std::array<std::int64_t, N + 2 * cache_choices> with_cache_choices(
    const std::array<std::int64_t, N>& numbers, const std::array<std::int64_t, cache_choices>& choices) {
    std::array<std::int64_t, N + 2 * cache_choices> all{};
    auto at = std::ranges::copy(numbers, all.begin()).out;
    for (const std::int64_t choice : choices) {
        *at++ = choice;
        *at++ = -choice;
    }
    return all;
}
/// One of these, for messages: "CacheOptions::mode (LAPWING_CACHE)"; and a value of it.
[[nodiscard]] std::string name_cache_choice(std::size_t choice);
[[nodiscard]] std::string name_cache_value(std::size_t choice, std::int64_t value);
/// Null when the window is not to be cached.
[[nodiscard]] std::unique_ptr<RemoteCache> make_remote_cache(WindowState& window, const CacheOptions& options);

} // namespace lapwing::window
