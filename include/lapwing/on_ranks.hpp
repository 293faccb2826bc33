// Room: distribution
#pragma once

#include <lapwing/distribution.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/location.hpp>
#include <lapwing/rank.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace lapwing {

namespace detail::distribution {

/// Some ranks of a team, each with its process number in a distribution over them.
class ChosenRanks {
public:
    /// Throws RangeError if there are none, if one is outside of the team, or if one occurs twice.
    ChosenRanks(std::span<const Rank> ranks, int team_ranks);

    [[nodiscard]] int count() const noexcept { return static_cast<int>(ranks_.size()); }
    [[nodiscard]] Rank rank(Rank process) const noexcept { return ranks_[static_cast<std::size_t>(process.value)]; }
    /// Rank{-1} if the rank is not among them.
    [[nodiscard]] Rank process(Rank rank) const noexcept;
    /// A hash of the ranks, in their order.
    [[nodiscard]] std::uint64_t identity() const noexcept;

private:
    std::vector<Rank> ranks_;
    std::vector<std::pair<int, int>> processes_; ///< rank and process, in the order of the ranks
};

template <std::size_t N, DistributionMap<N> Map>
class MapOnRanks {
public:
    MapOnRanks(Map map, std::shared_ptr<const ChosenRanks> chosen) : map_{std::move(map)}, chosen_{std::move(chosen)} {}

    [[nodiscard]] Location locate(const Index<N>& index) const {
        Location location = map_.locate(index);
        if (location.owner.value >= 0) location.owner = chosen_->rank(location.owner);
        return location;
    }
    [[nodiscard]] std::uint64_t local_capacity() const { return map_.local_capacity(); }
    [[nodiscard]] std::uint64_t domain_count(Rank rank) const {
        const Rank process = chosen_->process(rank);
        return process.value < 0 ? 0 : map_.domain_count(process);
    }
    [[nodiscard]] Domain<N> domain(Rank rank, std::uint64_t k) const { return map_.domain(chosen_->process(rank), k); }
    [[nodiscard]] std::uint64_t identity() const noexcept { return chosen_->identity(); }
    [[nodiscard]] bool is_programs() const { return !std::same_as<Map, BlockCyclicMap<N>> && calls_program(map_); }

private:
    Map map_;
    std::shared_ptr<const ChosenRanks> chosen_;
};

} // namespace detail::distribution

/// Another distribution, applied to some ranks of the team: the others have no elements of the array, and take part in
/// its collective calls.
///
/// ```cpp
/// const std::vector ranks{lapwing::Rank{0}, lapwing::Rank{4}};
/// lapwing::GlobalArray<double, 2> few{runtime, {n, n}, lapwing::OnRanks{lapwing::Block{}, ranks}};
/// few.slice() = all.slice(); // from all ranks to two
/// all.slice() = few.slice(); // and back
/// ```
///
/// Process p of the distribution is rank ranks[p]. Every rank allocates memory for the largest part. Such arrays are
/// treated like those with user-defined distributions: a call finds another rank's element, assignments are planned run
/// by run, and local_view() throws.
template <class D>
struct OnRanks {
    static_assert(!ReplicatedDistribution<D>,
                  "lapwing: Replicated stores everything on every rank; OnRanks takes other distributions");

    D distribution{};          ///< over as many processes as the list has ranks
    std::vector<Rank> ranks{}; ///< of the team, in any order; each once

    /// Throws RangeError for ranks outside of the team, and what the distribution throws for that many ranks.
    template <std::size_t N>
        requires Distribution<D, N>
    [[nodiscard]] auto map(const Extents<N>& extents, int team_ranks) const {
        auto chosen = std::make_shared<const lapwing::detail::distribution::ChosenRanks>(ranks, team_ranks);
        const int count = chosen->count();
        using Map = decltype(distribution.map(extents, count));
        return lapwing::detail::distribution::MapOnRanks<N, Map>{distribution.map(extents, count), std::move(chosen)};
    }
};
/// The distribution's type follows from the argument.
template <class D>
OnRanks(D, std::vector<Rank>) -> OnRanks<D>;

} // namespace lapwing
