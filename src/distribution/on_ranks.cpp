#include <lapwing/on_ranks.hpp>

#include "src/support/hash.hpp"
#include "src/support/rank_check.hpp"

#include <lapwing/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace lapwing::detail::distribution {

ChosenRanks::ChosenRanks(std::span<const Rank> ranks, int team_ranks) : ranks_(ranks.begin(), ranks.end()) {
    if (ranks.empty()) throw RangeError{"OnRanks: there are no ranks; name at least one that is to have elements"};
    processes_.reserve(ranks.size());
    for (const Rank rank : ranks) {
        support::require_rank(rank, team_ranks, [] { return "OnRanks"; });
        processes_.emplace_back(rank.value, static_cast<int>(processes_.size()));
    }
    std::ranges::sort(processes_);
    const auto twice = std::ranges::adjacent_find(processes_, {}, &std::pair<int, int>::first);
    if (twice != processes_.end())
        throw RangeError{fmt::format("OnRanks: rank {} is named twice; name each rank once", twice->first)};
}

Rank ChosenRanks::process(Rank rank) const noexcept {
    const auto found = std::ranges::lower_bound(processes_, rank.value, {}, &std::pair<int, int>::first);
    return found != processes_.end() && found->first == rank.value ? Rank{found->second} : Rank{-1};
}

std::uint64_t ChosenRanks::identity() const noexcept { return support::hash_of(std::as_bytes(std::span{ranks_})); }

} // namespace lapwing::detail::distribution
