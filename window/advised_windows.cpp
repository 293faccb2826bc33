#include "window/advised_windows.hpp"

#include "src/support/log.hpp"
#include "window/remote_cache.hpp"
#include "window/upper_rooms.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

namespace lapwing::detail::window {

void AdvisedWindows::set(std::vector<AdvisedWindow> windows) {
    const std::lock_guard guard{mutex_};
    windows_ = std::move(windows);
    if (!windows_.empty()) any_.store(true, std::memory_order_relaxed);
}

const AdvisedWindow* AdvisedWindows::find(std::string_view name, std::uint64_t number) {
    const std::lock_guard guard{mutex_};
    AdvisedWindow* best = nullptr;
    // Of several windows of one name, the one that was made at the same place in the order.
    for (AdvisedWindow& window : windows_)
        if (window.name == name && (!name.empty() || window.number == number) &&
            (best == nullptr || window.number == number))
            best = &window;
    if (best != nullptr) best->used = true;
    return best;
}

std::vector<AdvisedWindow> AdvisedWindows::unused() const {
    const std::lock_guard guard{mutex_};
    std::vector<AdvisedWindow> result;
    std::ranges::copy_if(windows_, std::back_inserter(result), [](const AdvisedWindow& w) { return !w.used; });
    return result;
}

void AdvisedWindows::note_chosen_mode(std::uint64_t number) {
    const std::lock_guard guard{mutex_};
    chosen_modes_.insert(number);
}

bool AdvisedWindows::take_chosen_mode(std::uint64_t number) {
    const std::lock_guard guard{mutex_};
    return chosen_modes_.erase(number) != 0;
}

CacheOptions advised_cache(team::TeamState& state, std::string_view name, std::uint64_t number,
                           const CacheOptions& options) {
    const AdvisedWindow* const advice = advice_for(state, name, number);
    if (advice == nullptr) return options;
    const Settings& settings = state.settings();
    CacheOptions advised = options;
    const auto use = [&](auto& own, const auto& from, const char* setting) {
        if (!own && from && settings.origin(setting) == "default") own = from;
    };
    use(advised.mode, advice->mode, "LAPWING_CACHE");
    use(advised.bytes, advice->cache_bytes, "LAPWING_CACHE_BYTES");
    use(advised.page_bytes, advice->page_bytes, "LAPWING_CACHE_PAGE");
    try {
        upper_rooms().caches.check(settings, advised, {});
    } catch (const SettingError& error) { // with what the program or the settings say
        if (state.rank() == 0)
            support::log_line(fmt::format("LAPWING_ADVICE, line {}: not followed for window \"{}\"{}", advice->line,
                                          name, error.what()));
        return options;
    }
    if (advised.mode != options.mode) state.part<AdvisedWindows>().note_chosen_mode(number);
    return advised;
}

} // namespace lapwing::detail::window
