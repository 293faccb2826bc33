// Room: arrays
#pragma once

/// How a GlobalArray gets other extents, or another distribution. Included by global_array.hpp.
#include <lapwing/global_array.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>

namespace lapwing {

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::resize(const Extents<N>& extents) {
    this->require_open(".resize");
    this->begin_collective("resize", "the extents", extents.values());
    rebuild(".resize", this->own_team_.get(), extents, state_.distribution);
}

template <TriviallyCopyable T, std::size_t N>
template <Distribution<N> D>
void GlobalArray<T, N>::redistribute(const D& distribution) {
    this->require_open(".redistribute");
    this->begin_collective("redistribute");
    rebuild(".redistribute", this->own_team_.get(), core_.extents,
            std::make_shared<const detail::arrays::KeptDistributionOf<N, D>>(distribution));
}

template <TriviallyCopyable T, std::size_t N>
template <Distribution<N> D>
void GlobalArray<T, N>::redistribute(const D& distribution, Relabelling& order) {
    this->require_open(".redistribute");
    this->require_same_ranks(".redistribute", order.team());
    this->begin_collective("redistribute");
    rebuild(".redistribute", order.shared_team(), core_.extents,
            std::make_shared<const detail::arrays::KeptDistributionOf<N, D>>(distribution));
}

template <TriviallyCopyable T, std::size_t N>
template <Distribution<N> D>
Relabelling GlobalArray<T, N>::relabelling(const D& distribution) const {
    this->require_open(".relabelling");
    this->begin_collective("relabelling");
    detail::arrays::ArrayMaps<N> maps;
    const auto find_maps = [&] {
        maps = std::make_shared<const detail::arrays::KeptDistributionOf<N, D>>(distribution)
                   ->maps(*team_, core_.extents, title_.name);
    };
    this->end_collective(".relabelling", find_maps, "no order of the ranks was found");
    std::span<const detail::distribution::DimensionMap> dimensions;
    if (maps.user_map == nullptr) dimensions = maps.block_cyclic.dimensions();
    const std::array<std::int64_t, 1> identity{static_cast<std::int64_t>(
        detail::arrays::identity_of(core_.extents.values(), dimensions, maps.replicated, maps.identity))};
    this->begin_collective("relabelling", "a distribution with the identity", identity);
    return this->relabelling_to(slice(), dimensions, maps.user_map, maps.replicated);
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::rebuild(const char* call, const std::shared_ptr<Team>& own_team, const Extents<N>& extents,
                                const std::shared_ptr<const detail::arrays::KeptDistribution<N>>& distribution) {
    Team& team = own_team == nullptr ? *team_ : *own_team;
    // What fails on one rank is agreed on, so that every rank leaves the array as it was.
    std::exception_ptr failure;
    detail::arrays::ArrayMaps<N> maps;
    try {
        // First, since at assertion level 3 all ranks take part.
        maps = distribution->maps(team, extents, title_.name);
        if (extents != core_.extents) copies_.require_free_extents(title_);
    } catch (...) {
        failure = std::current_exception();
    }
    this->agree_to_rebuild(call, failure);

    GlobalArray fresh;
    try {
        const GlobalArrayOptions options{.name = title_.name, .cache = this->cache_, .halo = halo_};
        fresh = GlobalArray{team, extents,
                            detail::arrays::before_collective(
                                team, [&] { return detail::arrays::with_halo(std::move(maps), team, options); }),
                            options};
        fresh.own_team_.keep(own_team);
    } catch (...) { // on every rank
        detail::arrays::throw_from_rebuild(title_, *team_, call, std::current_exception());
    }
    try {
        fresh.take_elements(*this);
    } catch (...) {
        failure = std::current_exception();
    }
    fresh.barrier(); // copies are filled with what has been taken
    try {
        if (failure == nullptr) fresh.take_patterns(*this);
        fresh.choose_ways();
    } catch (...) {
        failure = std::current_exception();
    }
    try {
        this->agree_to_rebuild(call, failure);
    } catch (...) {
        fresh.close();
        throw;
    }
    std::swap(*this, fresh);
    fresh.close(); // which has a barrier
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::take_elements(const GlobalArray& other) {
    const Domain<N> common = domain().intersect(other.domain());
    this->take((*this)(common), other(common));
}

} // namespace lapwing
