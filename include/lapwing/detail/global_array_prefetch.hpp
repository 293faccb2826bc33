// Room: array
#pragma once

/// The members of GlobalArray that decide what of it is prefetched, and where the copies go. Included by global_array.hpp.
#include <lapwing/global_array.hpp>

#include <lapwing/detail/slice_collector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lapwing {

template <TriviallyCopyable T, std::size_t N>
template <Pattern<N> P>
void GlobalArray<T, N>::prefetch(const P& pattern, const PrefetchOptions& options) {
    this->require_open(".prefetch");
    prefetching::KeptPattern<N> kept = [pattern](const Domain<N>& own, const prefetching::PatternSite<N>& site) {
        return prefetching::domains_of(pattern, own, site);
    };
    const std::vector<Domain<N>> needed = needed_by(kept);
    this->begin_collective("prefetch");
    prefetching::CopyState& state = this->begin_prefetch(options);
    // Of a replicated array there is nothing that is not here.
    if (!replicated_) prefetch_domains(needed, options, state);
    patterns_.push_back(std::move(kept));
    if (!options.consistent) this->update();
    barrier();
}

template <TriviallyCopyable T, std::size_t N>
std::vector<Domain<N>> GlobalArray<T, N>::needed_by(const prefetching::KeptPattern<N>& pattern) const {
    const prefetching::PatternSite<N> site{domain(), Rank{own_rank_}, team_->size()};
    std::vector<Domain<N>> needed;
    const auto ask = [&](const Domain<N>& own) {
        for (const Domain<N>& domain : pattern(own, site))
            if (std::ranges::find(needed, domain) == needed.end()) needed.push_back(domain);
    };
    // One that owns nothing may read all the same.
    if (domain_count(Rank{own_rank_}) == 0) ask(Domain<N>{});
    for (const Domain<N> own : local_domains()) ask(own);
    return needed;
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::prefetch_domains(const std::vector<Domain<N>>& needed, const PrefetchOptions& options,
                                         prefetching::CopyState& state) {
    if (prefetched_ == nullptr)
        prefetched_ = std::make_unique<array::PrefetchedElements<N>>(array::PrefetchedElements<N>{state, {}, false});
    // A read of an automatic copy is no better than one of the element itself, where that is a load.
    const bool node = !options.consistent;
    if (const auto domains = domains_to_copy(needed, node)) copy_domains(*domains, options.storage);
    else copy_rows(rows_to_copy(needed, node));
    if (prefetched_->of_node) bind_near(false);
}

template <TriviallyCopyable T, std::size_t N>
std::optional<prefetching::NeededDomains<N>> GlobalArray<T, N>::domains_to_copy(const std::vector<Domain<N>>& needed, bool node) const {
    if (foreign_ != nullptr || prefetched_->indices.has_runs()) return {};
    prefetching::NeededDomains<N> domains;
    for (const Domain<N>& one : needed)
        if (!domains.add(one.intersect(domain()))) return {};
    const auto remove_all = [&](Rank rank) {
        if (domain_count(rank) > prefetching::NeededDomains<N>::most_domains) return false;
        for (const Domain<N> owned : local_domains(rank))
            if (!domains.remove(owned)) return false;
        return true;
    };
    if (!remove_all(Rank{own_rank_})) return {};
    for (const Domain<N>& here : prefetched_->indices.domains())
        if (!domains.remove(here)) return {};
    if (node) return domains;

    array::OwnerCollector owners;
    for (const Domain<N>& one : domains.domains()) cut(one, array::BufferShape<N>::row_major(one), owners);
    for (const int owner : owners.take())
        if (is_of_node(owner) && !remove_all(Rank{owner})) return {};
    return domains;
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::copy_domains(const prefetching::NeededDomains<N>& domains, PrefetchStorage storage) {
    std::vector<Domain<N>> blocks{domains.domains().begin(), domains.domains().end()};
    array::OwnerCollector collector;
    for (const Domain<N>& block : blocks) cut(block, array::BufferShape<N>::row_major(block), collector);
    const std::vector<int> owners = collector.take();
    if (owners.empty()) return;
    if (storage == PrefetchStorage::by_owner) {
        std::vector<Domain<N>> parts;
        for (const int owner : owners)
            for (const Domain<N> owned : local_domains(Rank{owner}))
                for (const Domain<N>& block : blocks)
                    if (const Domain<N> part = block.intersect(owned); !part.empty()) parts.push_back(part);
        blocks = std::move(parts);
    }
    array::SliceCollector slices{sizeof(T)};
    std::uint64_t elements = 0;
    for (const Domain<N>& block : blocks) {
        array::BufferShape<N> shape = array::BufferShape<N>::row_major(block);
        shape.offset = elements;
        cut(block, shape, slices);
        elements += block.size();
    }
    array::PrefetchedIndices<N>& indices = prefetched_->indices;
    std::byte* copies = this->add_copies(elements * sizeof(T), slices, indices.bytes_of(blocks.size()));
    for (const Domain<N>& block : blocks) {
        indices.add(block, copies, sizeof(T));
        copies += block.size() * sizeof(T);
    }
    note_owners(owners);
}

template <TriviallyCopyable T, std::size_t N>
std::vector<array::IndexRun<N>> GlobalArray<T, N>::rows_to_copy(const std::vector<Domain<N>>& needed, bool node) const {
    const auto wanted = [&](const Index<N>& index) {
        const int owner = locate(index).owner.value;
        return owner >= 0 && owner != own_rank_ && (node || !is_of_node(owner)) &&
               prefetched_->indices.template find<T>(index) == nullptr;
    };
    std::vector<array::IndexRun<N>> runs;
    for (const Domain<N>& asked : needed)
        for (const Index<N>& index : asked.intersect(domain()))
            if (wanted(index) && (runs.empty() || !runs.back().join({index, 1}))) runs.push_back({index, 1});
    // Those of several domains may have elements in common.
    std::ranges::sort(runs, {}, &array::IndexRun<N>::first);
    std::vector<array::IndexRun<N>> disjoint;
    for (const array::IndexRun<N>& run : runs)
        if (disjoint.empty() || !disjoint.back().join(run)) disjoint.push_back(run);
    return disjoint;
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::copy_rows(const std::vector<array::IndexRun<N>>& runs) {
    if (runs.empty()) return;
    array::SliceCollector slices{sizeof(T)};
    array::OwnerCollector owners;
    std::uint64_t elements = 0;
    for (const array::IndexRun<N>& run : runs) {
        const Domain<N> block = run.domain();
        array::BufferShape<N> shape = array::BufferShape<N>::row_major(block);
        shape.offset = elements;
        cut(block, shape, slices);
        cut(block, shape, owners);
        elements += run.count;
    }
    array::PrefetchedIndices<N>& indices = prefetched_->indices;
    std::byte* copies = this->add_copies(elements * sizeof(T), slices, indices.bytes_of_runs(runs.size()));
    for (const array::IndexRun<N>& run : runs) {
        indices.add_run(run, copies, sizeof(T));
        copies += run.count * sizeof(T);
    }
    indices.order_runs();
    note_owners(owners.take());
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::note_owners(const std::vector<int>& owners) {
    prefetched_->of_node = prefetched_->of_node || std::ranges::any_of(owners, [this](int owner) { return is_of_node(owner); });
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::evict() {
    this->require_open(".evict");
    this->drop_copies();
    patterns_.clear();
    if (prefetched_ == nullptr) return;
    const bool of_node = prefetched_->of_node;
    prefetched_.reset();
    if (of_node) bind_near(true);
}

template <TriviallyCopyable T, std::size_t N>
PrefetchedView<T, N> GlobalArray<T, N>::view() const {
    this->require_open(".view");
    if (prefetched_ != nullptr)
        while (!prefetched_->state.is_fresh()) this->refresh_copies();
    if (foreign_ != nullptr || !map_.one_round()) return {{}, *this};
    return {box_of(own_place(), reinterpret_cast<std::byte*>(own_)), *this};
}

template <TriviallyCopyable T, std::size_t N>
auto GlobalArray<T, N>::box_of(Rank place, std::byte* segment) const -> typename PrefetchedView<T, N>::Box {
    typename PrefetchedView<T, N>::Box box;
    const Domain<N> domain = map_.domain(place, 0);
    const std::array<std::uint64_t, N> strides = map_.strides(place);
    for (std::size_t d = 0; d < N; ++d) {
        if (!domain.empty()) box.first[d] = domain.range(d).first();
        box.span[d] = domain.range(d).size();
        box.distance[d] = strides[d] * sizeof(T);
    }
    box.copies = segment;
    return box;
}

template <TriviallyCopyable T, std::size_t N>
auto GlobalArray<T, N>::box_around(const Index<N>& index) const -> typename PrefetchedView<T, N>::Box {
    using Box = typename PrefetchedView<T, N>::Box;
    // One element, where there are no boxes.
    const auto one = [&](std::byte* element) {
        Box box;
        box.first = index;
        box.span.fill(1);
        box.copies = element;
        return box;
    };
    if (prefetched_ != nullptr) {
        std::uint64_t offset = 0;
        for (const Box& box : prefetched_->indices.dense())
            if (prefetched_->indices.template inside<T>(box, index, offset)) return box;
        if (T* const copy = prefetched_->indices.template find<T>(index)) return one(reinterpret_cast<std::byte*>(copy));
    }
    const Location location = domain().contains(index) ? locate(index) : Location{};
    std::byte* const segment = location.owner.value < 0 ? nullptr : window_.map().base(location.owner.value);
    if (segment == nullptr) this->throw_not_in_view(index);
    if (foreign_ != nullptr || replicated_ || !map_.one_round()) return one(segment + location.offset * sizeof(T));
    return box_of(location.owner, segment);
}

} // namespace lapwing
