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
#include <lapwing/patch.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace lapwing::detail::bindings {
namespace {

/// The functions of a program as a map.
class OwnPlaces final : public distribution::UserPlaces {
public:
    OwnPlaces(const KeptDistribution& distribution, std::span<const std::int64_t> extents, int ranks)
        : functions_{distribution.functions},
          context_{distribution.context},
          extents_{extents.begin(), extents.end()},
          ranks_{ranks} {}

    Location locate_at(const std::int64_t* index) const override {
        const lapwing_shape asked = shape();
        lapwing_place place{-1, 0, 1};
        functions_.locate(context_, &asked, index, &place);
        return {Rank{place.owner}, place.offset, place.contiguous};
    }
    std::uint64_t local_capacity() const override {
        const lapwing_shape asked = shape();
        return functions_.capacity(context_, &asked);
    }
    std::uint64_t domains_of(Rank rank) const override {
        const lapwing_shape asked = shape();
        return functions_.domain_count(context_, &asked, rank.value);
    }
    void copy_domain(Rank rank, std::uint64_t k, Range* ranges) const override {
        const lapwing_shape asked = shape();
        std::array<lapwing_range, max_dimensions> given{};
        functions_.domain(context_, &asked, rank.value, k, given.data());
        for (std::size_t d = 0; d < extents_.size(); ++d)
            ranges[d] = Range::strided(given[d].first, given[d].size, given[d].stride);
    }

private:
    [[nodiscard]] lapwing_shape shape() const noexcept {
        return {static_cast<int>(extents_.size()), ranks_, extents_.data()};
    }

    lapwing_distribution_functions functions_;
    void* context_;
    std::vector<std::int64_t> extents_;
    int ranks_;
};

/// The elements of a map that has dimensions of extent 1 in front, as an aligned array's.
class PaddedPlaces final : public distribution::UserPlaces {
public:
    PaddedPlaces(std::unique_ptr<distribution::UserMap<padded>> map, std::size_t dimensions)
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
    bool copy_local_extents(Rank rank, std::int64_t* extents) const override {
        PaddedIndex all{};
        if (!map_->copy_local_extents(rank, all.data())) return false;
        std::copy(all.begin() + static_cast<std::ptrdiff_t>(front_), all.end(), extents);
        return true;
    }

private:
    std::unique_ptr<distribution::UserMap<padded>> map_;
    std::size_t front_;
};

/// A map of the program's own, with dimensions of extent 1 in front.
class PaddedOwnMap {
public:
    PaddedOwnMap(std::shared_ptr<const distribution::UserPlaces> places, std::size_t dimensions)
        : places_{std::move(places)}, front_{padded - dimensions} {}

    [[nodiscard]] Location locate(const PaddedIndex& index) const { return places_->locate_at(index.data() + front_); }
    [[nodiscard]] std::uint64_t local_capacity() const { return places_->local_capacity(); }
    [[nodiscard]] std::uint64_t domain_count(Rank rank) const { return places_->domains_of(rank); }
    [[nodiscard]] PaddedDomain domain(Rank rank, std::uint64_t k) const {
        std::array<Range, padded> ranges;
        ranges.fill(Range::strided(0, 1, 1));
        places_->copy_domain(rank, k, ranges.data() + front_);
        return PaddedDomain{ranges};
    }

private:
    std::shared_ptr<const distribution::UserPlaces> places_;
    std::size_t front_;
};

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
    PaddedIndex all;
    std::array<int, padded> grid;
    std::array<std::int64_t, padded> block;
    all.fill(1);
    grid.fill(1);
    block.fill(1);
    for (std::size_t d = 0; d < extents.size(); ++d) {
        all[front + d] = extents[d];
        grid[front + d] = dimensions[d].processes();
        if (dealing == distribution::Dealing::blocks) block[front + d] = distribution.block[d];
    }
    return {name, Extents<padded>{all}, replicated ? 1 : ranks, grid, block, dealing};
}

std::shared_ptr<const distribution::UserPlaces> padded_blocks(std::span<const std::int64_t> extents,
                                                              const KeptDistribution& distribution, int ranks) {
    const std::size_t front = padded - extents.size();
    PaddedIndex all;
    all.fill(1);
    std::ranges::copy(extents, all.begin() + static_cast<std::ptrdiff_t>(front));
    using Map = distribution::BlocksMap<padded>;
    return std::make_shared<PaddedPlaces>(std::make_unique<distribution::UserMapOf<padded, Map>>(
                                              Map{distribution.blocks, Extents<padded>{all}, ranks, front}),
                                          extents.size());
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

AnyMap AnyMap::make(Team& team, std::string_view name, std::span<const std::int64_t> extents,
                    const KeptDistribution& distribution, std::int64_t halo) {
    arrays::check_extents(team, name, extents);
    AnyMap map;
    try {
        map = distribution.kind == LAPWING_ALIGNED ? aligned(extents, distribution, team.size())
                                                   : plain(extents, distribution, team.size());
        if (map.user_map != nullptr) map.identity = arrays::identity_of(*map.user_map, extents, team.size());
        if (halo != 0) {
            arrays::require_room_for_halo(team, {.name = std::string{name}, .halo = halo},
                                          map.user_map == nullptr && !map.replicated && map.block_cyclic.one_round());
            map.block_cyclic.add_margins(static_cast<std::uint64_t>(halo));
        }
    } catch (const RangeError& error) {
        const std::string text = arrays::constructor_text(team, name);
        const std::string_view reason = error.what();
        throw RangeError{reason.starts_with(text) ? std::string{reason} : text + ": " + error.what()};
    }
    return map;
}

AnyMap AnyMap::plain(std::span<const std::int64_t> extents, const KeptDistribution& distribution, int ranks) {
    if (distribution.kind == LAPWING_ON_RANKS) return on_ranks(extents, distribution, ranks);
    AnyMap map;
    if (distribution.kind == LAPWING_BLOCKS) {
        map.user_map = padded_blocks(extents, distribution, ranks);
    } else if (distribution.kind == LAPWING_OWN_DISTRIBUTION) {
        map.user_map = std::make_shared<OwnPlaces>(distribution, extents, ranks);
        map.replicated = distribution.functions.replicated != 0;
    } else {
        map.block_cyclic = padded_map(extents, distribution, ranks);
        map.replicated = distribution.kind == LAPWING_REPLICATED;
    }
    return map;
}

AnyMap AnyMap::on_ranks(std::span<const std::int64_t> extents, const KeptDistribution& distribution, int ranks) {
    auto chosen = std::make_shared<const distribution::ChosenRanks>(distribution.ranks, ranks);
    AnyMap map = plain(extents, *distribution.whole, chosen->count());
    std::unique_ptr<distribution::UserMap<padded>> placed;
    if (map.user_map != nullptr) {
        using Places = distribution::MapOnRanks<padded, PaddedOwnMap>;
        placed = std::make_unique<distribution::UserMapOf<padded, Places>>(
            Places{PaddedOwnMap{map.user_map, extents.size()}, std::move(chosen)});
    } else {
        using Places = distribution::MapOnRanks<padded, BlockCyclicMap<padded>>;
        placed = std::make_unique<distribution::UserMapOf<padded, Places>>(Places{map.block_cyclic, std::move(chosen)});
    }
    map.user_map = std::make_shared<PaddedPlaces>(std::move(placed), extents.size());
    map.block_cyclic = {};
    return map;
}

AnyMap AnyMap::aligned(std::span<const std::int64_t> extents, const KeptDistribution& distribution, int ranks) {
    const std::size_t dimensions = extents.size();
    const std::size_t front = padded - dimensions;
    bool is_whole = true;
    std::array<Range, padded> positions;
    positions.fill(Range::strided(0, 1, 1));
    for (std::size_t d = 0; d < dimensions; ++d) {
        distribution::require_extent(extents[d], distribution.positions[d].size(), d);
        positions[front + d] = distribution.positions[d];
        is_whole = is_whole && extents[d] == distribution.space[d];
    }
    AnyMap map = plain(distribution.space, *distribution.whole, ranks);
    if (is_whole) return map;
    std::unique_ptr<distribution::UserMap<padded>> part;
    if (map.user_map != nullptr) {
        using Part = distribution::PartOfMap<padded, PaddedOwnMap>;
        part = std::make_unique<distribution::UserMapOf<padded, Part>>(
            Part{PaddedOwnMap{map.user_map, dimensions}, PaddedDomain{positions}});
    } else {
        std::array<distribution::AlignedDimension, padded> along;
        for (std::size_t d = 0; d < padded; ++d)
            along[d] = {.map = map.block_cyclic.dimensions()[d],
                        .first = positions[d].empty() ? 0 : static_cast<std::uint64_t>(positions[d].first()),
                        .stride = static_cast<std::uint64_t>(positions[d].stride()),
                        .extent = positions[d].size()};
        part = std::make_unique<distribution::UserMapOf<padded, distribution::AlignedMap<padded>>>(
            distribution::AlignedMap<padded>{along});
    }
    map.user_map = std::make_shared<PaddedPlaces>(std::move(part), dimensions);
    map.block_cyclic = {};
    return map;
}

std::span<const distribution::DimensionMap> AnyMap::dimensions(std::size_t count) const noexcept {
    if (user_map != nullptr) return {};
    return std::span{block_cyclic.dimensions()}.last(count);
}

AnyArray::AnyArray(Team& team, lapwing_type type, std::span<const std::int64_t> extents,
                   const KeptDistribution& distribution, const GlobalArrayOptions& options)
    : AnyArray{team,
               type,
               extents,
               arrays::before_creation(
                   team, [&] { return AnyMap::make(team, options.name, extents, distribution, options.halo); }),
               distribution,
               options} {}

AnyArray::AnyArray(Team& team, lapwing_type type, std::span<const std::int64_t> extents, AnyMap map,
                   const KeptDistribution& distribution, const GlobalArrayOptions& options)
    : ArrayBase{team,
                map.capacity(),
                size_of(type),
                alignment_of(type),
                arrays::creation_identity(extents, map.dimensions(extents.size()), map.replicated, map.identity,
                                          name_of(type), size_of(type)),
                options},
      type_{type},
      dimensions_{extents.size()},
      own_rank_{team.rank().value},
      map_{std::move(map)},
      distribution_{distribution} {
    extents_.fill(1);
    std::ranges::copy(extents, extents_.begin() + static_cast<std::ptrdiff_t>(front()));
    make_geometry(extents, map_.dimensions(dimensions_), map_.block_cyclic.origin(), map_.user_map, map_.replicated,
                  element_bytes());
    if (map_.user_map == nullptr && !map_.replicated) node_ = {map_.block_cyclic, window_.map(), element_bytes()};
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
    AnyMap map;
    try {
        map = AnyMap::make(team, title_.name, extents, distribution, halo_);
        if (!std::ranges::equal(extents, this->extents())) copies_.require_free_extents(title_);
    } catch (...) {
        failure = std::current_exception();
    }
    agree_to_rebuild(call, failure);
    AnyArray fresh;
    try {
        fresh = AnyArray{team, type_, extents, std::move(map), distribution, options};
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
        if (failure == nullptr) AnyPrefetch{fresh}.take_patterns(*this);
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
    for (std::size_t d = 0; d < dimensions_; ++d)
        common[d].indices = Triplet{Range{std::int64_t{0}, std::min(extents()[d], other.extents()[d])}};
    AnySlice target = slice();
    AnySlice source = other.slice();
    target.cut({common.data(), dimensions_});
    source.cut({common.data(), dimensions_});
    take(target, source);
}

std::uint64_t AnyArray::size() const {
    std::array<Range, max_dimensions> ranges;
    for (std::size_t d = 0; d < dimensions_; ++d) ranges[d] = Range{std::int64_t{0}, extents()[d]};
    return datatype::checked_size(ranges.data(), dimensions_);
}

PaddedIndex AnyArray::padded_index(const std::int64_t* index) const noexcept {
    PaddedIndex result{};
    std::copy_n(index, dimensions_, result.begin() + static_cast<std::ptrdiff_t>(front()));
    return result;
}

Location AnyArray::locate(const PaddedIndex& index) const {
    Location location;
    if (map_.user_map == nullptr) {
        location = map_.block_cyclic.locate(index);
    } else {
        location = map_.user_map->locate_at(index.data() + front());
        if (location.owner.value >= team_->size() || location.contiguous == 0 ||
            (location.owner.value >= 0 &&
             (location.offset >= capacity_ || location.contiguous > capacity_ - location.offset)))
            arrays::throw_misplaced(title_, {index.data() + front(), dimensions_}, location, team_->size(), capacity_);
    }
    // Every rank has what the map of a replicated array places on rank 0.
    if (map_.replicated && location.owner.value >= 0) location.owner = Rank{own_rank_};
    return location;
}

Location AnyArray::checked_location(const char* call, const PaddedIndex& index) const {
    const Location location = locate(index);
    if (location.owner.value < 0) arrays::throw_not_stored(title_, call, {index.data() + front(), dimensions_});
    return location;
}

arrays::PlacedBox<padded> AnyArray::own_box() const {
    if (map_.user_map != nullptr) {
        std::array<std::int64_t, max_dimensions> own{};
        if (!map_.user_map->copy_local_extents(own_place(), own.data()) || domain_count(own_place()) != 1) return {};
        const PaddedDomain block = domain(own_place(), 0);
        return {{block, distribution::BufferShape<padded>::row_major(block).strides}, segment()};
    }
    if (!map_.block_cyclic.one_round() || map_.block_cyclic.domain_count(own_place()) != 1) return {};
    return {{map_.block_cyclic.domain(own_place(), 0), map_.block_cyclic.strides(own_place())},
            segment() + map_.block_cyclic.origin() * element_bytes()};
}

void AnyArray::refuse_atomic(const char* call, const PaddedIndex& index) const {
    arrays::throw_no_home(title_, call, {index.data() + front(), dimensions_});
}

std::uint64_t AnyArray::domain_count(Rank rank) const {
    check_rank(".domain", rank);
    if (map_.replicated) rank = Rank{0};
    return map_.user_map == nullptr ? map_.block_cyclic.domain_count(rank) : map_.user_map->domains_of(rank);
}

PaddedDomain AnyArray::domain(Rank rank, std::uint64_t k) const {
    if (map_.replicated) rank = Rank{0};
    if (map_.user_map == nullptr) return map_.block_cyclic.domain(rank, k);
    std::array<Range, padded> ranges;
    ranges.fill(Range::strided(0, 1, 1));
    map_.user_map->copy_domain(rank, k, ranges.data() + front());
    return PaddedDomain{ranges};
}

AnyArray::LocalPart AnyArray::local_part(const char* call) const {
    require_open(call);
    LocalPart part;
    if (map_.user_map != nullptr) {
        if (!map_.user_map->copy_local_extents(own_place(), part.extents.data())) arrays::throw_no_view(title_, call);
        part.first = segment();
        std::int64_t stride = 1;
        for (std::size_t d = dimensions_; d-- > 0; stride *= part.extents[d]) part.strides[d] = stride;
        return part;
    }
    part.first = segment() + map_.block_cyclic.origin() * element_bytes();
    const auto strides = map_.block_cyclic.strides(own_place());
    for (std::size_t d = 0; d < dimensions_; ++d) {
        const distribution::DimensionMap& dimension = map_.block_cyclic.dimensions()[front() + d];
        part.extents[d] = static_cast<std::int64_t>(dimension.count(dimension.process_of(own_place().value)));
        part.strides[d] = static_cast<std::int64_t>(strides[front() + d]);
    }
    return part;
}

void AnyArray::require_stored(const char* call, const PaddedDomain& domain) const {
    std::array<Range, padded> row_starts = domain.ranges();
    const Range row = row_starts[padded - 1];
    row_starts[padded - 1] = Range::strided(row.first(), 1, 1);
    for (PaddedIndex index : PaddedDomain{row_starts})
        for (std::uint64_t k = 0; k < row.size();) {
            index[padded - 1] = row[k];
            k += (checked_location(call, index).contiguous - 1) / static_cast<std::uint64_t>(row.stride()) + 1;
        }
}

Completion AnyArray::start_patch(const char* call, arrays::Direction direction, const PaddedDomain& domain,
                                 const distribution::BufferShape<padded>& shape, std::byte* buffer) const {
    require_open(call);
    if (domain.empty()) return {};
    // Before anything moves: a program's own distribution may not store all of the domain.
    if (map_.user_map != nullptr) require_stored(call, domain);
    arrays::PatchTransfer patch{window_, direction, buffer, element_bytes(), map_.replicated};
    AnyPrefetch::cut(*this, domain, shape, patch);
    return patch.release();
}

Completion AnyArray::start_list(arrays::Direction direction, std::vector<arrays::ListedPlace>& places,
                                std::byte* values) const {
    if (map_.replicated && direction == arrays::Direction::put)
        return start_list_to_all(places, element_bytes(), values);
    return arrays::start_list(window_, direction, places, element_bytes(), values);
}

void AnyArray::for_each_run(const Run& run) const {
    const Rank own{own_rank_};
    const std::uint64_t count = domain_count(own);
    for (std::uint64_t n = 0; n < count; ++n) {
        const PaddedDomain domain = this->domain(own, n);
        if (domain.empty()) continue;
        for (std::size_t d = 0; d < dimensions_; ++d)
            if (domain.first()[front() + d] < 0 || domain.last()[front() + d] >= extents()[d])
                arrays::throw_wrong_domain(title_, {domain.last().data() + front(), dimensions_}, Rank{-1});
        std::array<Range, padded> rows = domain.ranges();
        const Range row = rows[padded - 1];
        rows[padded - 1] = Range::strided(row.first(), 1, 1);
        for (PaddedIndex index : PaddedDomain{rows}) {
            if (map_.user_map == nullptr) { // neighbours in a domain are neighbours in memory
                run(index, segment() + map_.block_cyclic.locate(index).offset * element_bytes(), row.size(),
                    row.stride());
                continue;
            }
            for (std::uint64_t k = 0; k < row.size();) {
                index[padded - 1] = row[k];
                const Location location = locate(index);
                if (location.owner.value != own_rank_)
                    arrays::throw_wrong_domain(title_, {index.data() + front(), dimensions_}, location.owner);
                const std::uint64_t together =
                    row.stride() == 1 ? std::min(location.contiguous, row.size() - k) : std::uint64_t{1};
                run(index, segment() + location.offset * element_bytes(), together, row.stride());
                k += together;
            }
        }
    }
}

void AnyArray::broadcast_copies(Rank root) {
    if (!map_.replicated) arrays::throw_not_replicated(title_);
    const std::array<std::int64_t, 1> from{root.value};
    begin_collective("broadcast", "the root", from);
    check_rank(".broadcast", root); // after the comparison, so that it is wrong on all ranks
    team_->broadcast(std::span{segment(), static_cast<std::size_t>(capacity_ * element_bytes())}, root);
    barrier();
}

} // namespace lapwing::detail::bindings
