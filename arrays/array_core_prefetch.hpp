#pragma once

/// The members of ArrayCore that decide what of it is prefetched, and where the copies go.
#include <lapwing/detail/array_core.hpp>
#include <lapwing/detail/needed_domains.hpp>
#include <lapwing/detail/slice_collector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace lapwing::detail::arrays {

[[nodiscard]] inline bool is_of_node(const Window& window, int owner) noexcept {
    return window.map().base(owner) != nullptr;
}

/// Adds a run that begins no earlier than the last one, which takes it in if they meet.
template <std::size_t N>
void join(std::vector<IndexRun<N>>& runs, const IndexRun<N>& run) {
    if (runs.empty() || !runs.back().join(run)) runs.push_back(run);
}

/// The indices of these domains that the array has, as runs of rows, each index once, in order.
template <std::size_t N>
[[nodiscard]] std::vector<IndexRun<N>> disjoint_rows(const Domain<N>& whole, const std::vector<Domain<N>>& domains) {
    using Run = IndexRun<N>;
    std::vector<Run> rows;
    for (const Domain<N>& asked : domains) {
        const Domain<N> inside = asked.intersect(whole);
        if (inside.empty()) continue;
        const Range row = inside.range(N - 1);
        const std::uint64_t together = row.stride() == 1 ? row.size() : 1;
        std::array<Range, N> starts = inside.ranges();
        starts[N - 1] = Range::strided(row.first(), 1, 1);
        for (Index<N> index : Domain<N>{starts})
            for (std::uint64_t k = 0; k < row.size(); k += together) {
                index[N - 1] = row[k];
                join(rows, Run{index, together});
            }
    }
    std::ranges::sort(rows, {}, &Run::first);
    std::vector<Run> disjoint;
    for (const Run& row : rows) join(disjoint, row);
    return disjoint;
}

template <std::size_t N>
void ArrayCore<N>::prefetch_by(KeptPattern pattern, const PrefetchOptions& options) {
    this->require_open(".prefetch");
    // What one rank cannot do no other does.
    std::vector<Domain<N>> needed;
    std::exception_ptr failure;
    try {
        this->copies_.check(this->title_, this->halo_, options);
        needed = needed_by(pattern);
    } catch (...) {
        failure = std::current_exception();
    }
    ArrayCopies::begin_call(this->title_, *this->team_, options);
    this->agree_to_prefetch(failure, "the array has the patterns that it had");
    try {
        prefetching::CopyState& state = this->copies_.begin(this->window_, options);
        // Of a replicated array there is nothing that is not here.
        if (!core_.replicated) prefetch_domains(needed, options, state);
        core_.patterns.push_back(std::move(pattern));
        if (!options.consistent) this->copies_.fill_new();
    } catch (...) {
        failure = std::current_exception();
    }
    try {
        this->agree_to_prefetch(failure, "the array has no patterns any more");
    } catch (...) {
        drop_copies();
        throw;
    }
    this->barrier();
}

template <std::size_t N>
void ArrayCore<N>::drop_copies() {
    this->require_open(".evict");
    this->copies_.drop();
    core_.patterns.clear();
    core_.prefetched.reset();
    core_.spare_mapping->drop();
}

template <std::size_t N>
void ArrayCore<N>::take_patterns(const ArrayCore& old) {
    if (old.copies_.empty()) return;
    const PrefetchOptions options = old.copies_.options();
    prefetching::CopyState& state = this->copies_.begin(this->window_, options);
    core_.patterns = old.core_.patterns;
    if (!core_.replicated)
        for (const KeptPattern& pattern : core_.patterns) prefetch_domains(needed_by(pattern), options, state);
    if (!options.consistent) this->update();
}

template <std::size_t N>
std::vector<Domain<N>> ArrayCore<N>::needed_by(const KeptPattern& pattern) const {
    const Rank own{core_.own_rank};
    const prefetching::PatternSite<N> site{whole(), own, this->team_->size()};
    std::vector<Domain<N>> needed;
    const auto ask = [&](const Domain<N>& mine) {
        for (const Domain<N>& domain : pattern(mine, site))
            // Domains that several name cost no more than looking at them; most that are the same come one after the
            // other.
            if (needed.empty() || needed.back() != domain) needed.push_back(domain);
    };
    // One that owns nothing may read all the same.
    const std::uint64_t count = domain_count(own);
    if (count == 0) ask(Domain<N>{});
    for (std::uint64_t k = 0; k < count; ++k) ask(domain_of(own, k));
    return needed;
}

template <std::size_t N>
void ArrayCore<N>::prefetch_domains(const std::vector<Domain<N>>& needed, const PrefetchOptions& options,
                                    prefetching::CopyState& state) {
    if (core_.prefetched == nullptr) core_.prefetched = std::make_unique<PrefetchedElements<N>>(state);
    // A read of an automatic copy is no better than one of the element itself, where that is a load.
    // A halo is one block of memory, with those of the node.
    const bool in_halo = options.storage == PrefetchStorage::halo;
    const bool node = !options.consistent || in_halo;
    const std::vector<Domain<N>> rest = in_halo ? copy_into_halo(needed) : needed;
    if (const auto domains = domains_to_copy(rest, node)) copy_domains(*domains, options.storage);
    else copy_rows(rows_to_copy(rest, node));
    note_reach(options);
}

template <std::size_t N>
std::optional<std::vector<Domain<N>>> ArrayCore<N>::domains_to_copy(const std::vector<Domain<N>>& needed,
                                                                    bool node) const {
    if (core_.user_map != nullptr || core_.prefetched->indices.has_runs()) return {};
    prefetching::NeededDomains<N> domains;
    for (const Domain<N>& one : needed)
        if (!domains.add(one.intersect(whole()))) return {};
    const auto remove_all = [&](Rank rank) {
        const std::uint64_t count = domain_count(rank);
        if (count > prefetching::NeededDomains<N>::most_domains) return false;
        for (std::uint64_t k = 0; k < count; ++k)
            if (!domains.remove(domain_of(rank, k))) return false;
        return true;
    };
    if (!remove_all(Rank{core_.own_rank})) return {};
    for (const Domain<N>& here : core_.prefetched->indices.domains())
        if (!domains.remove(here)) return {};
    if (!node) {
        OwnerCollector owners;
        for (const Domain<N>& one : domains.domains()) cut(one, distribution::BufferShape<N>::row_major(one), owners);
        for (const int owner : owners.take())
            if (is_of_node(this->window_, owner) && !remove_all(Rank{owner})) return {};
    }
    return std::vector<Domain<N>>{domains.domains().begin(), domains.domains().end()};
}

template <std::size_t N>
void ArrayCore<N>::copy_domains(std::vector<Domain<N>> domains, PrefetchStorage storage) {
    if (storage == PrefetchStorage::by_owner) {
        OwnerCollector owners;
        for (const Domain<N>& one : domains) cut(one, distribution::BufferShape<N>::row_major(one), owners);
        std::vector<Domain<N>> parts;
        for (const int owner : owners.take())
            for (std::uint64_t k = 0; k < domain_count(Rank{owner}); ++k)
                for (const Domain<N>& one : domains)
                    if (const Domain<N> part = one.intersect(domain_of(Rank{owner}, k)); !part.empty())
                        parts.push_back(part);
        domains = std::move(parts);
    }
    PrefetchedIndices<N>& indices = core_.prefetched->indices;
    // One after the other, each row-major.
    const auto shape_of = [elements = std::uint64_t{0}](const Domain<N>& block) mutable {
        distribution::BufferShape<N> shape = distribution::BufferShape<N>::row_major(block);
        shape.offset = std::exchange(elements, elements + block.size());
        return shape;
    };
    std::byte* copies = add_copies_of(domains, indices.bytes_of(domains.size()), shape_of);
    for (const Domain<N>& one : domains) {
        indices.add(one, distribution::BufferShape<N>::row_major(one).strides, copies, core_.element_bytes);
        copies += one.size() * core_.element_bytes;
    }
    indices.order();
}

/// Where a block is in memory of this shape, which begins with index `first`.
template <std::size_t N>
[[nodiscard]] distribution::BufferShape<N> shape_within(distribution::BufferShape<N> memory, const Index<N>& first,
                                                        const Domain<N>& block) {
    for (std::size_t d = 0; d < N; ++d) {
        memory.offset += static_cast<std::uint64_t>(block.range(d).first() - first[d]) * memory.strides[d];
        memory.strides[d] *= static_cast<std::uint64_t>(block.range(d).stride());
    }
    return memory;
}

/// Where a block is in the part of `place`, which has it or margins for it.
template <std::size_t N>
[[nodiscard]] distribution::BufferShape<N> shape_in_part(const BlockCyclicMap<N>& map, Rank place,
                                                         const Domain<N>& block) {
    return shape_within({.offset = map.origin(), .strides = map.strides(place)}, map.domain(place, 0).first(), block);
}

template <std::size_t N>
PlacedBox<N> ArrayCore<N>::placed_in_segment(const Domain<N>& block) const {
    const distribution::BufferShape<N> shape = shape_in_part(core_.map, own_place(), block);
    return {{block, shape.strides}, own_memory() + shape.offset * core_.element_bytes};
}

template <std::size_t N>
std::vector<Domain<N>> ArrayCore<N>::copy_into_halo(const std::vector<Domain<N>>& needed) {
    const Domain<N> around = domain_with_halo();
    if (around.empty()) return needed;
    prefetching::NeededDomains<N> inside;
    std::vector<Domain<N>> rest;
    bool few = true;
    for (const Domain<N>& one : needed) {
        few = few && inside.add(one.intersect(around));
        prefetching::NeededDomains<N> outside;
        if (outside.add(one) && outside.remove(around))
            rest.insert(rest.end(), outside.domains().begin(), outside.domains().end());
        else rest.push_back(one);
    }
    // Too ragged: there is room for all of it.
    if (!few) {
        inside = {};
        (void)inside.add(around);
    }
    // More of them than reads should look through do no harm: most are read as parts of one box.
    (void)inside.remove(core_.map.domain(own_place(), 0));
    PrefetchedIndices<N>& indices = core_.prefetched->indices;
    for (const Domain<N>& here : indices.domains()) (void)inside.remove(here);
    const std::span<const Domain<N>> blocks = inside.domains();
    const auto shape_of = [this](const Domain<N>& block) { return shape_in_part(core_.map, own_place(), block); };
    if (add_copies_of(blocks, indices.bytes_of(blocks.size()), shape_of, own_memory()) == nullptr) return rest;
    for (const Domain<N>& block : blocks) {
        const distribution::BufferShape<N> shape = shape_of(block);
        indices.add(block, shape.strides, own_memory() + shape.offset * core_.element_bytes, core_.element_bytes);
    }
    indices.order();
    return rest;
}

template <std::size_t N>
Domain<N> ArrayCore<N>::domain_with_halo() const {
    if (this->halo_ == 0 || core_.map.domain_count(own_place()) == 0) return {};
    const Domain<N> own = core_.map.domain(own_place(), 0);
    std::array<Range, N> ranges;
    for (std::size_t d = 0; d < N; ++d)
        ranges[d] = own.range(d).expand(static_cast<std::int64_t>(core_.map.dimensions()[d].margin));
    return Domain<N>{ranges}.intersect(whole());
}

template <std::size_t N>
void ArrayCore<N>::note_reach(const PrefetchOptions& options) {
    std::vector<PlacedBox<N>>& reached = core_.prefetched->around;
    reached.clear();
    if (const Domain<N> around = domain_with_halo(); options.storage == PrefetchStorage::halo && !around.empty()) {
        const Domain<N> own = core_.map.domain(own_place(), 0);
        const auto note = [&](const Domain<N>& box) {
            prefetching::NeededDomains<N> missing;
            bool known = missing.add(box) && missing.remove(own);
            for (const Domain<N>& copied : core_.prefetched->indices.domains()) known = known && missing.remove(copied);
            if (!known || !missing.domains().empty()) return false;
            reached.push_back(placed_in_segment(box));
            return true;
        };
        // All of it, or as much as a smaller depth needs; or, without the corners, what lies beside the local block in
        // one dimension.
        for (std::int64_t depth = this->halo_; depth > 0 && reached.empty(); --depth) {
            const Domain<N> nearer = own.expand(depth).intersect(around);
            if (note(nearer)) break;
            for (std::size_t d = 0; d < N; ++d) {
                std::array<Range, N> ranges = own.ranges();
                ranges[d] = nearer.range(d);
                if (ranges[d] != own.range(d)) note(Domain<N>{ranges});
            }
        }
    }
    core_.prefetched->first = reached.empty() ? core_.prefetched->indices.first() : reached.front();
}

template <std::size_t N>
template <class Blocks, class ShapeOf>
std::byte* ArrayCore<N>::add_copies_of(const Blocks& blocks, std::uint64_t index_bytes, ShapeOf shape_of,
                                       std::byte* memory, std::uint64_t room) {
    SliceCollector slices{core_.element_bytes};
    std::uint64_t elements = 0;
    for (const auto& one : blocks) {
        const Domain<N>& block = arrays::domain_of(one);
        cut(block, shape_of(block), slices);
        elements += block.size();
    }
    if (elements == 0) return nullptr;
    core_.prefetched->of_node |=
        std::ranges::any_of(slices.owners().take(), [this](int owner) { return is_of_node(this->window_, owner); });
    return this->copies_.add(std::max(elements, room) * core_.element_bytes, slices, index_bytes, memory);
}

template <std::size_t N>
std::vector<IndexRun<N>> ArrayCore<N>::rows_to_copy(const std::vector<Domain<N>>& needed, bool node) const {
    using Run = IndexRun<N>;
    // First the rows, whoever has them: there are far fewer than indices, and several domains may have elements in
    // common.
    const std::vector<Run> disjoint = disjoint_rows(whole(), needed);

    // Of these what others have, and is not here yet, stretch by stretch of what lies together.
    std::vector<Run> runs;
    for (const Run& row : disjoint) {
        Index<N> index = row.first;
        for (std::uint64_t left = row.count; left > 0;) {
            const Location location = locate(index);
            const int owner = location.owner.value;
            std::uint64_t count = std::clamp<std::uint64_t>(location.contiguous, 1, left);
            if (owner >= 0 && owner != core_.own_rank && (node || !is_of_node(this->window_, owner))) {
                const auto [here, alike] = core_.prefetched->indices.stretch(index, count);
                count = alike;
                if (!here) join(runs, Run{index, count});
            }
            index[N - 1] += static_cast<std::int64_t>(count);
            left -= count;
        }
    }
    return runs;
}

/// Where the copies of runs are put, in elements from the start of their memory: one after another, or, if there is to
/// be a table, so that those of a group of 64 places lie as the places do.
template <std::size_t N>
class RunPlaces {
public:
    RunPlaces(const Extents<N>& extents, const std::vector<IndexRun<N>>& runs, std::size_t element_bytes) {
        constexpr std::uint64_t group = ElementTable<N>::group_size;
        std::uint64_t next_group = 0; // the first that has no memory yet
        std::uint64_t packed = 0;
        for (const IndexRun<N>& run : runs) {
            const std::uint64_t place = ElementTable<N>::place(extents, run.first);
            const std::uint64_t first = std::max(place / group, next_group);
            const std::uint64_t end = (place + run.count - 1) / group + 1;
            // Of a run that begins in the last group of the one before: the memory goes on after that group's.
            const std::uint64_t before = place / group < next_group ? 1 : 0;
            offsets_.push_back((groups_ - before) * group + place % group);
            groups_ += end - std::min(first, end);
            next_group = std::max(next_group, end);
            packed += run.count;
        }
        if (runs.empty()) return;
        first_ = ElementTable<N>::place(extents, runs.front().first);
        end_ = ElementTable<N>::place(extents, runs.back().first) + runs.back().count;
        // Not where most of the memory would be gaps, or the table.
        has_table_ = groups_ * group <= ElementTable<N>::most_of_copies * packed + group &&
                     ElementTable<N>::is_worth_its_memory(first_, end_, packed * element_bytes);
        if (has_table_) return;
        std::uint64_t offset = 0;
        for (std::size_t k = 0; k < runs.size(); ++k) offsets_[k] = std::exchange(offset, offset + runs[k].count);
    }

    [[nodiscard]] bool has_table() const noexcept { return has_table_; }
    [[nodiscard]] std::uint64_t table_bytes() const noexcept {
        return has_table_ ? ElementTable<N>::bytes_of(first_, end_) : 0;
    }
    [[nodiscard]] ElementTable<N> table(const Extents<N>& extents) const { return {extents, first_, end_}; }
    [[nodiscard]] std::uint64_t offset(std::size_t run) const noexcept { return offsets_[run]; }
    /// Of all copies, in elements, if it is more than there are.
    [[nodiscard]] std::uint64_t room() const noexcept { return has_table_ ? groups_ * ElementTable<N>::group_size : 0; }

private:
    std::vector<std::uint64_t> offsets_; ///< by run
    std::uint64_t groups_ = 0;           ///< that have some element of a run
    std::uint64_t first_ = 0;            ///< places in the array
    std::uint64_t end_ = 0;
    bool has_table_ = false;
};

template <std::size_t N>
void ArrayCore<N>::copy_rows(const std::vector<IndexRun<N>>& runs) {
    if (runs.empty()) return;
    PrefetchedIndices<N>& indices = core_.prefetched->indices;
    const RunPlaces<N> places{core_.extents, runs, core_.element_bytes};
    const auto shape_of = [&, k = std::size_t{0}](const Domain<N>& block) mutable {
        distribution::BufferShape<N> shape = distribution::BufferShape<N>::row_major(block);
        shape.offset = places.offset(k++);
        return shape;
    };
    std::byte* const copies = add_copies_of(runs, indices.bytes_of_runs(runs.size()) + places.table_bytes(), shape_of,
                                            nullptr, places.room());
    // One table: that of the first runs, which are most of them.
    const bool tabulates = places.has_table() && !indices.has_runs();
    ElementTable<N> table = tabulates ? places.table(core_.extents) : ElementTable<N>{};
    for (std::size_t k = 0; k < runs.size(); ++k) {
        std::byte* const copy = copies + places.offset(k) * core_.element_bytes;
        indices.add_run(runs[k], copy, core_.element_bytes);
        if (tabulates)
            table.add(ElementTable<N>::place(core_.extents, runs[k].first), runs[k].count, copy, core_.element_bytes);
    }
    if (tabulates) indices.add_table(std::move(table));
    indices.order();
}

template <std::size_t N>
PlacedBox<N> ArrayCore<N>::box_with_halo() const {
    this->require_open(".halo_view");
    this->copies_.require_halo(this->title_);
    refresh_copies();
    const Domain<N> around = domain_with_halo();
    return around.empty() ? PlacedBox<N>{} : placed_in_segment(around);
}

template <std::size_t N>
PlacedBox<N> ArrayCore<N>::box_around(const Index<N>& index) const {
    // One element, where there are no boxes.
    const auto one = [&](std::byte* element) -> PlacedBox<N> {
        return {{IndexRun<N>{index, 1}.domain(), {}}, element};
    };
    if (core_.prefetched != nullptr) {
        for (const PlacedBox<N>& around : core_.prefetched->around)
            if (around.box.holds(index)) return around;
        if (const PlacedBox<N>* const copies = core_.prefetched->indices.box_of(index)) return *copies;
        if (std::byte* const copy = copy_of(index)) return one(copy);
    }
    const Location location = whole().contains(index) ? locate(index) : Location{};
    std::byte* const memory = location.owner.value < 0 ? nullptr : this->window_.map().base(location.owner.value);
    if (memory == nullptr) throw_not_here(this->title_, shown(index));
    if (core_.user_map != nullptr)
        if (const PlacedBox<N> own = own_box(); own.box.holds(index)) return own;
    // Among elements of the node that have copies a box would hide those.
    const bool copied =
        core_.prefetched != nullptr && core_.prefetched->of_node && location.owner.value != core_.own_rank;
    if (copied || core_.user_map != nullptr || core_.replicated || !core_.map.one_round())
        return one(memory + location.offset * core_.element_bytes);
    return {{core_.map.domain(location.owner, 0), core_.map.strides(location.owner)},
            memory + core_.map.origin() * core_.element_bytes};
}

} // namespace lapwing::detail::arrays
