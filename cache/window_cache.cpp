#include "cache/window_cache.hpp"

#include "window/team_registry.hpp"

#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace lapwing::support::settings_in {
void cache_window_cache() {} // see cmake/LapwingSettings.cmake
}

namespace lapwing::cache {
namespace {

const support::ChoiceSetting mode_setting{{.name = "LAPWING_CACHE",
                                           .default_value = "off",
                                           .unit = "",
                                           .help = "caching of other nodes' memory, for windows and arrays that do not choose",
                                           .choices = {"off", "epoch", "read_only", "transparent"}}};
const support::ChoiceSetting policy_setting{{.name = "LAPWING_CACHE_POLICY",
                                             .default_value = "two_queues",
                                             .unit = "",
                                             .help = "which page makes room for another",
                                             .choices = {"two_queues", "direct_mapped"}}};
constexpr std::uint64_t least_page = 64;
constexpr std::uint64_t largest_page = 65536;
constexpr std::uint64_t least_pages = 4;
constexpr std::uint64_t largest_cache = std::uint64_t{1} << 40;
const support::NumberSetting bytes_setting{{.name = "LAPWING_CACHE_BYTES",
                                            .default_value = "2m",
                                            .unit = "bytes",
                                            .help = "cached pages of one window, for each thread",
                                            .choices = {}},
                                           least_page * least_pages, largest_cache};
const support::NumberSetting page_setting{{.name = "LAPWING_CACHE_PAGE",
                                           .default_value = "1k",
                                           .unit = "bytes",
                                           .help = "size of a cached page, a power of two",
                                           .choices = {}},
                                          least_page, largest_page};
const support::NumberSetting dirty_setting{{.name = "LAPWING_CACHE_DIRTY_PAGES",
                                            .default_value = "1024",
                                            .unit = "pages",
                                            .help = "most pages with bytes to be written back, for each thread",
                                            .choices = {}},
                                           1, 1U << 20};
const support::NumberSetting read_ahead_setting{{.name = "LAPWING_CACHE_READ_AHEAD",
                                                 .default_value = "512k",
                                                 .unit = "bytes",
                                                 .help = "most that is read ahead of a sequential access; 0: nothing",
                                                 .choices = {}},
                                                0, 1U << 30};
const support::ChoiceSetting adapt_setting{{.name = "LAPWING_CACHE_ADAPT",
                                            .default_value = "on",
                                            .unit = "",
                                            .help = "whether reads pass by a cache that does not pay",
                                            .choices = {"on", "off"}}};

[[nodiscard]] PageCacheConfiguration configuration_of(const Settings& settings, const CacheOptions& options) {
    PageCacheConfiguration result;
    result.bytes = options.bytes ? *options.bytes : bytes_setting.get(settings);
    result.page_bytes = options.page_bytes ? *options.page_bytes : page_setting.get(settings);
    result.dirty_pages = options.dirty_pages ? *options.dirty_pages : dirty_setting.get(settings);
    result.read_ahead_bytes = options.read_ahead_bytes ? *options.read_ahead_bytes : read_ahead_setting.get(settings);
    result.policy = options.policy.value_or(static_cast<CachePolicy>(policy_setting.get(settings)));
    result.adapt = options.adapt.value_or(adapt_setting.get(settings) == 0);
    return result;
}

} // namespace

WindowCache::WindowCache(window::WindowState& window, CacheMode mode, const PageCacheConfiguration& configuration)
    : window_{window}, mode_{mode}, configuration_{configuration} {}

WindowCache::~WindowCache() {
    if (!window::TeamRegistry::mpi_ended()) return;
    for (const auto& thread : owned_)
        if (thread != nullptr) thread->pages.abandon();
}

WindowCache::OfThread* WindowCache::existing() const noexcept {
    const unsigned shard = support::thread_shard();
    return shard < threads_.size() ? threads_[shard].load(std::memory_order_acquire) : nullptr;
}

WindowCache::OfThread* WindowCache::mine() {
    const unsigned shard = support::thread_shard();
    if (shard >= threads_.size()) return nullptr;
    if (OfThread* const found = threads_[shard].load(std::memory_order_acquire)) [[likely]]
        return found;
    // Only this thread has the shard.
    owned_[shard] = std::make_unique<OfThread>(window_, configuration_, epoch_);
    threads_[shard].store(owned_[shard].get(), std::memory_order_release);
    fronts_.set_mine(owned_[shard]->pages.front());
    return owned_[shard].get();
}

void WindowCache::get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    OfThread* const own = mine();
    if (own == nullptr) return window_.get_uncached(target, offset, destination);
    if (destination.size() == 8 && offset % 8 == 0) {
        if (const auto* value = own->pages.front().find<std::uint64_t>(target, offset)) {
            std::memcpy(destination.data(), value, 8);
            return;
        }
    }
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages.get(target, offset, destination);
}

void WindowCache::put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    OfThread* const own = mine();
    if (own == nullptr) return window_.put_uncached(target, offset, source);
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages.put(target, offset, source);
}

void WindowCache::prefetch(int target, std::uint64_t offset, std::uint64_t bytes) {
    OfThread* const own = mine();
    if (own == nullptr) return;
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages.prefetch(target, offset, bytes);
}

void WindowCache::before_read(int target, std::uint64_t offset, std::uint64_t bytes) {
    OfThread* const own = existing();
    if (own == nullptr || !own->pages.may_be_dirty()) return;
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages.write_back(target, offset, bytes);
}

void WindowCache::before_write(int target, std::uint64_t offset, std::uint64_t bytes) {
    OfThread* const own = existing();
    if (own == nullptr) return;
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages.forget(target, offset, bytes);
}

void WindowCache::write_back() {
    OfThread* const own = existing();
    if (own != nullptr) {
        const support::BiasedMutex::Guard guard{own->mutex};
        own->pages.release();
    }
    write_back_others(own);
}

void WindowCache::write_back(int target) {
    OfThread* const own = existing();
    if (own != nullptr) {
        const support::BiasedMutex::Guard guard{own->mutex};
        own->pages.release(target);
    }
    write_back_others(own);
}

void WindowCache::settle() {
    write_back();
    for (const auto& entry : threads_) {
        OfThread* const thread = entry.load(std::memory_order_acquire);
        if (thread == nullptr) continue;
        const support::BiasedMutex::Guard guard{thread->mutex};
        thread->pages.finish_all();
    }
}

void WindowCache::write_back_others(const OfThread* mine) {
    for (const auto& entry : threads_) {
        OfThread* const other = entry.load(std::memory_order_acquire);
        if (other == nullptr || other == mine || !other->pages.may_be_dirty()) continue;
        const support::BiasedMutex::Guard guard{other->mutex};
        other->pages.write_back_for_another_thread();
    }
}

void WindowCache::collect_statistics() {
    if (OfThread* const own = existing()) own->pages.collect_hits();
}

} // namespace lapwing::cache

namespace lapwing::window {

CacheMode cache_mode(const Settings& settings, const CacheOptions& options) {
    return options.mode.value_or(static_cast<CacheMode>(cache::mode_setting.get(settings)));
}

void check_cache_options(const Settings& settings, const CacheOptions& options, const std::string& who) {
    if (cache_mode(settings, options) == CacheMode::off) return;
    const cache::PageCacheConfiguration wanted = cache::configuration_of(settings, options);
    if (!std::has_single_bit(wanted.page_bytes) || wanted.page_bytes < cache::least_page || wanted.page_bytes > cache::largest_page)
        throw SettingError{fmt::format("{}: a cache page of {} bytes (LAPWING_CACHE_PAGE, CacheOptions::page_bytes) is not a "
                                       "power of two from {} to {}",
                                       who, wanted.page_bytes, cache::least_page, cache::largest_page)};
    if (wanted.bytes / wanted.page_bytes < cache::least_pages || wanted.bytes > cache::largest_cache)
        throw SettingError{fmt::format("{}: a cache of {} bytes (LAPWING_CACHE_BYTES, CacheOptions::bytes) has no room for {} pages "
                                       "of {} bytes, or is larger than {} bytes; make it larger or its pages smaller",
                                       who, wanted.bytes, cache::least_pages, wanted.page_bytes, cache::largest_cache)};
    if (wanted.dirty_pages == 0)
        throw SettingError{fmt::format("{}: a cache without room for a dirty page (LAPWING_CACHE_DIRTY_PAGES, "
                                       "CacheOptions::dirty_pages) cannot be written; pass at least 1",
                                       who)};
}

namespace {

/// In the order of chosen_cache().
struct Choice {
    const char* option;
    const support::Setting& setting;
};
const std::array<Choice, cache_choices> choices{{{"mode", cache::mode_setting},
                                                 {"policy", cache::policy_setting},
                                                 {"bytes", cache::bytes_setting},
                                                 {"page_bytes", cache::page_setting},
                                                 {"dirty_pages", cache::dirty_setting},
                                                 {"read_ahead_bytes", cache::read_ahead_setting},
                                                 {"adapt", cache::adapt_setting}}};

} // namespace

std::array<std::int64_t, cache_choices> chosen_cache(const Settings& settings, const CacheOptions& options) {
    const CacheMode mode = cache_mode(settings, options);
    if (mode == CacheMode::off) return {};
    const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)); };
    const cache::PageCacheConfiguration chosen = cache::configuration_of(settings, options);
    return {static_cast<std::int64_t>(mode),
            static_cast<std::int64_t>(chosen.policy),
            number(chosen.bytes),
            number(chosen.page_bytes),
            number(chosen.dirty_pages),
            number(chosen.read_ahead_bytes),
            chosen.adapt ? 0 : 1};
}

std::string name_cache_choice(std::size_t choice) {
    return fmt::format("CacheOptions::{} ({})", choices[choice].option, choices[choice].setting.info().name);
}

std::string name_cache_value(std::size_t choice, std::int64_t value) {
    const std::vector<std::string>& words = choices[choice].setting.info().choices;
    return words.empty() ? fmt::format("{}", value) : words[static_cast<std::size_t>(value)];
}

std::unique_ptr<RemoteCache> make_remote_cache(WindowState& window, const CacheOptions& options) {
    const Settings& settings = window.team_state().settings();
    const CacheMode mode = cache_mode(settings, options);
    const MemoryMap& map = window.map();
    if (mode == CacheMode::off || map.node_count == map.ranks) return nullptr; // nobody to cache
    cache::PageCacheConfiguration configuration = cache::configuration_of(settings, options);
    configuration.ranks = map.ranks;
    configuration.largest_part = map.uniform_bytes;
    if (map.sizes != nullptr) configuration.largest_part = *std::max_element(map.sizes, map.sizes + map.ranks);
    // Below that, MPI itself asks that calls are kept apart.
    int level = MPI_THREAD_MULTIPLE;
    MPI_Query_thread(&level);
    configuration.alone = level != MPI_THREAD_MULTIPLE;
    return std::make_unique<cache::WindowCache>(window, mode, configuration);
}

} // namespace lapwing::window
