#include "cache/window_cache.hpp"

#include "src/support/log.hpp"
#include "src/team/team_registry.hpp"

#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

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
const support::NumberSetting victims_setting{{.name = "LAPWING_CACHE_VICTIMS",
                                              .default_value = "8",
                                              .unit = "pages",
                                              .help = "victim cache of the policy direct_mapped, at most a quarter of the pages",
                                              .choices = {}},
                                             0, 1U << 20};
const support::ChoiceSetting acquire_setting{{.name = "LAPWING_CACHE_ACQUIRE",
                                              .default_value = "rank",
                                              .unit = "",
                                              .help = "whose contents an acquire by one thread drops: those of all threads of its rank, "
                                                      "or its own",
                                              .choices = {"rank", "thread"}}};
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
const support::NumberSetting memory_setting{{.name = "LAPWING_CACHE_MEMORY",
                                             .default_value = "256m",
                                             .unit = "bytes",
                                             .help = "most memory of all caches of a process (for each runtime): of all windows and "
                                                     "threads",
                                             .choices = {}},
                                            1U << 16, largest_cache * 2};
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
                                            .help = "whether reads pass by a cache that does not pay (counter cache_passed), and "
                                                    "the page size follows the program (cache_page_changes): half of "
                                                    "LAPWING_CACHE_PAGE to 4 times",
                                            .choices = {"on", "off"}}};

[[nodiscard]] PageCacheConfiguration configuration_of(const Settings& settings, const CacheOptions& options) {
    PageCacheConfiguration result;
    result.bytes = options.bytes ? *options.bytes : bytes_setting.get(settings);
    result.page_bytes = options.page_bytes ? *options.page_bytes : page_setting.get(settings);
    result.dirty_pages = options.dirty_pages ? *options.dirty_pages : dirty_setting.get(settings);
    result.read_ahead_bytes = options.read_ahead_bytes ? *options.read_ahead_bytes : read_ahead_setting.get(settings);
    result.policy = options.policy.value_or(static_cast<CachePolicy>(policy_setting.get(settings)));
    result.adapt = options.adapt.value_or(adapt_setting.get(settings) == 0);
    result.victim_pages = options.victim_pages ? *options.victim_pages : victims_setting.get(settings);
    return result;
}

[[nodiscard]] CacheAcquire scope_of(const Settings& settings, const CacheOptions& options) {
    return options.acquire.value_or(static_cast<CacheAcquire>(acquire_setting.get(settings)));
}

} // namespace

WindowCache::WindowCache(window::WindowState& window, CacheMode mode, CacheAcquire scope,
                         const PageCacheConfiguration& configuration, Budget& budget)
    : window_{window}, mode_{mode}, scope_{scope}, configuration_{configuration}, budget_{budget} {}

WindowCache::~WindowCache() {
    if (!team::TeamRegistry::mpi_ended()) return;
    for_each_thread([](OfThread& thread) {
        if (thread.pages != nullptr) thread.pages->abandon();
    });
}

template <class Function>
void WindowCache::for_each_thread(Function&& function) const {
    const unsigned count = thread_count_.load(std::memory_order_acquire);
    for (unsigned thread = 0; thread < count; ++thread)
        if (OfThread* const found = threads_[thread].load(std::memory_order_acquire)) function(*found);
}

WindowCache::OfThread* WindowCache::existing() const noexcept {
    const unsigned thread = support::thread_number();
    if (thread >= threads_.size()) return nullptr;
    OfThread* const found = threads_[thread].load(std::memory_order_acquire);
    return found != nullptr && found->pages != nullptr ? found : nullptr;
}

WindowCache::OfThread* WindowCache::mine() {
    const unsigned thread = support::thread_number();
    if (thread < threads_.size()) [[likely]]
        if (OfThread* const found = threads_[thread].load(std::memory_order_acquire)) [[likely]] {
            if (found->pages != nullptr) [[likely]]
                return found;
            if (!found->share.outdated()) return nullptr; // there is no more room in the budget than before
        }
    return make_mine(thread);
}

WindowCache::OfThread* WindowCache::make_mine(unsigned thread) {
    if (thread >= threads_.size()) {
        static std::once_flag said;
        std::call_once(said, [this] {
            support::log_line(fmt::format("{}: more than {} threads use cached windows at a time; the others are not cached",
                                          window_.team_state().who(), threads_.size()));
        });
        return nullptr;
    }
    // Only this thread has the number.
    std::unique_ptr<OfThread>& own = owned_[thread];
    if (own == nullptr) {
        own = std::make_unique<OfThread>(window_, budget_);
        threads_[thread].store(own.get(), std::memory_order_release);
        unsigned count = thread_count_.load(std::memory_order_relaxed);
        while (count <= thread && !thread_count_.compare_exchange_weak(count, thread + 1, std::memory_order_release)) {
        }
    }
    const support::BiasedMutex::Guard guard{own->mutex};
    fit(*own);
    return own->pages != nullptr ? own.get() : nullptr;
}

void WindowCache::fit(OfThread& own) {
    PageCacheConfiguration configuration = configuration_;
    const std::uint64_t wanted = PageCache::memory_for(configuration);
    configuration.bytes = least_pages * configuration.page_bytes;
    const std::uint64_t least = PageCache::memory_for(configuration);
    const std::uint64_t before = own.share.held();
    const std::uint64_t granted = own.share.claim(wanted, least);
    if (granted < wanted && budget_.tell())
        support::log_line(fmt::format("{}: the caches of this process want more than LAPWING_CACHE_MEMORY ({} bytes), so that each gets "
                                      "less; this thread's has {} of {} bytes. Raise it, or lower LAPWING_CACHE_BYTES",
                                      window_.who("cache"), budget_.limit(), granted, wanted));
    if (granted == before) return;
    configuration.bytes = granted == wanted ? configuration_.bytes : PageCache::bytes_within(configuration_, granted);
    if (granted < before) { // others may have what this one gives back
        fronts_.forget_mine();
        own.pages.reset();
    }
    if (granted == 0) return;
    try {
        own.pages = std::make_unique<PageCache>(configuration, own.backend, scope_ == CacheAcquire::rank ? epoch_ : own.epoch,
                                                own.dirty_pages, window_.statistics());
    } catch (const std::bad_alloc&) {
        own.share.keep(own.pages != nullptr ? before : 0);
        if (before != 0) return; // a release: this thread goes on with the cache that it has, or without
        throw RangeError{fmt::format("{}: there is no memory for a cache of {} bytes ({} with what it needs beside its pages) for this "
                                     "thread; make it smaller (LAPWING_CACHE_BYTES, CacheOptions::bytes), bound all caches of the "
                                     "process (LAPWING_CACHE_MEMORY), or do without (LAPWING_CACHE=off)",
                                     window_.who("cache"), configuration.bytes, granted)};
    }
    fronts_.set_mine(own.pages->front());
}

std::uint64_t WindowCache::memory_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for_each_thread([&](const OfThread& thread) { bytes += thread.pages != nullptr ? thread.pages->memory_bytes() : 0; });
    return bytes;
}

void WindowCache::invalidate() {
    begin_epoch(epoch_);
    for_each_thread([](OfThread& thread) { begin_epoch(thread.epoch); });
}

void WindowCache::get(int target, std::uint64_t offset, std::span<std::byte> destination) {
    OfThread* const own = mine();
    if (own == nullptr) return window_.get_uncached(target, offset, destination);
    if (destination.size() == 8 && offset % 8 == 0) {
        if (const auto* value = own->pages->front().find<std::uint64_t>(target, offset)) {
            std::memcpy(destination.data(), value, 8);
            return;
        }
    }
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages->get(target, offset, destination);
}

void WindowCache::put(int target, std::uint64_t offset, std::span<const std::byte> source) {
    OfThread* const own = mine();
    if (own == nullptr) return window_.put_uncached(target, offset, source);
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages->put(target, offset, source);
}

void WindowCache::prefetch(int target, std::uint64_t offset, std::uint64_t bytes) {
    OfThread* const own = mine();
    if (own == nullptr) return;
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages->prefetch(target, offset, bytes);
}

void WindowCache::before_read(int target, std::uint64_t offset, std::uint64_t bytes) {
    OfThread* const own = existing();
    if (own == nullptr || !own->pages->may_be_dirty()) return;
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages->write_back(target, offset, bytes);
}

void WindowCache::before_write(int target, std::uint64_t offset, std::uint64_t bytes) {
    OfThread* const own = existing();
    if (own == nullptr) return;
    const support::BiasedMutex::Guard guard{own->mutex};
    own->pages->forget(target, offset, bytes);
}

void WindowCache::write_back() {
    OfThread* const own = existing();
    if (own != nullptr) {
        const support::BiasedMutex::Guard guard{own->mutex};
        own->pages->release();
        if (own->share.outdated()) [[unlikely]]
            fit(*own);
    }
    write_back_others(own);
}

void WindowCache::write_back(int target) {
    OfThread* const own = existing();
    if (own != nullptr) {
        const support::BiasedMutex::Guard guard{own->mutex};
        own->pages->release(target);
    }
    write_back_others(own);
}

void WindowCache::settle() {
    write_back();
    for_each_thread([](OfThread& thread) {
        const support::BiasedMutex::Guard guard{thread.mutex};
        if (thread.pages != nullptr) thread.pages->finish_all();
    });
}

void WindowCache::write_back_others(const OfThread* mine) {
    for_each_thread([&](OfThread& other) {
        if (&other == mine || other.dirty_pages.load(std::memory_order_acquire) == 0) return;
        const support::BiasedMutex::Guard guard{other.mutex};
        if (other.pages != nullptr) other.pages->write_back_for_another_thread(); // its thread may have given it up meanwhile
    });
}

void WindowCache::collect_statistics() {
    if (OfThread* const own = existing()) own->pages->collect_hits();
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
                                                 {"adapt", cache::adapt_setting},
                                                 {"victim_pages", cache::victims_setting},
                                                 {"acquire", cache::acquire_setting}}};

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
            chosen.adapt ? 0 : 1,
            number(chosen.victim_pages),
            static_cast<std::int64_t>(cache::scope_of(settings, options))};
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
    std::vector<int> near;
    for (int rank = 0; rank < map.ranks; ++rank)
        if (rank == map.own_rank || map.base(rank) != nullptr) near.push_back(rank);
    configuration.ranks = {map.ranks, std::move(near)};
    configuration.largest_part = map.uniform_bytes;
    if (map.sizes != nullptr) configuration.largest_part = *std::max_element(map.sizes, map.sizes + map.ranks);
    // Below that, MPI itself asks that calls are kept apart.
    int level = MPI_THREAD_MULTIPLE;
    MPI_Query_thread(&level);
    configuration.alone = level != MPI_THREAD_MULTIPLE;
    cache::Budget& budget = window.team_state().part<cache::TeamBudget>().budget(cache::memory_setting.get(settings));
    return std::make_unique<cache::WindowCache>(window, mode, cache::scope_of(settings, options), configuration, budget);
}

} // namespace lapwing::window
