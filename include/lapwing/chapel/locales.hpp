// Room: arrays
#pragma once

#include <lapwing/error.hpp>
#include <lapwing/rank.hpp>
#include <lapwing/team.hpp>

#include <sched.h>

#include <algorithm>
#include <string>
#include <thread>

namespace lapwing::chapel {

/// A locale of Chapel's is a rank, with all of its threads.
struct Locale {
    Team* team;
    Rank id;
};

/// The ranks of a team as locales: `const auto all = chapel::locales(runtime);`. It refers to the team.
class Locales {
public:
    explicit Locales(Team& team) noexcept : team_{&team} {}

    [[nodiscard]] Team& team() const noexcept { return *team_; }
    /// The calling rank.
    [[nodiscard]] Locale here() const noexcept { return {team_, team_->rank()}; }
    [[nodiscard]] int num_locales() const noexcept { return team_->size(); }
    /// Throws RangeError.
    [[nodiscard]] Locale operator[](Rank id) const {
        if (id.value < 0 || id.value >= num_locales())
            throw RangeError{team_->who() + ": there is no locale " + std::to_string(id.value) +
                             "; they are numbered from 0 to " + std::to_string(num_locales() - 1)};
        return {team_, id};
    }
    /// Local call. Hardware threads that this rank may use: those that it is bound to, or, if it is bound to none in
    /// particular, its share of the node's. At least 1.
    [[nodiscard]] unsigned max_task_par() const noexcept {
        const auto all = static_cast<unsigned>(std::max(CPU_SETSIZE, 1));
        const unsigned online = std::clamp(std::thread::hardware_concurrency(), 1U, all);
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        unsigned bound = online;
        if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) bound = static_cast<unsigned>(CPU_COUNT(&allowed));
        if (bound < online) return std::max(bound, 1U);
        return std::max(bound / static_cast<unsigned>(team_->node_size()), 1U);
    }

private:
    Team* team_;
};

[[nodiscard]] inline Locales locales(Team& team) noexcept { return Locales{team}; }

} // namespace lapwing::chapel
