// Room: arrays
#pragma once

#include <lapwing/array_base.hpp>
#include <lapwing/detail/block_cyclic_map.hpp>
#include <lapwing/detail/config.hpp>
#include <lapwing/detail/user_map.hpp>
#include <lapwing/distribution.hpp>
#include <lapwing/error.hpp>
#include <lapwing/extents.hpp>
#include <lapwing/team.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

namespace lapwing::detail::arrays {

template <std::size_t N>
class KeptDistribution;

/// Where the elements of an array are, whatever its distribution.
template <std::size_t N>
struct ArrayMaps {
    BlockCyclicMap<N> block_cyclic;
    std::shared_ptr<const distribution::UserMap<N>>
        user_map; ///< in place of block_cyclic for a user-defined distribution
    bool replicated = false;
    std::uint64_t identity = 0;                              ///< of a user-defined distribution: see identity_of()
    std::shared_ptr<const KeptDistribution<N>> distribution; ///< which has made them
};

/// Throws UsageError for distributions that deal more than one block to a rank, RangeError for a negative halo.
void require_room_for_halo(Team& team, const GlobalArrayOptions& options, bool one_block);

/// With the room that the options ask for. Throws as above, and RangeError for parts that become too large.
template <std::size_t N>
[[nodiscard]] ArrayMaps<N> with_halo(ArrayMaps<N> maps, Team& team, const GlobalArrayOptions& options) {
    if (options.halo == 0) return maps;
    require_room_for_halo(team, options, maps.user_map == nullptr && !maps.replicated && maps.block_cyclic.one_round());
    try {
        maps.block_cyclic.add_margins(static_cast<std::uint64_t>(options.halo));
    } catch (const RangeError& error) {
        throw RangeError{constructor_text(team, options.name) + ": " + error.what()};
    }
    return maps;
}

/// The distribution that an array was made with, behind an interface: it is evaluated again when the extents change.
template <std::size_t N>
class KeptDistribution : public std::enable_shared_from_this<KeptDistribution<N>> {
public:
    virtual ~KeptDistribution() = default;

    /// `name` is the array's, for messages. Collective at assertion level 3 and with LAPWING_CHECKS=3, where it throws
    /// MismatchError on every rank unless all ranks get the same; at any level RangeError.
    [[nodiscard]] virtual ArrayMaps<N> maps(Team& team, const Extents<N>& extents, std::string_view name) const = 0;
};

template <std::size_t N, Distribution<N> D>
class KeptDistributionOf final : public KeptDistribution<N> {
public:
    explicit KeptDistributionOf(const D& distribution) : distribution_{distribution} {}

    ArrayMaps<N> maps(Team& team, const Extents<N>& extents, std::string_view name) const override {
        const bool compares = assertion_level >= 3 || checks(team) >= 3;
        if (compares) require_same_extents(team, name, extents.values());
        check_extents(team, name, extents.values());
        ArrayMaps<N> maps;
        maps.distribution = this->shared_from_this();
        maps.replicated = ReplicatedDistribution<D>;
        try {
            auto map = distribution_.map(extents, team.size());
            if constexpr (std::same_as<decltype(map), BlockCyclicMap<N>>) maps.block_cyclic = std::move(map);
            else {
                maps.user_map = std::make_shared<distribution::UserMapOf<N, decltype(map)>>(std::move(map));
                maps.identity = identity_of(*maps.user_map, extents.values(), team.size());
            }
        } catch (...) {
            const std::exception_ptr failure = std::current_exception();
            if (compares) {
                try {
                    require_same_map(team, name, {}, 0, maps.replicated);
                } catch (const MismatchError&) { // is said by the ranks that could make theirs
                }
            }
            throw_for_array(team, name, failure);
        }
        if (compares) {
            if (maps.user_map == nullptr)
                require_same_map(team, name, maps.block_cyclic.dimensions(), maps.block_cyclic.local_capacity(),
                                 maps.replicated);
            else require_same_map(team, name, {}, maps.user_map->local_capacity(), maps.replicated, maps.identity);
        }
        return maps;
    }

private:
    /// A distribution does not know the rank and the array that a message has to name.
    [[noreturn]] static void throw_for_array(const Team& team, std::string_view name,
                                             const std::exception_ptr& failure) {
        try {
            std::rethrow_exception(failure);
        } catch (const RangeError& error) {
            throw RangeError{constructor_text(team, name) + ": " + error.what()};
        }
    }

    D distribution_;
};

} // namespace lapwing::detail::arrays
