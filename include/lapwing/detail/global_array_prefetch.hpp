// Room: arrays
#pragma once

/// The members of GlobalArray that decide what of it is prefetched, and where the copies go. Included by
/// global_array.hpp.
#include <lapwing/global_array.hpp>

#include <lapwing/detail/slice_collector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace lapwing {

template <TriviallyCopyable T, std::size_t N>
template <Pattern<N> P>
void GlobalArray<T, N>::prefetch(const P& pattern, const PrefetchOptions& options) {
    this->require_open(".prefetch");
    detail::prefetching::KeptPattern<N> kept = [pattern](const Domain<N>& own,
                                                         const detail::prefetching::PatternSite<N>& site) {
        return detail::prefetching::domains_of(pattern, own, site);
    };
    // What one rank cannot do no other does.
    std::vector<Domain<N>> needed;
    std::exception_ptr failure;
    try {
        this->copies_.check(this->title_, this->halo_, options);
        needed = needed_by(kept);
    } catch (...) {
        failure = std::current_exception();
    }
    detail::arrays::ArrayCopies::begin_call(this->title_, *team_, options);
    this->agree_to_prefetch(failure, "the array has the patterns that it had");
    try {
        detail::prefetching::CopyState& state = this->copies_.begin(window_, options);
        // Of a replicated array there is nothing that is not here.
        if (!state_.replicated) prefetch_domains(needed, options, state);
        state_.patterns.push_back(std::move(kept));
        if (!options.consistent) this->copies_.fill_new();
    } catch (...) {
        failure = std::current_exception();
    }
    try {
        this->agree_to_prefetch(failure, "the array has no patterns any more");
    } catch (...) {
        evict();
        throw;
    }
    barrier();
}

template <TriviallyCopyable T, std::size_t N>
std::vector<Domain<N>> GlobalArray<T, N>::needed_by(const detail::prefetching::KeptPattern<N>& pattern) const {
    const detail::prefetching::PatternSite<N> site{domain(), Rank{state_.own_rank}, team_->size()};
    std::vector<Domain<N>> needed;
    const auto ask = [&](const Domain<N>& own) {
        for (const Domain<N>& domain : pattern(own, site))
            // Domains that several name cost no more than looking at them; most that are the same come one after the
            // other.
            if (needed.empty() || needed.back() != domain) needed.push_back(domain);
    };
    // One that owns nothing may read all the same.
    if (domain_count(Rank{state_.own_rank}) == 0) ask(Domain<N>{});
    for (const Domain<N> own : local_domains()) ask(own);
    return needed;
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::prefetch_domains(const std::vector<Domain<N>>& needed, const PrefetchOptions& options,
                                         detail::prefetching::CopyState& state) {
    if (state_.prefetched == nullptr) {
        state_.prefetched = std::make_unique<detail::arrays::PrefetchedElements<N>>(state);
        choose_ways();
        state_.mixed.set(false);
    }
    const std::size_t parts_before = state_.prefetched->indices.parts();
    // A read of an automatic copy is no better than one of the element itself, where that is a load.
    // A halo is one block of memory, with those of the node.
    const bool node = !options.consistent || options.storage == PrefetchStorage::halo;
    const std::vector<Domain<N>> rest = options.storage == PrefetchStorage::halo ? copy_into_halo(needed) : needed;
    if (const auto domains = domains_to_copy(rest, node)) copy_domains(*domains, options.storage);
    else copy_rows(rows_to_copy(rest, node));
    note_reach(options);
    if (state_.prefetched->indices.parts() != parts_before) state_.prefetched->tables.renew();
}

template <TriviallyCopyable T, std::size_t N>
std::optional<detail::prefetching::NeededDomains<N>>
GlobalArray<T, N>::domains_to_copy(const std::vector<Domain<N>>& needed, bool node) const {
    if (state_.user_map != nullptr || state_.prefetched->indices.has_runs()) return {};
    detail::prefetching::NeededDomains<N> domains;
    for (const Domain<N>& one : needed)
        if (!domains.add(one.intersect(domain()))) return {};
    const auto remove_all = [&](Rank rank) {
        if (domain_count(rank) > detail::prefetching::NeededDomains<N>::most_domains) return false;
        for (const Domain<N> owned : local_domains(rank))
            if (!domains.remove(owned)) return false;
        return true;
    };
    if (!remove_all(Rank{state_.own_rank})) return {};
    for (const Domain<N>& here : state_.prefetched->indices.domains())
        if (!domains.remove(here)) return {};
    if (node) return domains;

    detail::arrays::OwnerCollector owners;
    for (const Domain<N>& one : domains.domains())
        cut(one, detail::distribution::BufferShape<N>::row_major(one), owners);
    for (const int owner : owners.take())
        if (is_of_node(owner) && !remove_all(Rank{owner})) return {};
    return domains;
}

namespace detail::arrays {

/// Shapes of blocks that lie one after another, each row-major.
template <std::size_t N>
class OneAfterTheOther {
public:
    [[nodiscard]] distribution::BufferShape<N> operator()(const Domain<N>& block) noexcept {
        distribution::BufferShape<N> shape = distribution::BufferShape<N>::row_major(block);
        shape.offset = std::exchange(elements_, elements_ + block.size());
        return shape;
    }

private:
    std::uint64_t elements_ = 0; ///< of those before
};

} // namespace detail::arrays

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::copy_domains(const detail::prefetching::NeededDomains<N>& domains, PrefetchStorage storage) {
    std::vector<Domain<N>> blocks{domains.domains().begin(), domains.domains().end()};
    if (storage == PrefetchStorage::by_owner) {
        detail::arrays::OwnerCollector owners;
        for (const Domain<N>& block : blocks)
            cut(block, detail::distribution::BufferShape<N>::row_major(block), owners);
        std::vector<Domain<N>> parts;
        for (const int owner : owners.take())
            for (const Domain<N> owned : local_domains(Rank{owner}))
                for (const Domain<N>& block : blocks)
                    if (const Domain<N> part = block.intersect(owned); !part.empty()) parts.push_back(part);
        blocks = std::move(parts);
    }
    detail::arrays::PrefetchedIndices<N>& indices = state_.prefetched->indices;
    std::byte* copies = add_copies_of(blocks, indices.bytes_of(blocks.size()), detail::arrays::OneAfterTheOther<N>{});
    for (const Domain<N>& block : blocks) {
        indices.add(block, detail::distribution::BufferShape<N>::row_major(block).strides, copies, sizeof(T));
        copies += block.size() * sizeof(T);
    }
    indices.order();
}

template <TriviallyCopyable T, std::size_t N>
std::vector<Domain<N>> GlobalArray<T, N>::copy_into_halo(const std::vector<Domain<N>>& needed) {
    const Domain<N> around = domain_with_halo();
    if (around.empty()) return needed;
    detail::prefetching::NeededDomains<N> inside;
    std::vector<Domain<N>> rest;
    bool few = true;
    for (const Domain<N>& one : needed) {
        few = few && inside.add(one.intersect(around));
        detail::prefetching::NeededDomains<N> outside;
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
    (void)inside.remove(state_.map.domain(own_place(), 0));
    for (const Domain<N>& here : state_.prefetched->indices.domains()) (void)inside.remove(here);
    const std::span<const Domain<N>> blocks = inside.domains();
    detail::arrays::PrefetchedIndices<N>& indices = state_.prefetched->indices;
    auto* const memory = reinterpret_cast<std::byte*>(segment());
    if (add_copies_of(
            blocks, indices.bytes_of(blocks.size()), [this](const Domain<N>& block) { return shape_in_segment(block); },
            memory) == nullptr)
        return rest;
    for (const Domain<N>& block : blocks) {
        const detail::distribution::BufferShape<N> shape = shape_in_segment(block);
        indices.add(block, shape.strides, memory + shape.offset * sizeof(T), sizeof(T));
    }
    indices.order();
    return rest;
}

template <TriviallyCopyable T, std::size_t N>
Domain<N> GlobalArray<T, N>::domain_with_halo() const {
    if (this->halo_ == 0 || state_.map.domain_count(own_place()) == 0) return {};
    const Domain<N> own = state_.map.domain(own_place(), 0);
    std::array<Range, N> ranges;
    for (std::size_t d = 0; d < N; ++d)
        ranges[d] = own.range(d).expand(static_cast<std::int64_t>(state_.map.dimensions()[d].margin));
    return Domain<N>{ranges}.intersect(domain());
}

template <TriviallyCopyable T, std::size_t N>
detail::distribution::BufferShape<N> GlobalArray<T, N>::shape_in_segment(const Domain<N>& block) const {
    const Index<N> first = state_.map.domain(own_place(), 0).first();
    detail::distribution::BufferShape<N> shape{.offset = state_.map.origin(),
                                               .strides = state_.map.strides(own_place())};
    for (std::size_t d = 0; d < N; ++d) {
        shape.offset += static_cast<std::uint64_t>(block.first()[d] - first[d]) * shape.strides[d];
        shape.strides[d] *= static_cast<std::uint64_t>(block.range(d).stride());
    }
    return shape;
}

template <TriviallyCopyable T, std::size_t N>
detail::arrays::PlacedBox<N> GlobalArray<T, N>::placed_in_segment(const Domain<N>& block) const {
    const detail::distribution::BufferShape<N> shape = shape_in_segment(block);
    return {{block, shape.strides}, reinterpret_cast<std::byte*>(segment() + shape.offset)};
}

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::note_reach(const PrefetchOptions& options) {
    const std::vector<Domain<N>>& here = state_.prefetched->indices.domains();
    state_.prefetched->around.clear();
    if (const Domain<N> around = domain_with_halo(); options.storage == PrefetchStorage::halo && !around.empty()) {
        const Domain<N> own = state_.map.domain(own_place(), 0);
        const auto note = [&](const Domain<N>& box) {
            detail::prefetching::NeededDomains<N> missing;
            bool known = missing.add(box) && missing.remove(own);
            for (const Domain<N>& copied : here) known = known && missing.remove(copied);
            if (!known || !missing.domains().empty()) return false;
            state_.prefetched->around.push_back(placed_in_segment(box));
            return true;
        };
        // All of it, or as much as a smaller depth needs; or, without the corners, what lies beside the local block in
        // one dimension.
        for (std::int64_t depth = this->halo_; depth > 0 && state_.prefetched->around.empty(); --depth) {
            const Domain<N> nearer = own.expand(depth).intersect(around);
            if (note(nearer)) break;
            for (std::size_t d = 0; d < N; ++d) {
                std::array<Range, N> ranges = own.ranges();
                ranges[d] = nearer.range(d);
                if (ranges[d] != own.range(d)) note(Domain<N>{ranges});
            }
        }
    }
    if (!state_.prefetched->around.empty()) state_.prefetched->first = state_.prefetched->around.front();
    else state_.prefetched->first = state_.prefetched->indices.first();
}

template <TriviallyCopyable T, std::size_t N>
template <std::ranges::range Blocks, class ShapeOf>
std::byte* GlobalArray<T, N>::add_copies_of(const Blocks& blocks, std::uint64_t index_bytes, ShapeOf shape_of,
                                            std::byte* memory, std::uint64_t room) {
    detail::arrays::SliceCollector slices{sizeof(T)};
    std::uint64_t elements = 0;
    for (const auto& one : blocks) {
        const Domain<N>& block = detail::arrays::domain_of(one);
        cut(block, shape_of(block), slices);
        elements += block.size();
    }
    if (elements == 0) return nullptr;
    state_.prefetched->of_node |=
        std::ranges::any_of(slices.owners().take(), [this](int owner) { return is_of_node(owner); });
    return this->copies_.add(std::max(elements, room) * sizeof(T), slices, index_bytes, memory);
}

template <TriviallyCopyable T, std::size_t N>
std::vector<detail::arrays::IndexRun<N>> GlobalArray<T, N>::rows_to_copy(const std::vector<Domain<N>>& needed,
                                                                         bool node) const {
    using Run = detail::arrays::IndexRun<N>;
    // First the rows, whoever has them: there are far fewer than indices, and several domains may have elements in
    // common.
    std::vector<Run> rows;
    const auto join = [](std::vector<Run>& runs, const Run& run) {
        if (runs.empty() || !runs.back().join(run)) runs.push_back(run);
    };
    for (const Domain<N>& asked : needed) {
        const Domain<N> inside = asked.intersect(domain());
        if (inside.empty()) continue;
        const Range& row = inside.range(N - 1);
        std::array<Range, N> starts = inside.ranges();
        starts[N - 1] = Range::strided(row.first(), 1, 1);
        for (Index<N> index : Domain<N>{starts}) {
            if (row.stride() == 1) {
                join(rows, {index, row.size()});
                continue;
            }
            for (std::uint64_t k = 0; k < row.size(); ++k) {
                index[N - 1] = row[k];
                join(rows, {index, 1});
            }
        }
    }
    std::ranges::sort(rows, {}, &Run::first);
    std::vector<Run> disjoint;
    for (const Run& row : rows) join(disjoint, row);

    // Of these what others have, and is not here yet, stretch by stretch of what lies together.
    std::vector<Run> runs;
    for (const Run& row : disjoint) {
        Index<N> index = row.first;
        for (std::uint64_t left = row.count; left > 0;) {
            const Location location = locate(index);
            const int owner = location.owner.value;
            std::uint64_t count = std::clamp<std::uint64_t>(location.contiguous, 1, left);
            if (owner >= 0 && owner != state_.own_rank && (node || !is_of_node(owner))) {
                const auto [here, alike] = state_.prefetched->indices.template stretch<T>(index, count);
                count = alike;
                if (!here) join(runs, {index, count});
            }
            index[N - 1] += static_cast<std::int64_t>(count);
            left -= count;
        }
    }
    return runs;
}

namespace detail::arrays {

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

} // namespace detail::arrays

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::copy_rows(const std::vector<detail::arrays::IndexRun<N>>& runs) {
    if (runs.empty()) return;
    detail::arrays::PrefetchedIndices<N>& indices = state_.prefetched->indices;
    const detail::arrays::RunPlaces<N> places{state_.extents, runs, sizeof(T)};
    const auto shape_of = [&, k = std::size_t{0}](const Domain<N>& block) mutable {
        detail::distribution::BufferShape<N> shape = detail::distribution::BufferShape<N>::row_major(block);
        shape.offset = places.offset(k++);
        return shape;
    };
    std::byte* const copies = add_copies_of(runs, indices.bytes_of_runs(runs.size()) + places.table_bytes(), shape_of,
                                            nullptr, places.room());
    // One table: that of the first runs, which are most of them.
    const bool tabulates = places.has_table() && !indices.has_runs();
    detail::arrays::ElementTable<N> table =
        tabulates ? places.table(state_.extents) : detail::arrays::ElementTable<N>{};
    for (std::size_t k = 0; k < runs.size(); ++k) {
        std::byte* const copy = copies + places.offset(k) * sizeof(T);
        indices.add_run(runs[k], copy, sizeof(T));
        if (tabulates)
            table.add(detail::arrays::ElementTable<N>::place(state_.extents, runs[k].first), runs[k].count, copy,
                      sizeof(T));
    }
    if (tabulates) indices.add_table(std::move(table));
    indices.order();
}

namespace detail::arrays {

/// The table that a view of an array of one dimension reads own elements and copies by, if that is of use.
template <class T, std::size_t N>
class ViewTable {
public:
    explicit ViewTable(const GlobalArray<T, N>& array) noexcept : array_{array} {}

    /// Made by the first view after a prefetch. Any threads may call it together.
    [[nodiscard]] typename ElementTable<N>::Reader reader() {
        using Reader = typename ElementTable<N>::Reader;
        if (N != 1 || array_.state_.prefetched == nullptr) return {};
        ViewTables<N>& tables = array_.state_.prefetched->tables;
        if (const ElementTable<N>* const made = tables.latest()) return Reader{*made};
        const auto [latest, is_new] = tables.set(table());
        if (is_new) array_.state_.prefetched->state.count_index(latest->bytes());
        return Reader{*latest};
    }

private:
    /// Empty where reads of neighbours are better off with boxes: where the array has more dimensions, or fewer than a
    /// quarter as many copies as own elements, so that a loop can foresee where most elements are. And where the table
    /// would take far more memory than the copies.
    [[nodiscard]] ElementTable<N> table() {
        if constexpr (N != 1) {
            return {};
        } else {
            const auto& state = array_.state_;
            if (state.prefetched->around.empty() && !state.near_box.empty()) add(state.near_box, state.near);
            const std::uint64_t own = elements_;
            state.prefetched->indices.for_each_part(
                [this](const Domain<N>& part, std::byte* copies) { add(part.range(0).first(), part.size(), copies); });
            const std::uint64_t copies = elements_ - own;
            if (own == 0 || copies < own / 4 || !ElementTable<N>::is_worth_its_memory(first_, end_, copies * sizeof(T)))
                return {};
            ElementTable<N> table{state.extents, first_, end_};
            for (const Part& part : parts_) table.add(part.first, part.count, part.address, sizeof(T));
            return table;
        }
    }

    struct Part {
        std::uint64_t first = 0;
        std::uint64_t count = 0;
        std::byte* address = nullptr;
    };

    void add(const DenseBox<N>& box, T* address) {
        add(box.first()[0], box.extent(0), reinterpret_cast<std::byte*>(address));
    }
    void add(std::int64_t first, std::uint64_t count, std::byte* address) {
        const auto place = static_cast<std::uint64_t>(first);
        parts_.push_back({place, count, address});
        first_ = std::min(first_, place);
        end_ = std::max(end_, place + count);
        elements_ += count;
    }

    const GlobalArray<T, N>& array_;
    std::vector<Part> parts_;
    std::uint64_t first_ = ~std::uint64_t{0};
    std::uint64_t end_ = 0;
    std::uint64_t elements_ = 0;
};

} // namespace detail::arrays

template <TriviallyCopyable T, std::size_t N>
void GlobalArray<T, N>::evict() {
    this->require_open(".evict");
    this->copies_.drop();
    state_.patterns.clear();
    state_.prefetched.reset();
    choose_ways();
}

template <TriviallyCopyable T, std::size_t N>
PrefetchedView<T, N> GlobalArray<T, N>::view() const {
    this->require_open(".view");
    if (state_.prefetched != nullptr)
        while (!state_.prefetched->state.is_fresh()) this->copies_.refresh();
    const auto near = detail::arrays::ViewTable<T, N>{*this}.reader();
    if (state_.prefetched != nullptr && !state_.prefetched->around.empty())
        return {state_.prefetched->around.front(), *this, near};
    // All of the node, if that is one box.
    if (!state_.near_box.empty()) return {{state_.near_box, reinterpret_cast<std::byte*>(state_.near)}, *this, near};
    return {{state_.box, reinterpret_cast<std::byte*>(state_.own)}, *this, near};
}

template <TriviallyCopyable T, std::size_t N>
HaloView<T, N> GlobalArray<T, N>::halo_view() const {
    this->require_open(".halo_view");
    this->copies_.require_halo(this->title_);
    while (state_.prefetched != nullptr && !state_.prefetched->state.is_fresh()) this->copies_.refresh();
    const Domain<N> around = domain_with_halo();
    if (around.empty()) return {};
    const detail::distribution::BufferShape<N> shape = shape_in_segment(around);
    return {around, segment() + shape.offset, shape.strides};
}

template <TriviallyCopyable T, std::size_t N>
detail::arrays::PlacedBox<N> GlobalArray<T, N>::box_around(const Index<N>& index) const {
    // One element, where there are no boxes.
    const auto one = [&](T* element) -> detail::arrays::PlacedBox<N> {
        return {{detail::arrays::IndexRun<N>{index, 1}.domain(), {}}, reinterpret_cast<std::byte*>(element)};
    };
    if (state_.prefetched != nullptr) {
        for (const detail::arrays::PlacedBox<N>& around : state_.prefetched->around)
            if (around.box.holds(index)) return around;
        if (const detail::arrays::PlacedBox<N>* const copies = state_.prefetched->indices.box_of(index)) return *copies;
        if (T* const copy = state_.prefetched->indices.template find<T>(index)) return one(copy);
    }
    const Location location = domain().contains(index) ? locate(index) : Location{};
    std::byte* const memory = location.owner.value < 0 ? nullptr : window_.map().base(location.owner.value);
    if (memory == nullptr) detail::arrays::throw_not_in_view(this->title_, index);
    // Among elements of the node that have copies a box would hide those.
    const bool copied = state_.prefetched != nullptr && state_.prefetched->of_node;
    if (state_.user_map != nullptr && state_.box.holds(index))
        return {state_.box, reinterpret_cast<std::byte*>(state_.own)};
    if (copied || state_.user_map != nullptr || state_.replicated || !state_.map.one_round())
        return one(reinterpret_cast<T*>(memory) + location.offset);
    return {{state_.map.domain(location.owner, 0), state_.map.strides(location.owner)},
            memory + state_.map.origin() * sizeof(T)};
}

} // namespace lapwing
