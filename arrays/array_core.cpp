// Where the elements of an array are. Compiled for each number of dimensions: see the end.
#include <lapwing/detail/array_core.hpp>

#include "arrays/array_core_mapping.hpp"
#include "arrays/array_core_prefetch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace lapwing::detail::arrays {

template <std::size_t N>
ArrayCore<N>::ArrayCore(Team& team, const Extents<N>& extents, ArrayMaps<N> maps, const ElementType& type,
                        const GlobalArrayOptions& options, std::size_t front)
    : ArrayBase{team,
                maps.user_map != nullptr ? maps.user_map->local_capacity() : maps.block_cyclic.local_capacity(),
                type.bytes,
                type.alignment,
                creation_identity(std::span{extents.values()}.subspan(front),
                                  maps.user_map != nullptr ? std::span<const distribution::DimensionMap>{}
                                                           : std::span{maps.block_cyclic.dimensions()}.subspan(front),
                                  maps.replicated, maps.identity, type.name, type.bytes),
                options} {
    core_.element_bytes = type.bytes;
    core_.own_rank = team.rank().value;
    core_.replicated = maps.replicated;
    core_.front = front;
    core_.map = std::move(maps.block_cyclic);
    core_.user_map = std::move(maps.user_map);
    core_.extents = extents;
    core_.spare_mapping = std::make_shared<SpareMapping>();
}

template <std::size_t N>
Location ArrayCore<N>::user_location(const Index<N>& index) const {
    Location location = core_.user_map->locate(index);
    if (location.owner.value >= this->team_->size() || location.contiguous == 0 ||
        (location.owner.value >= 0 &&
         (location.offset >= this->capacity_ || location.contiguous > this->capacity_ - location.offset))) [[unlikely]]
        throw_misplaced(this->title_, shown(index), location, this->team_->size(), this->capacity_);
    if (core_.replicated && location.owner.value >= 0) location.owner = Rank{core_.own_rank};
    return location;
}

template <std::size_t N>
std::uint64_t ArrayCore<N>::domain_count(Rank rank) const {
    this->check_rank(".local_domain", rank);
    if (core_.replicated) rank = Rank{0};
    return core_.user_map == nullptr ? core_.map.domain_count(rank) : core_.user_map->domain_count(rank);
}

template <std::size_t N>
Domain<N> ArrayCore<N>::domain_of(Rank rank, std::uint64_t k) const {
    if (core_.replicated) rank = Rank{0};
    return core_.user_map == nullptr ? core_.map.domain(rank, k) : core_.user_map->domain(rank, k);
}

template <std::size_t N>
PlacedBox<N> ArrayCore<N>::own_box() const {
    if (core_.user_map != nullptr) {
        Index<N> own{};
        if (!core_.user_map->copy_local_extents(own_place(), own.data()) || std::ranges::find(own, 0) != own.end())
            return {};
        const Domain<N> domain = core_.user_map->domain(own_place(), 0);
        return {{domain, distribution::BufferShape<N>::row_major(domain).strides}, own_memory()};
    }
    if (!core_.map.one_round() || core_.map.domain_count(own_place()) != 1) return {};
    return {{core_.map.domain(own_place(), 0), core_.map.strides(own_place())},
            own_memory() + core_.map.origin() * core_.element_bytes};
}

template <std::size_t N>
typename ArrayCore<N>::LocalPart ArrayCore<N>::local_part(const char* call) const {
    this->require_open(call);
    LocalPart part{.first = own_memory() + core_.map.origin() * core_.element_bytes};
    if (core_.user_map != nullptr) {
        if (!core_.user_map->copy_local_extents(own_place(), part.extents.data())) throw_no_view(this->title_, call);
        std::int64_t stride = 1;
        for (std::size_t d = N; d-- > 0; stride *= part.extents[d]) part.strides[d] = stride;
        return part;
    }
    const std::array<std::uint64_t, N> strides = core_.map.strides(own_place());
    for (std::size_t d = 0; d < N; ++d) {
        const distribution::DimensionMap& dimension = core_.map.dimensions()[d];
        part.extents[d] = static_cast<std::int64_t>(dimension.count(dimension.process_of(own_place().value)));
        part.strides[d] = static_cast<std::int64_t>(strides[d]);
    }
    return part;
}

template <std::size_t N>
void ArrayCore<N>::for_each_run_of_bytes(const Run& run) const {
    const Rank own{core_.own_rank};
    const std::uint64_t domains = domain_count(own);
    for (std::uint64_t n = 0; n < domains; ++n) {
        const Domain<N> domain = domain_of(own, n);
        if (domain.empty()) continue;
        if (core_.user_map != nullptr && !whole().contains(domain))
            throw_wrong_domain(this->title_, shown(whole().contains(domain.first()) ? domain.last() : domain.first()),
                               Rank{-1});
        std::array<Range, N> rows = domain.ranges();
        const Range row = rows[N - 1];
        rows[N - 1] = Range::strided(row.first(), 1, 1);
        for (Index<N> index : Domain<N>{rows}) {
            // In a domain of a block-cyclic map neighbours are neighbours in memory, whatever the distance of their
            // indices; of other maps only what they say is contiguous.
            if (core_.user_map == nullptr) {
                run(index, own_memory() + core_.map.locate(index).offset * core_.element_bytes, row.size(),
                    row.stride());
                continue;
            }
            for (std::uint64_t k = 0; k < row.size();) {
                index[N - 1] = row[k];
                const Location location = locate(index);
                if (location.owner.value != core_.own_rank)
                    throw_wrong_domain(this->title_, shown(index), location.owner);
                const std::uint64_t count =
                    row.stride() == 1 ? std::min(location.contiguous, row.size() - k) : std::uint64_t{1};
                run(index, own_memory() + location.offset * core_.element_bytes, count, row.stride());
                k += count;
            }
        }
    }
}

namespace {

/// The map as code sees it that needs nothing but locate(): what a user-defined distribution says is checked.
template <class Locate>
struct CheckedMap {
    Locate locate;
};

} // namespace

template <std::size_t N>
void ArrayCore<N>::cut(const Domain<N>& domain, const distribution::BufferShape<N>& buffer,
                       distribution::SectionVisitor& visitor) const {
    if (core_.user_map != nullptr)
        return distribution::cut_rows(CheckedMap{[this](const Index<N>& index) { return locate(index); }}, domain,
                                      buffer, visitor);
    // The dimensions in front have one index, at the first place of the first process.
    distribution::cut(dimension_maps(), core_.map.origin(), std::span{domain.ranges()}.subspan(core_.front),
                      buffer.offset, std::span{buffer.strides}.subspan(core_.front), visitor);
}

template class ArrayCore<1>;
template class ArrayCore<2>;
template class ArrayCore<3>;
template class ArrayCore<4>;
template class ArrayCore<5>;
template class ArrayCore<6>;
template class ArrayCore<7>;
template class ArrayCore<8>;
static_assert(max_dimensions == 8);

} // namespace lapwing::detail::arrays
