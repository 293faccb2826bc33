// What arrays prefetch by patterns: which elements are copied, and where the copies are.
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
    if (array.map_.user_map == nullptr)
        distribution::cut(array.map_.block_cyclic.dimensions(), array.map_.block_cyclic.origin(), domain.ranges(),
                          shape.offset, shape.strides, visitor);
    else distribution::cut_rows(array, domain, shape, visitor);
}

PaddedDomain AnyPrefetch::whole() const {
    std::array<Range, padded> ranges;
    for (std::size_t d = 0; d < padded; ++d) ranges[d] = Range{std::int64_t{0}, array_.extents_[d]};
    return PaddedDomain{ranges};
}

void AnyPrefetch::prefetch(const KeptPattern& pattern, const PrefetchOptions& options) {
    array_.require_open(".prefetch");
    // What one rank cannot do no other does.
    std::vector<PaddedDomain> needed;
    std::exception_ptr failure;
    try {
        array_.check_prefetch(options);
        needed = needed_by(pattern);
    } catch (...) {
        failure = std::current_exception();
    }
    array_.begin_prefetch_call(options);
    array_.agree_to_prefetch(failure, "the array has the patterns that it had");
    try {
        prefetching::CopyState& state = array_.begin_prefetch(options);
        // Of a replicated array there is nothing that is not here.
        if (!array_.map_.replicated) prefetch_domains(needed, options, state);
        array_.patterns_.push_back(pattern);
        if (!options.consistent) array_.fill_new_copies();
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
    if (!other.has_copies()) return;
    const PrefetchOptions options = other.prefetch_options();
    prefetching::CopyState& state = array_.begin_prefetch(options);
    array_.patterns_ = other.patterns_;
    if (!array_.map_.replicated)
        for (const KeptPattern& pattern : array_.patterns_) prefetch_domains(needed_by(pattern), options, state);
    if (!options.consistent) array_.update();
}

void AnyPrefetch::evict() {
    array_.require_open(".evict");
    array_.drop_copies();
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
    // One that owns nothing may read all the same.
    const std::uint64_t count = array_.domain_count(own);
    if (count == 0) ask(PaddedDomain{});
    for (std::uint64_t k = 0; k < count; ++k) ask(array_.domain(own, k));
    return needed;
}

void AnyPrefetch::prefetch_domains(const std::vector<PaddedDomain>& needed, const PrefetchOptions& options,
                                   prefetching::CopyState& state) {
    if (array_.prefetched_ == nullptr)
        array_.prefetched_ =
            std::make_unique<arrays::PrefetchedElements<padded>>(arrays::PrefetchedElements<padded>{state, {}});
    arrays::PrefetchedIndices<padded>& indices = array_.prefetched_->indices;
    // A read of an automatic copy is no better than one of the element itself, where that is a load.
    const bool node = !options.consistent;
    if (auto domains = domains_to_copy(needed, node)) {
        if (options.storage == PrefetchStorage::by_owner) *domains = by_owner(*domains);
        std::byte* copies = add_copies_of(*domains, indices.bytes_of(domains->size()));
        for (const PaddedDomain& one : *domains) {
            indices.add(one, distribution::BufferShape<padded>::row_major(one).strides, copies, array_.element_bytes());
            copies += one.size() * array_.element_bytes();
        }
    } else {
        const std::vector<RowRun> runs = rows_to_copy(needed, node);
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

std::byte* AnyPrefetch::add_copies_of(std::span<const PaddedDomain> domains, std::uint64_t index_bytes) {
    arrays::SliceCollector slices{array_.element_bytes()};
    std::uint64_t elements = 0;
    for (const PaddedDomain& one : domains) {
        distribution::BufferShape<padded> shape = distribution::BufferShape<padded>::row_major(one);
        shape.offset = elements;
        cut(array_, one, shape, slices);
        elements += one.size();
    }
    if (elements == 0) return nullptr;
    array_.prefetched_->of_node |=
        std::ranges::any_of(slices.owners().take(), [this](int owner) { return is_of_node(owner); });
    return array_.add_copies(elements * array_.element_bytes(), slices, index_bytes);
}

std::vector<RowRun> AnyPrefetch::rows_to_copy(const std::vector<PaddedDomain>& needed, bool node) const {
    // First the rows, whoever has them: there are far fewer than indices, and several domains may have elements in
    // common.
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

    // Of these what others have, and is not here yet, stretch by stretch of what lies together.
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
    while (!array_.prefetched_->state.read_bytes(copy, value)) array_.refresh_copies();
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
        while (!array_.prefetched_->state.is_fresh()) array_.refresh_copies();
        if (const arrays::PlacedBox<padded>* const copies = array_.prefetched_->indices.box_of(index)) return *copies;
        if (const std::byte* const copy = copy_of(index)) return one(copy);
    }
    const Location location = array_.locate(index);
    std::byte* const memory = location.owner.value < 0 ? nullptr : array_.window_.map().base(location.owner.value);
    if (memory == nullptr) array_.throw_not_in_view({index.data() + array_.front(), array_.dimensions_});
    // Among elements of the node that have copies a box would hide those.
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
    std::exception_ptr failure;
    AnyMap map;
    try {
        map = AnyMap::make(*array_.team_, array_.name_, array_.extents(), distribution, 0);
    } catch (...) {
        failure = std::current_exception();
    }
    array_.end_collective(".relabelling", failure, "no order of the ranks was found");
    return array_.relabelling_to(array_.slice(), map.dimensions(array_.dimensions_), map.user_map, map.replicated);
}

} // namespace lapwing::detail::bindings
