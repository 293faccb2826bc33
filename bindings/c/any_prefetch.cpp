// Prefetch by patterns: which elements are copied, and where the copies are.
#include "bindings/c/any_array.hpp"

#include <lapwing/detail/slice_collector.hpp>
#include <lapwing/patch.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace lapwing::detail::bindings {

using RowRun = arrays::IndexRun<padded>;

void AnyPrefetch::cut(const AnyArray& array, const PaddedDomain& domain, const distribution::BufferShape<padded>& shape,
                      distribution::SectionVisitor& visitor) {
    if (array.map_.user_map != nullptr) return distribution::cut_rows(array, domain, shape, visitor);
    // The dimensions in front have one index, at the first place of the first process.
    const std::size_t front = array.front();
    distribution::cut(std::span{array.map_.block_cyclic.dimensions()}.subspan(front), array.map_.block_cyclic.origin(),
                      std::span{domain.ranges()}.subspan(front), shape.offset, std::span{shape.strides}.subspan(front),
                      visitor);
}

PaddedDomain AnyPrefetch::whole() const {
    std::array<Range, padded> ranges;
    for (std::size_t d = 0; d < padded; ++d) ranges[d] = Range{std::int64_t{0}, array_.extents_[d]};
    return PaddedDomain{ranges};
}

void AnyPrefetch::prefetch(const KeptPattern& pattern, const PrefetchOptions& options) {
    array_.require_open(".prefetch");
    // If one rank cannot do it, no rank does.
    std::vector<PaddedDomain> needed;
    std::exception_ptr failure;
    try {
        array_.copies_.check(array_.title_, array_.halo_, options);
        needed = needed_by(pattern);
    } catch (...) {
        failure = std::current_exception();
    }
    arrays::ArrayCopies::begin_call(array_.title_, *array_.team_, options);
    array_.agree_to_prefetch(failure, "the array has the patterns that it had");
    try {
        prefetching::CopyState& state = array_.copies_.begin(array_.window_, options);
        // A replicated array has all elements here.
        if (!array_.map_.replicated) prefetch_domains(needed, options, state);
        array_.patterns_.push_back(pattern);
        if (!options.consistent) array_.copies_.fill_new();
    } catch (...) {
        failure = std::current_exception();
    }
    try {
        array_.agree_to_prefetch(failure, "the array has no patterns any more");
    } catch (...) {
        evict();
        throw;
    }
    array_.barrier();
}

void AnyPrefetch::take_patterns(const AnyArray& other) {
    if (other.copies_.empty()) return;
    const PrefetchOptions options = other.copies_.options();
    prefetching::CopyState& state = array_.copies_.begin(array_.window_, options);
    array_.patterns_ = other.patterns_;
    if (!array_.map_.replicated)
        for (const KeptPattern& pattern : array_.patterns_) prefetch_domains(needed_by(pattern), options, state);
    if (!options.consistent) array_.update();
}

void AnyPrefetch::evict() {
    array_.require_open(".evict");
    array_.copies_.drop();
    array_.patterns_.clear();
    array_.prefetched_.reset();
}

std::vector<PaddedDomain> AnyPrefetch::needed_by(const KeptPattern& pattern) const {
    const Rank own{array_.own_rank_};
    const prefetching::PatternSite<padded> site{whole(), own, array_.team_->size()};
    std::vector<PaddedDomain> needed;
    const auto ask = [&](const PaddedDomain& domain) {
        for (const PaddedDomain& one : pattern(domain, site))
            if (needed.empty() || needed.back() != one) needed.push_back(one);
    };
    // A rank that owns nothing may still read.
    const std::uint64_t count = array_.domain_count(own);
    if (count == 0) ask(PaddedDomain{});
    for (std::uint64_t k = 0; k < count; ++k) ask(array_.domain(own, k));
    return needed;
}

void AnyPrefetch::prefetch_domains(const std::vector<PaddedDomain>& needed, const PrefetchOptions& options,
                                   prefetching::CopyState& state) {
    if (array_.prefetched_ == nullptr) array_.prefetched_ = std::make_unique<arrays::PrefetchedElements<padded>>(state);
    arrays::PrefetchedIndices<padded>& indices = array_.prefetched_->indices;
    // An automatic copy is no better than the element itself if that is loaded from memory.
    // A halo is one block of memory, with those of the node.
    const bool in_halo = options.storage == PrefetchStorage::halo;
    const bool node = !options.consistent || in_halo;
    const std::vector<PaddedDomain> rest = in_halo ? copy_into_halo(needed) : needed;
    if (auto domains = domains_to_copy(rest, node)) {
        if (options.storage == PrefetchStorage::by_owner) *domains = by_owner(*domains);
        std::byte* copies = add_copies_of(*domains, indices.bytes_of(domains->size()));
        for (const PaddedDomain& one : *domains) {
            indices.add(one, distribution::BufferShape<padded>::row_major(one).strides, copies, array_.element_bytes());
            copies += one.size() * array_.element_bytes();
        }
    } else {
        const std::vector<RowRun> runs = rows_to_copy(rest, node);
        std::vector<PaddedDomain> rows;
        rows.reserve(runs.size());
        std::ranges::transform(runs, std::back_inserter(rows), &RowRun::domain);
        std::byte* copies = add_copies_of(rows, indices.bytes_of_runs(runs.size()));
        for (const RowRun& run : runs) {
            indices.add_run(run, copies, array_.element_bytes());
            copies += run.count * array_.element_bytes();
        }
    }
    indices.order();
}

std::optional<std::vector<PaddedDomain>> AnyPrefetch::domains_to_copy(const std::vector<PaddedDomain>& needed,
                                                                      bool node) const {
    if (array_.map_.user_map != nullptr || array_.prefetched_->indices.has_runs()) return {};
    prefetching::NeededDomains<padded> domains;
    for (const PaddedDomain& one : needed)
        if (!domains.add(one.intersect(whole()))) return {};
    const auto remove_all = [&](Rank rank) {
        const std::uint64_t count = array_.domain_count(rank);
        if (count > prefetching::NeededDomains<padded>::most_domains) return false;
        for (std::uint64_t k = 0; k < count; ++k)
            if (!domains.remove(array_.domain(rank, k))) return false;
        return true;
    };
    if (!remove_all(Rank{array_.own_rank_})) return {};
    for (const PaddedDomain& here : array_.prefetched_->indices.domains())
        if (!domains.remove(here)) return {};
    if (!node) {
        arrays::OwnerCollector owners;
        for (const PaddedDomain& one : domains.domains())
            cut(array_, one, distribution::BufferShape<padded>::row_major(one), owners);
        for (const int owner : owners.take())
            if (is_of_node(owner) && !remove_all(Rank{owner})) return {};
    }
    return std::vector<PaddedDomain>{domains.domains().begin(), domains.domains().end()};
}

std::vector<PaddedDomain> AnyPrefetch::by_owner(const std::vector<PaddedDomain>& domains) const {
    arrays::OwnerCollector owners;
    for (const PaddedDomain& one : domains) cut(array_, one, distribution::BufferShape<padded>::row_major(one), owners);
    std::vector<PaddedDomain> parts;
    for (const int owner : owners.take())
        for (std::uint64_t k = 0; k < array_.domain_count(Rank{owner}); ++k)
            for (const PaddedDomain& one : domains)
                if (const PaddedDomain part = one.intersect(array_.domain(Rank{owner}, k)); !part.empty())
                    parts.push_back(part);
    return parts;
}

std::vector<PaddedDomain> AnyPrefetch::copy_into_halo(const std::vector<PaddedDomain>& needed) {
    const PaddedDomain around = domain_with_halo();
    if (around.empty()) return needed;
    prefetching::NeededDomains<padded> inside;
    std::vector<PaddedDomain> rest;
    bool few = true;
    for (const PaddedDomain& one : needed) {
        few = few && inside.add(one.intersect(around));
        prefetching::NeededDomains<padded> outside;
        if (outside.add(one) && outside.remove(around))
            rest.insert(rest.end(), outside.domains().begin(), outside.domains().end());
        else rest.push_back(one);
    }
    // Too ragged: there is room for all of it.
    if (!few) {
        inside = {};
        (void)inside.add(around);
    }
    (void)inside.remove(array_.domain(array_.own_place(), 0));
    arrays::PrefetchedIndices<padded>& indices = array_.prefetched_->indices;
    for (const PaddedDomain& here : indices.domains()) (void)inside.remove(here);
    const std::span<const PaddedDomain> blocks = inside.domains();
    std::byte* const memory = array_.segment();
    if (add_copies_of(blocks, indices.bytes_of(blocks.size()), memory) == nullptr) return rest;
    for (const PaddedDomain& block : blocks) {
        const distribution::BufferShape<padded> shape = shape_in_segment(block);
        indices.add(block, shape.strides, memory + shape.offset * array_.element_bytes(), array_.element_bytes());
    }
    indices.order();
    return rest;
}

PaddedDomain AnyPrefetch::domain_with_halo() const {
    const BlockCyclicMap<padded>& map = array_.map_.block_cyclic;
    if (array_.halo() == 0 || map.domain_count(array_.own_place()) == 0) return {};
    const PaddedDomain own = map.domain(array_.own_place(), 0);
    std::array<Range, padded> ranges;
    for (std::size_t d = 0; d < padded; ++d)
        ranges[d] = own.range(d).expand(static_cast<std::int64_t>(map.dimensions()[d].margin));
    return PaddedDomain{ranges}.intersect(whole());
}

distribution::BufferShape<padded> AnyPrefetch::shape_in_segment(const PaddedDomain& block) const {
    const BlockCyclicMap<padded>& map = array_.map_.block_cyclic;
    const PaddedIndex first = map.domain(array_.own_place(), 0).first();
    distribution::BufferShape<padded> shape{.offset = map.origin(), .strides = map.strides(array_.own_place())};
    for (std::size_t d = 0; d < padded; ++d) {
        shape.offset += static_cast<std::uint64_t>(block.first()[d] - first[d]) * shape.strides[d];
        shape.strides[d] *= static_cast<std::uint64_t>(block.range(d).stride());
    }
    return shape;
}

arrays::PlacedBox<padded> AnyPrefetch::halo_view() const {
    array_.require_open(".halo_view");
    array_.copies_.require_halo(array_.title_);
    while (array_.prefetched_ != nullptr && !array_.prefetched_->state.is_fresh()) array_.copies_.refresh();
    const PaddedDomain around = domain_with_halo();
    if (around.empty()) return {};
    const distribution::BufferShape<padded> shape = shape_in_segment(around);
    return {{around, shape.strides}, array_.segment() + shape.offset * array_.element_bytes()};
}

std::byte* AnyPrefetch::add_copies_of(std::span<const PaddedDomain> domains, std::uint64_t index_bytes,
                                      std::byte* memory) {
    arrays::SliceCollector slices{array_.element_bytes()};
    std::uint64_t elements = 0;
    for (const PaddedDomain& one : domains) {
        distribution::BufferShape<padded> shape =
            memory != nullptr ? shape_in_segment(one) : distribution::BufferShape<padded>::row_major(one);
        if (memory == nullptr) shape.offset = elements;
        cut(array_, one, shape, slices);
        elements += one.size();
    }
    if (elements == 0) return nullptr;
    array_.prefetched_->of_node |=
        std::ranges::any_of(slices.owners().take(), [this](int owner) { return is_of_node(owner); });
    return array_.copies_.add(elements * array_.element_bytes(), slices, index_bytes, memory);
}

std::vector<RowRun> AnyPrefetch::rows_to_copy(const std::vector<PaddedDomain>& needed, bool node) const {
    // First the rows, whoever owns them: there are far fewer of them than of indices, and several domains may share
    // elements.
    const auto join = [](std::vector<RowRun>& runs, const RowRun& run) {
        if (runs.empty() || !runs.back().join(run)) runs.push_back(run);
    };
    std::vector<RowRun> rows;
    for (const PaddedDomain& asked : needed) {
        const PaddedDomain inside = asked.intersect(whole());
        if (inside.empty()) continue;
        const Range row = inside.range(padded - 1);
        std::array<Range, padded> starts = inside.ranges();
        starts[padded - 1] = Range::strided(row.first(), 1, 1);
        for (PaddedIndex index : PaddedDomain{starts}) {
            const std::uint64_t together = row.stride() == 1 ? row.size() : 1;
            for (std::uint64_t k = 0; k < row.size(); k += together) {
                index[padded - 1] = row[k];
                join(rows, {index, together});
            }
        }
    }
    std::ranges::sort(rows, {}, &RowRun::first);
    std::vector<RowRun> disjoint;
    for (const RowRun& row : rows) join(disjoint, row);

    // Then, of these, the elements of other ranks that are not here yet, in contiguous stretches.
    std::vector<RowRun> runs;
    for (const RowRun& row : disjoint) {
        PaddedIndex index = row.first;
        for (std::uint64_t left = row.count; left > 0;) {
            const Location location = array_.locate(index);
            const int owner = location.owner.value;
            std::uint64_t count = std::clamp<std::uint64_t>(location.contiguous, 1, left);
            if (owner >= 0 && owner != array_.own_rank_ && (node || !is_of_node(owner))) {
                const auto [here, alike] = array_.prefetched_->indices.stretch<std::byte>(index, count);
                count = alike;
                if (!here) join(runs, {index, count});
            }
            index[padded - 1] += static_cast<std::int64_t>(count);
            left -= count;
        }
    }
    return runs;
}

const std::byte* AnyPrefetch::copy_of(const PaddedIndex& index) const noexcept {
    // Boxes count in elements, whose size is known here alone.
    if (const arrays::PlacedBox<padded>* const box = array_.prefetched_->indices.box_of(index))
        return box->first + box->box.offset(index) * array_.element_bytes();
    return array_.prefetched_->indices.find<std::byte>(index);
}

bool AnyPrefetch::read_prefetched(const PaddedIndex& index, std::span<std::byte> value) const {
    const std::byte* const copy = copy_of(index);
    if (copy == nullptr) return false;
    while (!array_.prefetched_->state.read_bytes(copy, value)) array_.copies_.refresh();
    array_.prefetched_->state.count_hit();
    return true;
}

arrays::PlacedBox<padded> AnyPrefetch::box_around(const PaddedIndex& index) const {
    array_.require_open(".block_at");
    // One element, where there are no boxes.
    const auto one = [&](const std::byte* element) -> arrays::PlacedBox<padded> {
        return {{RowRun{index, 1}.domain(), {}}, const_cast<std::byte*>(element)};
    };
    if (array_.prefetched_ != nullptr) {
        while (!array_.prefetched_->state.is_fresh()) array_.copies_.refresh();
        if (const arrays::PlacedBox<padded>* const copies = array_.prefetched_->indices.box_of(index)) return *copies;
        if (const std::byte* const copy = copy_of(index)) return one(copy);
    }
    const Location location = array_.locate(index);
    std::byte* const memory = location.owner.value < 0 ? nullptr : array_.window_.map().base(location.owner.value);
    if (memory == nullptr)
        arrays::throw_not_in_view(array_.title_, {index.data() + array_.front(), array_.dimensions_});
    // A box would hide the copies of elements on the node.
    const bool copied =
        array_.prefetched_ != nullptr && array_.prefetched_->of_node && location.owner.value != array_.own_rank_;
    if (copied || array_.map_.user_map != nullptr || array_.map_.replicated || !array_.map_.block_cyclic.one_round())
        return one(memory + location.offset * array_.element_bytes());
    return {{array_.map_.block_cyclic.domain(location.owner, 0), array_.map_.block_cyclic.strides(location.owner)},
            memory + array_.map_.block_cyclic.origin() * array_.element_bytes()};
}

Relabelling AnyPrefetch::relabelling(const KeptDistribution& distribution) const {
    array_.require_open(".relabelling");
    array_.begin_collective("relabelling");
    AnyMap map;
    const auto make_map = [&] {
        map = AnyMap::make(*array_.team_, array_.title_.name, array_.extents(), distribution, 0);
    };
    array_.end_collective(".relabelling", make_map, "no order of the ranks was found");
    const std::span<const distribution::DimensionMap> dimensions = map.dimensions(array_.dimensions_);
    const std::array<std::int64_t, 1> identity{
        static_cast<std::int64_t>(arrays::identity_of(array_.extents(), dimensions, map.replicated, map.identity))};
    array_.begin_collective("relabelling", "a distribution with the identity", identity);
    return array_.relabelling_to(array_.slice(), dimensions, map.user_map, map.replicated);
}

} // namespace lapwing::detail::bindings
