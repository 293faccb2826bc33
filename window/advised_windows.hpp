#pragma once

#include "src/support/mutex.hpp"
#include "src/team/team_state.hpp"

#include <lapwing/cache_options.hpp>
#include <lapwing/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lapwing::detail::window {

/// What an earlier run says of a window (LAPWING_ADVICE). What the program or a setting says itself counts for more.
struct AdvisedWindow {
    /// Bytes of another rank's part.
    struct Part {
        Rank owner = 0;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
    };
    std::string name = {};    ///< empty: a window without a name, known by its number
    std::uint64_t number = 0; ///< in the order of creation
    std::size_t line = 0;     ///< of the file, for messages
    std::optional<CacheMode> mode = {};
    std::optional<std::uint64_t> cache_bytes = {};
    std::optional<std::uint64_t> page_bytes = {};
    std::string strategy = {};       ///< a word of LAPWING_STRATEGY; empty: none
    std::vector<Part> prefetch = {}; ///< what this rank reads: a cache asks for it at once after an acquire
    bool used = false;               ///< there has been such a window
};

/// A team's advice: filled before the team has any window, and constant from then on except for `used`.
class AdvisedWindows final : public team::TeamPart {
public:
    void set(std::vector<AdvisedWindow> windows);
    /// Null: nothing is said of it.
    [[nodiscard]] const AdvisedWindow* find(std::string_view name, std::uint64_t number);
    /// Those that no window has been found for.
    [[nodiscard]] std::vector<AdvisedWindow> unused() const;
    /// The window of that number, which is being made, has its cache by advice alone.
    void note_chosen_mode(std::uint64_t number);
    /// Whether note_chosen_mode() was called for it; forgets it.
    [[nodiscard]] bool take_chosen_mode(std::uint64_t number);

    /// Whether any team of the process has advice; if not, there is nothing to look up.
    [[nodiscard]] static bool any() noexcept { return any_.load(std::memory_order_relaxed); }

private:
    static inline constinit std::atomic<bool> any_{false};
    mutable support::Mutex mutex_{support::LockRank::leaf};
    std::vector<AdvisedWindow> windows_;
    std::set<std::uint64_t> chosen_modes_;
};

/// Null: nothing is said of it. Without advice a load and a comparison.
[[nodiscard]] inline const AdvisedWindow* advice_for(team::TeamState& state, std::string_view name,
                                                     std::uint64_t number) {
    return AdvisedWindows::any() ? state.part<AdvisedWindows>().find(name, number) : nullptr;
}

/// The options of a window that is being made, with what is advised where neither they nor a setting decide.
[[nodiscard]] CacheOptions advised_cache(team::TeamState& state, std::string_view name, std::uint64_t number,
                                         const CacheOptions& options);

} // namespace lapwing::detail::window
