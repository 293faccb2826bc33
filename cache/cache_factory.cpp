#include "cache/cache_factory.hpp"

#include "cache/window_cache.hpp"
#include "src/mpi/thread_level.hpp"

#include <lapwing/error.hpp>
#include <lapwing/settings.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace lapwing::detail::support::settings_in {
void cache_cache_factory() {} // see cmake/LapwingSettings.cmake
} // namespace lapwing::detail::support::settings_in

namespace lapwing::detail::cache {
namespace {

[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<CacheMode> mode_setting{
    {.name = "LAPWING_CACHE",
     .default_value = "off",
     .unit = "",
     .help = "caching of other nodes' memory, for windows and arrays that do not "
             "choose"},
    {{"off", CacheMode::off},
     {"epoch", CacheMode::epoch},
     {"read_only", CacheMode::read_only},
     {"transparent", CacheMode::transparent}}};
[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<CachePolicy> policy_setting{
    {.name = "LAPWING_CACHE_POLICY",
     .default_value = "two_queues",
     .unit = "",
     .help = "which page is evicted for a new one"},
    {{"two_queues", CachePolicy::two_queues}, {"direct_mapped", CachePolicy::direct_mapped}}};
[[gnu::init_priority(support::before_programs)]] const support::NumberSetting victims_setting{
    {.name = "LAPWING_CACHE_VICTIMS",
     .default_value = "8",
     .unit = "pages",
     .help = "victim cache of the policy direct_mapped, at most a quarter of the pages",
     .choices = {}},
    0,
    1U << 20};
[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<CacheAcquire> acquire_setting{
    {.name = "LAPWING_CACHE_ACQUIRE",
     .default_value = "rank",
     .unit = "",
     .help = "which caches an acquire by one thread invalidates: those of all threads of its rank, or only its own"},
    {{"rank", CacheAcquire::rank}, {"thread", CacheAcquire::thread}}};
constexpr std::uint64_t least_page = 64;
constexpr std::uint64_t largest_page = 65536;
constexpr std::uint64_t largest_cache = std::uint64_t{1} << 40;
[[gnu::init_priority(support::before_programs)]] const support::NumberSetting bytes_setting{
    {.name = "LAPWING_CACHE_BYTES",
     .default_value = "2m",
     .unit = "bytes",
     .help = "cached pages of one window, for each thread",
     .choices = {}},
    least_page* least_pages,
    largest_cache};
[[gnu::init_priority(support::before_programs)]] const support::NumberSetting memory_setting{
    {.name = "LAPWING_CACHE_MEMORY",
     .default_value = "256m",
     .unit = "bytes",
     .help = "most memory of all caches of a process (for each runtime): of all windows and "
             "threads",
     .choices = {}},
    1U << 16,
    largest_cache * 2};
[[gnu::init_priority(support::before_programs)]] const support::NumberSetting page_setting{
    {.name = "LAPWING_CACHE_PAGE",
     .default_value = "1k",
     .unit = "bytes",
     .help = "size of a cached page, a power of two",
     .choices = {}},
    least_page,
    largest_page};
[[gnu::init_priority(support::before_programs)]] const support::NumberSetting dirty_setting{
    {.name = "LAPWING_CACHE_DIRTY_PAGES",
     .default_value = "1024",
     .unit = "pages",
     .help = "most pages with bytes to be written back, for each thread",
     .choices = {}},
    1,
    1U << 20};
[[gnu::init_priority(support::before_programs)]] const support::NumberSetting read_ahead_setting{
    {.name = "LAPWING_CACHE_READ_AHEAD",
     .default_value = "512k",
     .unit = "bytes",
     .help = "most that is read ahead of a sequential access; 0: nothing",
     .choices = {}},
    0,
    1U << 30};
[[gnu::init_priority(support::before_programs)]] const support::ChoiceSetting<bool> adapt_setting{
    {.name = "LAPWING_CACHE_ADAPT",
     .default_value = "on",
     .unit = "",
     .help = "whether reads bypass a cache that does not pay (counter cache_passed), and "
             "the page size follows the program (cache_page_changes): half of "
             "LAPWING_CACHE_PAGE to 4 times"},
    {{"on", true}, {"off", false}}};

[[nodiscard]] PageCacheConfiguration configuration_of(const Settings& settings, const CacheOptions& options) {
    PageCacheConfiguration result;
    result.bytes = options.bytes ? *options.bytes : bytes_setting.get(settings);
    result.page_bytes = options.page_bytes ? *options.page_bytes : page_setting.get(settings);
    result.dirty_pages = options.dirty_pages ? *options.dirty_pages : dirty_setting.get(settings);
    result.read_ahead_bytes = options.read_ahead_bytes ? *options.read_ahead_bytes : read_ahead_setting.get(settings);
    result.policy = options.policy.value_or(policy_setting.get(settings));
    result.adapt = options.adapt.value_or(adapt_setting.get(settings));
    result.victim_pages = options.victim_pages ? *options.victim_pages : victims_setting.get(settings);
    return result;
}

[[nodiscard]] CacheAcquire scope_of(const Settings& settings, const CacheOptions& options) {
    return options.acquire.value_or(acquire_setting.get(settings));
}

/// How the value of a setting, sent as a number, is written in messages.
using Text = std::string (*)(std::int64_t value);
std::string number(std::int64_t value) { return fmt::format("{}", value); }
template <class Value, const support::ChoiceSetting<Value>& setting>
std::string word(std::int64_t value) {
    return std::string{setting.word(static_cast<Value>(value))};
}
std::string on_or_off(std::int64_t off) { return std::string{adapt_setting.word(off == 0)}; }

/// In the order of CacheFactory::chosen().
struct Choice {
    const char* option;
    const support::Setting& setting;
    Text text = number;
};
const std::array<Choice, window::cache_choices> choices{
    {{"mode", mode_setting, word<CacheMode, mode_setting>},
     {"policy", policy_setting, word<CachePolicy, policy_setting>},
     {"bytes", bytes_setting},
     {"page_bytes", page_setting},
     {"dirty_pages", dirty_setting},
     {"read_ahead_bytes", read_ahead_setting},
     {"adapt", adapt_setting, on_or_off},
     {"victim_pages", victims_setting},
     {"acquire", acquire_setting, word<CacheAcquire, acquire_setting>}}};

class Factory final : public window::CacheFactory {
public:
    CacheMode mode(const Settings& settings, const CacheOptions& options) const override {
        return options.mode.value_or(mode_setting.get(settings));
    }

    void check(const Settings& settings, const CacheOptions& options, const std::string& who) const override {
        if (mode(settings, options) == CacheMode::off) return;
        const PageCacheConfiguration wanted = configuration_of(settings, options);
        if (!std::has_single_bit(wanted.page_bytes) || wanted.page_bytes < least_page ||
            wanted.page_bytes > largest_page)
            throw SettingError{
                fmt::format("{}: a cache page of {} bytes (LAPWING_CACHE_PAGE, CacheOptions::page_bytes) is not a "
                            "power of two from {} to {}",
                            who, wanted.page_bytes, least_page, largest_page)};
        if (wanted.bytes / wanted.page_bytes < least_pages || wanted.bytes > largest_cache)
            throw SettingError{fmt::format(
                "{}: a cache of {} bytes (LAPWING_CACHE_BYTES, CacheOptions::bytes) has no room for {} pages "
                "of {} bytes, or is larger than {} bytes; make it larger or its pages smaller",
                who, wanted.bytes, least_pages, wanted.page_bytes, largest_cache)};
        if (wanted.dirty_pages == 0)
            throw SettingError{fmt::format("{}: a cache without room for a dirty page (LAPWING_CACHE_DIRTY_PAGES, "
                                           "CacheOptions::dirty_pages) cannot be written; pass at least 1",
                                           who)};
    }

    window::CacheChoices chosen(const Settings& settings, const CacheOptions& options) const override {
        const CacheMode mode = this->mode(settings, options);
        if (mode == CacheMode::off) return {};
        const auto as_number = [](std::uint64_t value) {
            return static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
        };
        const PageCacheConfiguration chosen = configuration_of(settings, options);
        return {static_cast<std::int64_t>(mode),
                static_cast<std::int64_t>(chosen.policy),
                as_number(chosen.bytes),
                as_number(chosen.page_bytes),
                as_number(chosen.dirty_pages),
                as_number(chosen.read_ahead_bytes),
                chosen.adapt ? 0 : 1,
                as_number(chosen.victim_pages),
                static_cast<std::int64_t>(scope_of(settings, options))};
    }

    std::string name_of(std::size_t choice) const override {
        return fmt::format("CacheOptions::{} ({})", choices[choice].option, choices[choice].setting.info().name);
    }

    std::string text_of(std::size_t choice, std::int64_t value) const override { return choices[choice].text(value); }

    std::unique_ptr<window::RemoteCache> make(window::WindowState& window, const CacheOptions& options) const override {
        const Settings& settings = window.team_state().settings();
        const CacheMode mode = this->mode(settings, options);
        const transport::MemoryMap& map = window.map();
        if (mode == CacheMode::off || map.node_count == map.ranks) return nullptr; // no rank needs a cache
        PageCacheConfiguration configuration = configuration_of(settings, options);
        std::vector<Rank> near;
        for (int rank = 0; rank < map.ranks; ++rank)
            if (rank == map.own_rank || map.base(rank) != nullptr) near.push_back(rank);
        configuration.ranks = {map.ranks, std::move(near)};
        configuration.largest_part = map.uniform_bytes;
        if (map.sizes != nullptr) configuration.largest_part = *std::max_element(map.sizes, map.sizes + map.ranks);
        // Below MPI_THREAD_MULTIPLE, MPI itself requires that calls do not overlap.
        configuration.alone = mpi::thread_level(settings) != MPI_THREAD_MULTIPLE;
        Budget& budget = window.team_state().part<TeamBudget>().budget(memory_setting.get(settings));
        const window::AdvisedWindow* const advice =
            window::advice_for(window.team_state(), window.facts().name, window.number());
        WindowCache::Advised advised;
        if (advice != nullptr)
            advised = {.mode = window.team_state().part<window::AdvisedWindows>().take_chosen_mode(window.number()),
                       .reads = advice->prefetch};
        return std::make_unique<WindowCache>(window, mode, scope_of(settings, options), configuration, budget,
                                             std::move(advised));
    }
};

} // namespace

const window::CacheFactory& cache_factory() noexcept {
    static const Factory factory;
    return factory;
}

} // namespace lapwing::detail::cache
