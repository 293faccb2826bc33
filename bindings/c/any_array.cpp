#include "bindings/c/any_array.hpp"

#include "bindings/c/call.hpp"
#include "bindings/c/layout.hpp"

#include <lapwing/aligned.hpp>
#include <lapwing/detail/array_maps.hpp>
#include <lapwing/detail/index_list.hpp>
#include <lapwing/detail/numbering.hpp>
#include <lapwing/domain.hpp>
#include <lapwing/error.hpp>
#include <lapwing/on_ranks.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace lapwing::detail::bindings {
namespace {

/// The functions of a program as a map, with dimensions of extent 1 in front.
class OwnMap {
public:
    OwnMap(const KeptDistribution& distribution, std::span<const std::int64_t> extents, int ranks)
        : functions_{distribution.functions},
          context_{distribution.context},
          extents_{extents.begin(), extents.end()},
          ranks_{ranks} {}

    [[nodiscard]] Location locate(const PaddedIndex& index) const {
        const lapwing_shape asked = shape();
        lapwing_place place{-1, 0, 1};
        functions_.locate(context_, &asked, index.data() + front(), &place);
        return {Rank{place.owner}, place.offset, place.contiguous};
    }
    [[nodiscard]] std::uint64_t local_capacity() const {
        const lapwing_shape asked = shape();
        return functions_.capacity(context_, &asked);
    }
    [[nodiscard]] std::uint64_t domain_count(Rank rank) const {
        const lapwing_shape asked = shape();
        return functions_.domain_count(context_, &asked, rank.value);
    }
    [[nodiscard]] PaddedDomain domain(Rank rank, std::uint64_t k) const {
        const lapwing_shape asked = shape();
        std::array<lapwing_range, max_dimensions> given{};
        functions_.domain(context_, &asked, rank.value, k, given.data());
        std::array<Range, padded> ranges;
        ranges.fill(Range::strided(0, 1, 1));
        for (std::size_t d = 0; d < extents_.size(); ++d)
            ranges[front() + d] = Range::strided(given[d].first, given[d].size, given[d].stride);
        return PaddedDomain{ranges};
    }

private:
    [[nodiscard]] std::size_t front() const noexcept { return padded - extents_.size(); }
    [[nodiscard]] lapwing_shape shape() const noexcept {
        return {static_cast<int>(extents_.size()), ranks_, extents_.data()};
    }

    lapwing_distribution_functions functions_;
    void* context_;
    std::vector<std::int64_t> extents_;
    int ranks_;
};

using PaddedMap = distribution::UserMap<padded>;
template <class Map>
std::shared_ptr<const PaddedMap> kept(Map map) {
    return std::make_shared<distribution::UserMapOf<padded, Map>>(std::move(map));
}

/// A map of any kind as a part of another one.
class SharedMap {
public:
    explicit SharedMap(std::shared_ptr<const PaddedMap> map) : map_{std::move(map)} {}

    [[nodiscard]] Location locate(const PaddedIndex& index) const { return map_->locate(index); }
    [[nodiscard]] std::uint64_t local_capacity() const { return map_->local_capacity(); }
    [[nodiscard]] std::uint64_t domain_count(Rank rank) const { return map_->domain_count(rank); }
    [[nodiscard]] PaddedDomain domain(Rank rank, std::uint64_t k) const { return map_->domain(rank, k); }
    [[nodiscard]] bool is_programs() const { return map_->is_programs(); }

private:
    std::shared_ptr<const PaddedMap> map_;
};

/// A map as slices see it, without the dimensions in front.
class ShownPlaces final : public distribution::UserPlaces {
public:
    ShownPlaces(std::shared_ptr<const PaddedMap> map, std::size_t dimensions)
        : map_{std::move(map)}, front_{padded - dimensions} {}

    Location locate_at(const std::int64_t* index) const override {
        PaddedIndex position{};
        std::copy_n(index, padded - front_, position.begin() + static_cast<std::ptrdiff_t>(front_));
        return map_->locate(position);
    }
    std::uint64_t local_capacity() const override { return map_->local_capacity(); }
    std::uint64_t domains_of(Rank rank) const override { return map_->domain_count(rank); }
    void copy_domain(Rank rank, std::uint64_t k, Range* ranges) const override {
        const PaddedDomain domain = map_->domain(rank, k);
        for (std::size_t d = front_; d < padded; ++d) ranges[d - front_] = domain.range(d);
    }
    std::uint64_t identity() const override { return map_->identity(); }
    bool is_programs() const override { return map_->is_programs(); }
    bool copy_local_extents(Rank rank, std::int64_t* extents) const override {
        PaddedIndex all{};
        if (!map_->copy_local_extents(rank, all.data())) return false;
        std::copy(all.begin() + static_cast<std::ptrdiff_t>(front_), all.end(), extents);
        return true;
    }

private:
    std::shared_ptr<const PaddedMap> map_;
    std::size_t front_;
};

std::shared_ptr<const distribution::UserPlaces> shown_places(const std::shared_ptr<const PaddedMap>& map,
                                                             std::size_t dimensions) {
    return map == nullptr ? nullptr : std::make_shared<ShownPlaces>(map, dimensions);
}

PaddedIndex padded_extents(std::span<const std::int64_t> extents) {
    PaddedIndex all;
    all.fill(1);
    std::ranges::copy(extents, all.end() - static_cast<std::ptrdiff_t>(extents.size()));
    return all;
}

struct Dealt {
    const char* name;
    distribution::Dealing dealing;
};

Dealt dealt_by(int kind) {
    switch (kind) {
    case LAPWING_CYCLIC: return {"Cyclic", distribution::Dealing::single_indices};
    case LAPWING_BLOCK_CYCLIC: return {"BlockCyclic", distribution::Dealing::blocks};
    case LAPWING_REPLICATED: return {"Replicated", distribution::Dealing::one_block};
    default: return {"Block", distribution::Dealing::one_block};
    }
}

/// The map of a distribution of the library's, with dimensions of extent 1 in front. Throws RangeError in the terms of
/// the array.
BlockCyclicMap<padded> padded_map(std::span<const std::int64_t> extents, const KeptDistribution& distribution,
                                  int ranks) {
    const auto [name, dealing] = dealt_by(distribution.kind);
    const bool replicated = distribution.kind == LAPWING_REPLICATED;
    std::array<distribution::DimensionMap, max_dimensions> dimensions{};
    (void)distribution::make_dimensions(std::span{dimensions.data(), extents.size()}, name, extents,
                                        replicated ? 1 : ranks, replicated ? std::vector<int>{} : distribution.grid,
                                        distribution.block, dealing);
    const std::size_t front = padded - extents.size();
    std::array<int, padded> grid;
    std::array<std::int64_t, padded> block;
    grid.fill(1);
    block.fill(1);
    for (std::size_t d = 0; d < extents.size(); ++d) {
        grid[front + d] = dimensions[d].processes();
        if (dealing == distribution::Dealing::blocks) block[front + d] = distribution.block[d];
    }
    return {name, Extents<padded>{padded_extents(extents)}, replicated ? 1 : ranks, grid, block, dealing};
}

using PaddedMaps = arrays::ArrayMaps<padded>;
// The errors of these do not name the array.
PaddedMaps on_ranks(std::span<const std::int64_t> extents, const KeptDistribution& distribution, int ranks);

PaddedMaps plain(std::span<const std::int64_t> extents, const KeptDistribution& distribution, int ranks) {
    PaddedMaps maps;
    switch (distribution.kind) {
    case LAPWING_ON_RANKS: return on_ranks(extents, distribution, ranks);
    case LAPWING_BLOCKS:
        maps.user_map = kept(distribution::BlocksMap<padded>{
            distribution.blocks, Extents<padded>{padded_extents(extents)}, ranks, padded - extents.size()});
        break;
    case LAPWING_OWN_DISTRIBUTION:
        maps.user_map = kept(OwnMap{distribution, extents, ranks});
        maps.replicated = distribution.functions.replicated != 0;
        break;
    default:
        maps.block_cyclic = padded_map(extents, distribution, ranks);
        maps.replicated = distribution.kind == LAPWING_REPLICATED;
    }
    return maps;
}

PaddedMaps on_ranks(std::span<const std::int64_t> extents, const KeptDistribution& distribution, int ranks) {
    auto chosen = std::make_shared<const distribution::ChosenRanks>(distribution.ranks, ranks);
    PaddedMaps maps = plain(extents, *distribution.whole, chosen->count());
    if (maps.user_map != nullptr)
        maps.user_map = kept(distribution::MapOnRanks<padded, SharedMap>{SharedMap{maps.user_map}, std::move(chosen)});
    else
        maps.user_map = kept(distribution::MapOnRanks<padded, BlockCyclicMap<padded>>{
            std::exchange(maps.block_cyclic, {}), std::move(chosen)});
    return maps;
}

PaddedMaps aligned(std::span<const std::int64_t> extents, const KeptDistribution& distribution, int ranks) {
    const std::size_t front = padded - extents.size();
    bool is_whole = true;
    std::array<Range, padded> positions;
    positions.fill(Range::strided(0, 1, 1));
    for (std::size_t d = 0; d < extents.size(); ++d) {
        distribution::require_extent(extents[d], distribution.positions[d].size(), d);
        positions[front + d] = distribution.positions[d];
        is_whole = is_whole && extents[d] == distribution.space[d];
    }
    PaddedMaps maps = plain(distribution.space, *distribution.whole, ranks);
    if (is_whole) return maps;
    if (maps.user_map != nullptr) {
        maps.user_map =
            kept(distribution::PartOfMap<padded, SharedMap>{SharedMap{maps.user_map}, PaddedDomain{positions}});
        return maps;
    }
    std::array<distribution::AlignedDimension, padded> along;
    for (std::size_t d = 0; d < padded; ++d)
        along[d] = {.map = maps.block_cyclic.dimensions()[d],
                    .first = positions[d].empty() ? 0 : static_cast<std::uint64_t>(positions[d].first()),
                    .stride = static_cast<std::uint64_t>(positions[d].stride()),
                    .extent = positions[d].size()};
    maps.user_map = kept(distribution::AlignedMap<padded>{along});
    maps.block_cyclic = {};
    return maps;
}

} // namespace

KeptDistribution KeptDistribution::of(const lapwing_distribution* distribution, std::span<const Range> indices) {
    const std::size_t dimensions = indices.size();
    KeptDistribution kept;
    if (distribution == nullptr) return kept;
    require_constant(distribution->kind, 8, "distribution.kind", "LAPWING_BLOCK to LAPWING_BLOCKS");
    kept.kind = distribution->kind;
    if (distribution->grid != nullptr) kept.grid.assign(distribution->grid, distribution->grid + dimensions);
    if (kept.kind == LAPWING_BLOCKS) kept.keep_blocks(*distribution);
    if (kept.kind == LAPWING_BLOCK_CYCLIC) {
        require_pointer(distribution->block, "distribution.block");
        kept.block.assign(distribution->block, distribution->block + dimensions);
    }
    if (kept.kind == LAPWING_OWN_DISTRIBUTION) {
        require_pointer(distribution->functions, "distribution.functions");
        kept.functions = *distribution->functions;
        if (kept.functions.locate == nullptr || kept.functions.capacity == nullptr ||
            kept.functions.domain_count == nullptr || kept.functions.domain == nullptr)
            throw UsageError{"a function of 'distribution.functions' is null; a distribution of the program's own "
                             "needs locate, capacity, domain_count "
                             "and domain"};
        kept.context = distribution->context;
    }
    if (kept.kind == LAPWING_ALIGNED) kept.keep_space(*distribution, indices);
    if (kept.kind == LAPWING_ON_RANKS) kept.keep_ranks(*distribution, indices);
    return kept;
}

void KeptDistribution::keep_blocks(const lapwing_distribution& distribution) {
    if (distribution.block_count < 0)
        throw RangeError{fmt::format("'distribution.block_count' is {}; pass how many lengths 'block' has",
                                     distribution.block_count)};
    const std::span given{distribution.block, static_cast<std::size_t>(distribution.block_count)};
    require_pointer(given.data(), "distribution.block");
    (void)checked_bytes(given.size(), sizeof(std::int64_t), "distribution.block");
    std::vector<std::vector<std::int64_t>> lengths;
    if (grid.empty()) lengths.emplace_back(given.begin(), given.end());
    std::size_t used = 0;
    for (const int count : grid) {
        if (count < 0 || static_cast<std::size_t>(count) > given.size() - used)
            throw RangeError{fmt::format("'distribution.grid' is {{{}}}, and 'block' has {} lengths: pass for each "
                                         "dimension how many of them are its, 0 where it is not divided",
                                         fmt::join(grid, ", "), given.size())};
        const auto own = given.subspan(used, static_cast<std::size_t>(count));
        lengths.emplace_back(own.begin(), own.end());
        used += own.size();
    }
    if (!grid.empty() && used != given.size())
        throw RangeError{fmt::format("'distribution.grid' is {{{}}}, which are {} blocks, and 'block' has {} lengths; "
                                     "pass one for each",
                                     fmt::join(grid, ", "), used, given.size())};
    blocks = std::make_shared<const distribution::BlockTable>(lengths);
}

void KeptDistribution::keep_ranks(const lapwing_distribution& distribution, std::span<const Range> indices) {
    if (distribution.whole != nullptr &&
        (distribution.whole->kind == LAPWING_ALIGNED || distribution.whole->kind == LAPWING_ON_RANKS))
        throw UsageError{
            fmt::format("'distribution.whole' is {}; over some of the ranks there is LAPWING_BLOCK, _BLOCKS, _CYCLIC, "
                        "_BLOCK_CYCLIC or "
                        "_OWN_DISTRIBUTION",
                        distribution.whole->kind == LAPWING_ALIGNED ? "LAPWING_ALIGNED" : "LAPWING_ON_RANKS itself")};
    if (distribution.grid != nullptr || distribution.block != nullptr)
        throw UsageError{"'distribution.grid' and 'distribution.block' are not for LAPWING_ON_RANKS; set them in "
                         "'distribution.whole'"};
    if (distribution.rank_count < 0)
        throw RangeError{fmt::format("'distribution.rank_count' is {}; pass how many ranks have elements, at least 1",
                                     distribution.rank_count)};
    require_memory(distribution.ranks, static_cast<std::size_t>(distribution.rank_count), "distribution.ranks");
    for (int k = 0; k < distribution.rank_count; ++k) ranks.emplace_back(distribution.ranks[k]);
    whole = std::make_shared<const KeptDistribution>(of(distribution.whole, indices));
    if (whole->kind == LAPWING_REPLICATED || whole->functions.replicated != 0)
        throw UsageError{"'distribution.whole' is replicated, which stores everything on every rank; over some of the "
                         "ranks there is LAPWING_BLOCK, _BLOCKS, _CYCLIC, _BLOCK_CYCLIC or _OWN_DISTRIBUTION"};
}

void KeptDistribution::keep_space(const lapwing_distribution& distribution, std::span<const Range> indices) {
    require_pointer(distribution.space, "distribution.space");
    if (distribution.whole != nullptr && distribution.whole->kind == LAPWING_ALIGNED)
        throw UsageError{"'distribution.whole' is LAPWING_ALIGNED itself; pass how the space is distributed, "
                         "LAPWING_BLOCK for example"};
    std::vector<Range> ranges;
    for (std::size_t d = 0; d < indices.size(); ++d) {
        const Range of_space = range_of(distribution.space[d], static_cast<int>(d));
        distribution::require_in_space(indices[d], of_space, d);
        space.push_back(static_cast<std::int64_t>(of_space.size()));
        positions.push_back(arrays::Numbering{of_space}.positions(indices[d]));
        ranges.push_back(of_space);
    }
    whole = std::make_shared<const KeptDistribution>(of(distribution.whole, ranges));
}

arrays::ArrayMaps<padded> maps_of(Team& team, std::string_view name, std::span<const std::int64_t> extents,
                                  const KeptDistribution& distribution, std::int64_t halo) {
    arrays::check_extents(team, name, extents);
    try {
        PaddedMaps maps = distribution.kind == LAPWING_ALIGNED ? aligned(extents, distribution, team.size())
                                                               : plain(extents, distribution, team.size());
        if (maps.user_map != nullptr)
            maps.identity = arrays::identity_of(*shown_places(maps.user_map, extents.size()), extents, team.size());
        return arrays::with_halo(std::move(maps), team, {.name = std::string{name}, .halo = halo});
    } catch (const RangeError& error) {
        const std::string text = arrays::constructor_text(team, name);
        const std::string_view reason = error.what();
        throw RangeError{reason.starts_with(text) ? std::string{reason} : text + ": " + error.what()};
    }
}

AnyArray::AnyArray(Team& team, lapwing_type type, std::span<const std::int64_t> extents,
                   const KeptDistribution& distribution, const GlobalArrayOptions& options)
    : AnyArray{team,
               type,
               extents,
               arrays::before_collective(
                   team, [&] { return maps_of(team, options.name, extents, distribution, options.halo); }),
               distribution,
               options} {}

AnyArray::AnyArray(Team& team, lapwing_type type, std::span<const std::int64_t> extents, PaddedMaps maps,
                   const KeptDistribution& distribution, const GlobalArrayOptions& options)
    : ArrayCore{team,
                Extents<padded>{padded_extents(extents)},
                std::move(maps),
                {.name = name_of(type), .bytes = size_of(type), .alignment = alignment_of(type)},
                options,
                padded - extents.size()},
      type_{type},
      distribution_{distribution} {
    make_geometry(extents, dimension_maps(), core_.map.origin(), shown_places(core_.user_map, extents.size()),
                  core_.replicated, element_bytes());
    if (core_.user_map == nullptr && !core_.replicated) node_ = {core_.map, window_.map(), element_bytes()};
}

void AnyArray::rebuild(const char* call, std::span<const std::int64_t> extents, const KeptDistribution& distribution,
                       Relabelling* order) {
    require_open(call);
    if (order != nullptr) require_same_ranks(call, order->team());
    begin_collective(call + 1);
    const std::shared_ptr<Team> own_team = order != nullptr ? order->shared_team() : own_team_.get();
    Team& team = own_team == nullptr ? *team_ : *own_team;
    const GlobalArrayOptions options{.name = title_.name, .cache = cache_, .halo = halo_};
    // Failures on one rank are agreed on, so that every rank leaves the array unchanged.
    std::exception_ptr failure;
    PaddedMaps maps;
    try {
        maps = maps_of(team, title_.name, extents, distribution, halo_);
        if (!std::ranges::equal(extents, this->extents())) copies_.require_free_extents(title_);
    } catch (...) {
        failure = std::current_exception();
    }
    agree_to_rebuild(call, failure);
    AnyArray fresh;
    try {
        fresh = AnyArray{team, type_, extents, std::move(maps), distribution, options};
        fresh.own_team_.keep(own_team);
    } catch (...) { // on every rank
        arrays::throw_from_rebuild(title_, *team_, call, std::current_exception());
    }
    try {
        fresh.take_elements(*this);
    } catch (...) {
        failure = std::current_exception();
    }
    fresh.barrier(); // copies are filled with what has been taken
    try {
        if (failure == nullptr) fresh.take_patterns(*this);
    } catch (...) {
        failure = std::current_exception();
    }
    try {
        agree_to_rebuild(call, failure);
    } catch (...) {
        fresh.close();
        throw;
    }
    std::swap(*this, fresh);
    fresh.close(); // which has a barrier
}

void AnyArray::take_elements(const AnyArray& other) {
    std::array<slices::SlicePart, max_dimensions> common;
    for (std::size_t d = 0; d < dimensions(); ++d)
        common[d].indices = Triplet{Range{std::int64_t{0}, std::min(extents()[d], other.extents()[d])}};
    AnySlice target = slice();
    AnySlice source = other.slice();
    target.cut({common.data(), dimensions()});
    source.cut({common.data(), dimensions()});
    take(target, source);
}

Relabelling AnyArray::relabelling(const KeptDistribution& distribution) const {
    require_open(".relabelling");
    begin_collective("relabelling");
    PaddedMaps maps;
    const auto find_maps = [&] { maps = maps_of(*team_, title_.name, extents(), distribution, 0); };
    end_collective(".relabelling", find_maps, "no order of the ranks was found");
    std::span<const distribution::DimensionMap> dimensions;
    if (maps.user_map == nullptr) dimensions = std::span{maps.block_cyclic.dimensions()}.subspan(core_.front);
    const std::array<std::int64_t, 1> identity{
        static_cast<std::int64_t>(arrays::identity_of(extents(), dimensions, maps.replicated, maps.identity))};
    begin_collective("relabelling", "a distribution with the identity", identity);
    return relabelling_to(slice(), dimensions, shown_places(maps.user_map, this->dimensions()), maps.replicated);
}

PaddedIndex AnyArray::padded_index(const std::int64_t* index) const noexcept {
    PaddedIndex result{};
    std::copy_n(index, dimensions(), result.begin() + static_cast<std::ptrdiff_t>(core_.front));
    return result;
}

bool AnyArray::read_copy(const PaddedIndex& index, std::span<std::byte> value) const {
    const std::byte* const copy = copy_of(index);
    if (copy == nullptr) return false;
    while (!core_.prefetched->state.read_bytes(copy, value)) copies_.refresh();
    core_.prefetched->state.count_hit();
    return true;
}

Completion AnyArray::start_patch(const char* call, arrays::Direction direction, const PaddedDomain& domain,
                                 const distribution::BufferShape<padded>& shape, std::byte* buffer) const {
    std::array<std::int64_t, padded> strides;
    std::ranges::transform(shape.strides, strides.begin(),
                           [](std::uint64_t stride) { return static_cast<std::int64_t>(stride); });
    const AnySlice patch{geometry(call), std::span{domain.ranges()}.subspan(core_.front)};
    return patch.start(call, direction, buffer + shape.offset * element_bytes(),
                       std::span{strides}.subspan(core_.front));
}

Completion AnyArray::start_list(arrays::Direction direction, std::vector<arrays::ListedPlace>& places,
                                std::byte* values) const {
    if (core_.replicated && direction == arrays::Direction::put)
        return start_list_to_all(places, element_bytes(), values);
    return arrays::start_list(window_, direction, places, element_bytes(), values);
}

void AnyArray::broadcast_copies(Rank root) {
    if (!core_.replicated) arrays::throw_not_replicated(title_);
    const std::array<std::int64_t, 1> from{root.value};
    begin_collective("broadcast", "the root", from);
    check_rank(".broadcast", root); // after the comparison, so that it is wrong on all ranks
    team_->broadcast(own_bytes(), root);
    barrier();
}

} // namespace lapwing::detail::bindings
